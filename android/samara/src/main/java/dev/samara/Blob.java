// SPDX-License-Identifier: Apache-2.0
// Reads byte arrays packed by libsamara_jni.
package dev.samara;

import androidx.annotation.NonNull;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Numbers and texts in the order in which C wrote them. */
final class Blob {
  private final ByteBuffer bytes;

  Blob(@NonNull byte[] packed) {
    bytes = ByteBuffer.wrap(packed).order(ByteOrder.nativeOrder());
  }

  int number() {
    return bytes.getInt();
  }

  long wide() {
    return bytes.getLong();
  }

  float real() {
    return bytes.getFloat();
  }

  double wideReal() {
    return bytes.getDouble();
  }

  @NonNull
  byte[] block() {
    byte[] block = new byte[bytes.getInt()];
    bytes.get(block);
    return block;
  }

  @NonNull
  String text() {
    return Words.of(block());
  }

  @NonNull
  long[] longs(int count) {
    long[] values = new long[count];
    for (int i = 0; i < count; i++) values[i] = bytes.getLong();
    return values;
  }

  @NonNull
  float[] reals(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) values[i] = bytes.getFloat();
    return values;
  }
}
