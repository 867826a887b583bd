// SPDX-License-Identifier: Apache-2.0
// Converts Java values to inputs and from outputs of a session that the caller has entered.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Sets inputs and reads outputs. Arrays and buffers cost no garbage. */
final class Feeds {
  private static final int MAX_RANK = 8;

  private Feeds() {}

  // ---- shapes ----

  static void resize(long session, List<TensorInfo> inputs, @Nullable Map<String, long[]> shapes) {
    SamaraException.given(shapes, "the shapes");
    int[] ranks = new int[inputs.size()];
    Arrays.fill(ranks, -1);
    long[][] given = new long[ranks.length][];
    for (Map.Entry<String, long[]> each : shapes.entrySet()) {
      int index = Words.index(inputs, each.getKey(), "input");
      given[index] = SamaraException.given(each.getValue(), "the shape of " + each.getKey());
      ranks[index] = rank(inputs.get(index), given[index]);
    }
    resize(session, ranks, given);
  }

  /** Checks the rank of a shape for the input. ShapeException if it differs. */
  private static int rank(TensorInfo input, long[] shape) {
    if (shape.length == input.getRank()) return shape.length;
    throw new ShapeException(
        Status.BAD_SHAPE,
        "the shape " + Arrays.toString(shape) + " has " + shape.length + " dims",
        "the input is " + input);
  }

  private static void resize(long session, int[] ranks, long[][] shapes) {
    int count = 0;
    for (int rank : ranks) count += Math.max(rank, 0);
    long[] dims = new long[count];
    int at = 0;
    for (long[] shape : shapes) {
      if (shape == null) continue;
      System.arraycopy(shape, 0, dims, at, shape.length);
      at += shape.length;
    }
    Native.resize(session, ranks, dims);
  }

  /** The current shape; the declared one until all inputs have a shape. */
  @NonNull
  static long[] inputShape(long session, int index, @NonNull TensorInfo input) {
    long[] dims = new long[MAX_RANK];
    int rank = Native.inputShape(session, index, dims);
    return rank < 0 ? input.getShape() : Arrays.copyOf(dims, rank);
  }

  @NonNull
  static long[] outputShape(long session, int index) {
    long[] dims = new long[MAX_RANK];
    return Arrays.copyOf(dims, Native.outputShape(session, index, dims));
  }

  // ---- inputs ----

  /** Sets all inputs by name; resizes the session if a Tensor has another shape. */
  static void set(long session, List<TensorInfo> inputs, @Nullable Map<String, ?> values) {
    SamaraException.given(values, "the inputs");
    Object[] given = new Object[inputs.size()];
    for (Map.Entry<String, ?> each : values.entrySet()) {
      int index = Words.index(inputs, each.getKey(), "input");
      given[index] = SamaraException.given(each.getValue(), "input '" + each.getKey() + "'");
    }
    for (int i = 0; i < given.length; i++) {
      if (given[i] != null) continue;
      throw new UnknownNameException(
          Status.NOT_FOUND, "input '" + inputs.get(i).getName() + "' is missing", "give a value");
    }
    follow(session, inputs, given);
    for (int i = 0; i < given.length; i++) {
      if (given[i] instanceof Image) ((Image) given[i]).set(session, i);
      else set(session, inputs, i, given[i]);
    }
  }

  /** Resizes the session to the shapes of the tensors. */
  private static void follow(long session, List<TensorInfo> inputs, Object[] given) {
    int[] ranks = new int[given.length];
    Arrays.fill(ranks, -1);
    long[][] shapes = new long[given.length][];
    boolean changed = false;
    for (int i = 0; i < given.length; i++) {
      if (!(given[i] instanceof Tensor)) continue;
      shapes[i] = ((Tensor) given[i]).getShape();
      ranks[i] = rank(inputs.get(i), shapes[i]);
      changed |= !Arrays.equals(shapes[i], inputShape(session, i, inputs.get(i)));
    }
    if (changed) resize(session, ranks, shapes);
  }

  /** An array, a direct buffer, or a Tensor of the input's shape. */
  static void set(long session, List<TensorInfo> inputs, int index, @NonNull Object value) {
    byte[] name = Words.text(inputs, index);
    if (value instanceof Buffer) {
      Buffer buffer = (Buffer) value;
      int shift = shift(buffer);
      Native.setBuffer(session, index, name, buffer, swapped(buffer),
          bytes(buffer.position(), shift), bytes(buffer.remaining(), shift));
      return;
    }
    Object array = value instanceof Tensor ? ((Tensor) value).getArray() : value;
    Native.setArray(session, index, name, array, Tensor.kind(array));
  }

  static void bindInput(long session, List<TensorInfo> inputs, int index, @NonNull Buffer buffer) {
    int shift = shift(buffer);
    Native.bindInput(session, index, Words.text(inputs, index), buffer, swapped(buffer),
        bytes(buffer.position(), shift), bytes(buffer.remaining(), shift));
  }

  static void bindOutput(
      long session, List<TensorInfo> outputs, int index, @Nullable Buffer buffer) {
    byte[] name = Words.text(outputs, index);
    if (buffer == null) {
      Native.bindOutput(session, index, name, null, false, 0, 0);
      return;
    }
    writable(buffer);
    int shift = shift(buffer);
    Native.bindOutput(session, index, name, buffer, swapped(buffer),
        bytes(buffer.position(), shift), bytes(buffer.remaining(), shift));
  }

  static int image(List<TensorInfo> inputs) {
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).takesImage()) return i;
    }
    throw new UnsupportedException(
        Status.UNSUPPORTED,
        "the file does not say how a picture becomes one of its inputs",
        "export it with a record of it (docs/guides/preprocessing.md)");
  }

  static int audio(List<TensorInfo> inputs) {
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).takesAudio()) return i;
    }
    throw new UnsupportedException(
        Status.UNSUPPORTED,
        "the file does not say how sound becomes one of its inputs",
        "export it with a record of it (docs/guides/preprocessing-audio.md)");
  }

  // ---- outputs ----

  static void get(long session, List<TensorInfo> outputs, int index, @NonNull Object to) {
    byte[] name = Words.text(outputs, index);
    if (to instanceof Buffer) {
      Buffer buffer = (Buffer) to;
      writable(buffer);
      int shift = shift(buffer);
      Native.getBuffer(session, index, name, buffer, swapped(buffer),
          bytes(buffer.position(), shift), bytes(buffer.remaining(), shift));
      return;
    }
    Native.getArray(session, index, name, to, Tensor.kind(to));
  }

  private static void writable(Buffer buffer) {
    if (!buffer.isReadOnly()) return;
    throw new ArgumentException(
        Status.BAD_ARGUMENT, "the buffer for the output is read-only", "give another one");
  }

  @NonNull
  static Tensor output(long session, int index, @NonNull TensorInfo info) {
    long[] shape = outputShape(session, index);
    for (long dim : shape) {
      if (dim >= 0) continue;
      throw new SamaraException(
          Status.BAD_STATE, "output '" + info.getName() + "' has no values yet", "run the session");
    }
    Object array = info.getDtype().newArray(Tensor.elements(shape));
    Native.getArray(session, index, info.text, array, info.getDtype().kind);
    return new Tensor(info.getDtype(), shape, array, info.getScale(), info.getZeroPoint());
  }

  @NonNull
  static Map<String, Tensor> outputs(long session, List<TensorInfo> infos) {
    Map<String, Tensor> found = new LinkedHashMap<>();
    for (int i = 0; i < infos.size(); i++) {
      found.put(infos.get(i).getName(), output(session, i, infos.get(i)));
    }
    return found;
  }

  @NonNull
  static Tensor tensor(@NonNull byte[] packed) {
    Blob blob = new Blob(packed);
    DType dtype = DType.of(blob.number());
    long[] shape = blob.longs(blob.number());
    float scale = blob.real();
    int zeroPoint = blob.number();
    Object array = dtype.newArray(Tensor.elements(shape));
    ByteBuffer values = ByteBuffer.wrap(blob.block()).order(ByteOrder.nativeOrder());
    if (array instanceof float[]) values.asFloatBuffer().get((float[]) array);
    else if (array instanceof short[]) values.asShortBuffer().get((short[]) array);
    else if (array instanceof int[]) values.asIntBuffer().get((int[]) array);
    else if (array instanceof long[]) values.asLongBuffer().get((long[]) array);
    else if (array instanceof double[]) values.asDoubleBuffer().get((double[]) array);
    else values.get((byte[]) array);
    return new Tensor(dtype, shape, array, scale, zeroPoint);
  }

  // ---- buffers ----

  private static long bytes(int elements, int shift) {
    return (long) elements << shift;
  }

  /** Whether putFloat() and others of the buffer write another byte order than C's. */
  private static boolean swapped(Buffer buffer) {
    return buffer instanceof ByteBuffer
        && ((ByteBuffer) buffer).order() != ByteOrder.nativeOrder();
  }

  /** log2 of the bytes of an element. ArgumentException if C cannot read the buffer in place. */
  private static int shift(Buffer buffer) {
    if (!buffer.isDirect()) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT,
          "the buffer is not direct",
          "make it by ByteBuffer.allocateDirect(n).order(ByteOrder.nativeOrder()), or give an array");
    }
    if (buffer instanceof ByteBuffer) return 0;
    int shift;
    ByteOrder order;
    if (buffer instanceof FloatBuffer) {
      order = ((FloatBuffer) buffer).order();
      shift = 2;
    } else if (buffer instanceof IntBuffer) {
      order = ((IntBuffer) buffer).order();
      shift = 2;
    } else if (buffer instanceof ShortBuffer) {
      order = ((ShortBuffer) buffer).order();
      shift = 1;
    } else if (buffer instanceof CharBuffer) {
      order = ((CharBuffer) buffer).order();
      shift = 1;
    } else if (buffer instanceof LongBuffer) {
      order = ((LongBuffer) buffer).order();
      shift = 3;
    } else {
      order = ((DoubleBuffer) buffer).order();
      shift = 3;
    }
    if (order == ByteOrder.nativeOrder()) return shift;
    throw new ArgumentException(
        Status.BAD_ARGUMENT,
        "the buffer's bytes are " + order + ", the machine's " + ByteOrder.nativeOrder(),
        "call order(ByteOrder.nativeOrder()) of the ByteBuffer that it was made of");
  }
}
