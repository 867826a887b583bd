// SPDX-License-Identifier: Apache-2.0
// Values with a type and a shape.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Arrays;

/** Values for or from a run. The array is not copied. */
public final class Tensor {
  private static final DType[] USUAL = {
    DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64
  };

  private final DType dtype;
  private final long[] shape;
  private final Object array;
  private final float scale;
  private final int zeroPoint;

  Tensor(DType dtype, long[] shape, Object array, float scale, int zeroPoint) {
    this.dtype = dtype;
    this.shape = shape;
    this.array = array;
    this.scale = scale;
    this.zeroPoint = zeroPoint;
  }

  /**
   * A tensor of that shape for {@link Session#run(java.util.Map)}: the session resizes its input to
   * it. values: a byte[], short[], int[], long[], float[] or double[] in row-major order.
   */
  @NonNull
  public static Tensor of(@NonNull Object values, @NonNull long... shape) {
    int kind = kind(SamaraException.given(values, "the array"));
    long elements = elements(SamaraException.given(shape, "the shape"));
    if (elements != java.lang.reflect.Array.getLength(values)) {
      throw new ShapeException(
          Status.BAD_SHAPE,
          "an array of " + java.lang.reflect.Array.getLength(values) + " elements for the shape "
              + Arrays.toString(shape),
          "give " + elements + " elements, or another shape");
    }
    return new Tensor(USUAL[kind], shape.clone(), values, 0, 0);
  }

  /** The kind of a Java array. ArgumentException for anything else. */
  static int kind(@NonNull Object array) {
    if (array instanceof float[]) return DType.FLOATS;
    if (array instanceof byte[]) return DType.BYTES;
    if (array instanceof short[]) return DType.SHORTS;
    if (array instanceof int[]) return DType.INTS;
    if (array instanceof long[]) return DType.LONGS;
    if (array instanceof double[]) return DType.DOUBLES;
    throw new ArgumentException(
        Status.BAD_ARGUMENT,
        "a " + array.getClass().getName() + " holds no values",
        "give a byte[], short[], int[], long[], float[] or double[]");
  }

  static long elements(@NonNull long[] shape) {
    long elements = 1;
    for (long dim : shape) {
      if (dim < 0 || (dim > 0 && elements > Long.MAX_VALUE / dim)) {
        throw new ShapeException(
            Status.BAD_SHAPE, "the shape is " + Arrays.toString(shape), "give dims from 0 up");
      }
      elements *= dim;
    }
    return elements;
  }

  @NonNull
  public DType getDtype() {
    return dtype;
  }

  @NonNull
  public long[] getShape() {
    return shape.clone();
  }

  /** Of {@link DType#QINT8}: real = scale * (stored - zero point); else 0. */
  public float getScale() {
    return scale;
  }

  /** Of {@link DType#QINT8}; else 0. */
  public int getZeroPoint() {
    return zeroPoint;
  }

  /** The array itself: a float[] for float32, a byte[] for int8, see {@link DType}. */
  @NonNull
  public Object getArray() {
    return array;
  }

  /** The array of a tensor of float32. */
  @NonNull
  public float[] floats() {
    return as(float[].class);
  }

  /** The array of a tensor of one byte (or two values in a byte) per element. */
  @NonNull
  public byte[] bytes() {
    return as(byte[].class);
  }

  /** The array of a tensor of 16 bits per element. */
  @NonNull
  public short[] shorts() {
    return as(short[].class);
  }

  /** The array of a tensor of int32 or uint32. */
  @NonNull
  public int[] ints() {
    return as(int[].class);
  }

  /** The array of a tensor of int64 or uint64. */
  @NonNull
  public long[] longs() {
    return as(long[].class);
  }

  /** The array of a tensor of float64. */
  @NonNull
  public double[] doubles() {
    return as(double[].class);
  }

  private <T> T as(Class<T> type) {
    if (type.isInstance(array)) return type.cast(array);
    throw new ShapeException(
        Status.BAD_SHAPE,
        "a tensor of " + Words.lower(dtype) + " is no " + type.getSimpleName(),
        "its array is a " + array.getClass().getSimpleName());
  }

  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof Tensor)) return false;
    Tensor t = (Tensor) other;
    return dtype == t.dtype
        && Arrays.equals(shape, t.shape)
        && Arrays.deepEquals(new Object[] {array}, new Object[] {t.array});
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(shape) + Arrays.deepHashCode(new Object[] {array});
  }

  @NonNull
  @Override
  public String toString() {
    return "Tensor(" + Words.lower(dtype) + Arrays.toString(shape) + ")";
  }
}
