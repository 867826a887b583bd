// SPDX-License-Identifier: Apache-2.0
// Element types of tensors and the Java arrays that hold them.
package dev.samara;

import androidx.annotation.NonNull;

/** The type of a tensor's elements. The names are the same in Python and C. */
public enum DType {
  FLOAT32(1, DType.FLOATS),
  /** Bits of IEEE half precision, in a {@code short[]}. */
  FLOAT16(2, DType.SHORTS),
  INT8(3, DType.BYTES),
  /** int8 with scale and zero point. */
  QINT8(4, DType.BYTES),
  UINT8(5, DType.BYTES),
  INT32(6, DType.INTS),
  INT64(7, DType.LONGS),
  /** One byte, 0 or 1. */
  BOOL(8, DType.BYTES),
  FLOAT64(9, DType.DOUBLES),
  /** The upper half of a float's bits, in a {@code short[]}. */
  BFLOAT16(10, DType.SHORTS),
  INT16(11, DType.SHORTS),
  UINT16(12, DType.SHORTS),
  UINT32(13, DType.INTS),
  UINT64(14, DType.LONGS),
  /** Two per byte, the first in the low half. */
  INT4(15, DType.BYTES),
  UINT4(16, DType.BYTES);

  // Kinds of arrays; libsamara_jni has the same numbers.
  static final int BYTES = 0;
  static final int SHORTS = 1;
  static final int INTS = 2;
  static final int LONGS = 3;
  static final int FLOATS = 4;
  static final int DOUBLES = 5;

  final int code;
  final int kind;

  DType(int code, int kind) {
    this.code = code;
    this.kind = kind;
  }

  /** Length of the Java array that holds that many elements of this type. */
  int arrayLength(long elements) {
    long length = this == INT4 || this == UINT4 ? (elements + 1) / 2 : elements;
    if (length > Integer.MAX_VALUE - 8) {
      throw new LimitException(
          Status.LIMIT, "a tensor of " + length + " elements does not fit in a Java array",
          "read it into a direct buffer");
    }
    return (int) length;
  }

  /** A new array for that many elements of this type. */
  @NonNull
  Object newArray(long elements) {
    int length = arrayLength(elements);
    switch (kind) {
      case SHORTS:
        return new short[length];
      case INTS:
        return new int[length];
      case LONGS:
        return new long[length];
      case FLOATS:
        return new float[length];
      case DOUBLES:
        return new double[length];
      default:
        return new byte[length];
    }
  }

  @NonNull
  static DType of(int code) {
    for (DType type : values()) {
      if (type.code == code) return type;
    }
    throw new UnsupportedException(
        Status.UNSUPPORTED, "element type " + code + " is not known here", "update samara");
  }
}
