// SPDX-License-Identifier: Apache-2.0
// Checks of this folder's programs, and the form of the values that they print.
package dev.samara;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.Callable;

/** Checks that end the program with the place that failed. */
final class Check {
  private Check() {}

  interface Call {
    void run() throws Exception;
  }

  static void that(boolean right, String what) {
    if (!right) throw new AssertionError(what);
  }

  static void equal(Object got, Object wanted) {
    if (!wanted.equals(got)) throw new AssertionError("got " + got + ", expected " + wanted);
  }

  /** The call throws exactly this, with a status, and a text that says so. */
  static <T extends SamaraException> T fails(Class<T> type, Status status, String says, Call call) {
    try {
      call.run();
    } catch (Exception failure) {
      if (failure.getClass() != type) throw new AssertionError("not a " + type, failure);
      T found = type.cast(failure);
      if (found.getStatus() != status || !found.toString().contains(says)) {
        throw new AssertionError(found.getStatus() + ": " + found + ", expected " + says, failure);
      }
      return found;
    }
    throw new AssertionError("nothing thrown, expected " + type + ": " + says);
  }

  static <T> T unchecked(Callable<T> call) {
    try {
      return call.call();
    } catch (Exception failure) {
      throw new AssertionError(failure);
    }
  }

  static Model model(String folder, String name) {
    return Model.fromFile(new File(folder, name + ".samara"));
  }

  static float[] numbers(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) values[i] = (i * 7 % 17) / 16f - 0.25f;
    return values;
  }

  /** NAME=the bits of the values, in hexadecimal. */
  static void print(String name, float[] values) {
    StringBuilder text = new StringBuilder(name).append('=');
    for (float value : values) text.append(String.format("%08x", Float.floatToRawIntBits(value)));
    System.out.println(text);
  }

  static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }
}
