// SPDX-License-Identifier: Apache-2.0
// Recorded runs: tests/e2e/golden_cases.py writes them.
package dev.samara;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A model, and runs that follow each other in one session of it. */
public final class GoldenCases {
  public final String name;
  public final File model;
  public final String function; // null: the first
  public final List<Run> runs = new ArrayList<>();

  /** Inputs of a run, and the bytes of Python's outputs. */
  public static final class Run {
    public final Map<String, Values> inputs = new LinkedHashMap<>();
    public final Map<String, Values> outputs = new LinkedHashMap<>();

    /** The inputs as run takes them. */
    public Map<String, Tensor> tensors() {
      Map<String, Tensor> all = new LinkedHashMap<>();
      for (Map.Entry<String, Values> each : inputs.entrySet()) {
        all.put(each.getKey(), Tensor.of(each.getValue().array(), each.getValue().shape));
      }
      return all;
    }

    /** Compares all outputs, byte by byte. */
    public void check(String what, Map<String, Tensor> made) {
      Check.equal(made.keySet(), outputs.keySet());
      for (Map.Entry<String, Values> each : outputs.entrySet()) {
        each.getValue().check(what + " " + each.getKey(), made.get(each.getKey()));
      }
    }
  }

  /** A tensor of a file. */
  public static final class Values {
    final DType dtype;
    final long[] shape;
    final byte[] bytes;

    Values(String dtype, String shape, byte[] bytes) {
      this.dtype = DType.valueOf(dtype.toUpperCase(Locale.ROOT));
      this.shape =
          shape.isEmpty()
              ? new long[0]
              : Arrays.stream(shape.split(",")).mapToLong(Long::parseLong).toArray();
      this.bytes = bytes;
    }

    Object array() {
      ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
      Object array = dtype.newArray(Tensor.elements(shape));
      if (array instanceof float[]) from.asFloatBuffer().get((float[]) array);
      else if (array instanceof short[]) from.asShortBuffer().get((short[]) array);
      else if (array instanceof int[]) from.asIntBuffer().get((int[]) array);
      else if (array instanceof long[]) from.asLongBuffer().get((long[]) array);
      else if (array instanceof double[]) from.asDoubleBuffer().get((double[]) array);
      else from.get((byte[]) array);
      return array;
    }

    ByteBuffer direct() {
      ByteBuffer buffer = Check.direct(bytes.length);
      buffer.put(bytes).flip();
      return buffer;
    }

    void check(String what, Tensor made) {
      Check.equal(made.getDtype(), dtype);
      Check.that(Arrays.equals(made.getShape(), shape), what + " has " + made + "'s shape");
      check(what, made.getArray());
    }

    void check(String what, Object array) {
      ByteBuffer to = ByteBuffer.allocate(bytes.length).order(ByteOrder.nativeOrder());
      if (array instanceof float[]) to.asFloatBuffer().put((float[]) array);
      else if (array instanceof short[]) to.asShortBuffer().put((short[]) array);
      else if (array instanceof int[]) to.asIntBuffer().put((int[]) array);
      else if (array instanceof long[]) to.asLongBuffer().put((long[]) array);
      else if (array instanceof double[]) to.asDoubleBuffer().put((double[]) array);
      else to.put((byte[]) array);
      Check.that(Arrays.equals(to.array(), bytes), what + " differs");
    }

    void check(String what, ByteBuffer buffer) {
      byte[] made = new byte[bytes.length];
      buffer.duplicate().get(made);
      Check.that(Arrays.equals(made, bytes), what + " differs");
    }
  }

  private GoldenCases(String name, File model, String function) {
    this.name = name;
    this.model = model;
    this.function = function;
  }

  /** A session of its function. */
  public Session session(Model opened) {
    return new Session(opened, new SessionOptions().function(function).threads(2));
  }

  /** All cases of a folder. */
  public static List<GoldenCases> read(String folder) throws IOException {
    List<GoldenCases> all = new ArrayList<>();
    byte[] text = Files.readAllBytes(new File(folder, "cases.txt").toPath());
    for (String line : new String(text, StandardCharsets.UTF_8).split("\n")) {
      String[] words = line.split("\t", -1);
      GoldenCases last = all.isEmpty() ? null : all.get(all.size() - 1);
      if (words[0].equals("case")) {
        String function = words[3].isEmpty() ? null : words[3];
        all.add(new GoldenCases(words[1], new File(folder, words[2]), function));
      } else if (words[0].equals("run")) {
        last.runs.add(new Run());
      } else {
        Run run = last.runs.get(last.runs.size() - 1);
        byte[] bytes = Files.readAllBytes(new File(folder, words[4]).toPath());
        (words[0].equals("in") ? run.inputs : run.outputs)
            .put(words[1], new Values(words[2], words[3], bytes));
      }
    }
    return all;
  }
}
