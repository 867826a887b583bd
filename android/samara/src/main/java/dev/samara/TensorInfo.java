// SPDX-License-Identifier: Apache-2.0
// Description of an input or output of a model.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** Name, type and shape of an input or output. */
public final class TensorInfo {
  private static final int IMAGE = 1;
  private static final int AUDIO = 2;

  private final String name;
  final byte[] text; // the name for C
  private final DType dtype;
  private final long[] shape;
  private final String[] dims;
  private final float scale;
  private final int zeroPoint;
  private final int record;

  TensorInfo(Blob blob) {
    name = blob.text();
    text = Words.c(name, "the name");
    dtype = DType.of(blob.number());
    shape = blob.longs(blob.number());
    dims = new String[shape.length];
    for (int i = 0; i < dims.length; i++) {
      String dim = blob.text();
      dims[i] = dim.isEmpty() ? null : dim;
    }
    scale = blob.real();
    zeroPoint = blob.number();
    record = blob.number();
  }

  @NonNull
  public String getName() {
    return name;
  }

  @NonNull
  public DType getDtype() {
    return dtype;
  }

  /** The dims; -1 if symbolic. */
  @NonNull
  public long[] getShape() {
    return shape.clone();
  }

  int getRank() {
    return shape.length;
  }

  /** The name of dim {@code axis} if it is symbolic and has one, else null. */
  @Nullable
  public String getDimName(int axis) {
    return axis >= 0 && axis < dims.length ? dims[axis] : null;
  }

  /** Of {@link DType#QINT8}: real = scale * (stored - zero point); else 0. */
  public float getScale() {
    return scale;
  }

  /** Of {@link DType#QINT8}; else 0. */
  public int getZeroPoint() {
    return zeroPoint;
  }

  /** Whether the file has an image record for this input. */
  public boolean takesImage() {
    return record == IMAGE;
  }

  /** Whether the file has an audio record for this input. */
  public boolean takesAudio() {
    return record == AUDIO;
  }

  @NonNull
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(name).append(": ").append(Words.lower(dtype)).append('[');
    for (int i = 0; i < shape.length; i++) {
      if (i > 0) text.append(", ");
      if (shape[i] >= 0) text.append(shape[i]);
      else text.append(dims[i] == null ? "?" : dims[i]);
    }
    return text.append(']').toString();
  }
}
