// SPDX-License-Identifier: Apache-2.0
// Every way to give and take values, and what a model says of itself.
package dev.samara;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Prints answers as bits, which the caller compares with those of Python. */
public final class Values {
  private Values() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    Check.equal(Samara.getVersion(), arguments[1]);
    Check.that(!Samara.getIsa().isEmpty(), "isa");
    describes(folder);
    image(folder);
    everyType(folder);
    functions(folder);
    sources(folder);
    state(folder);
    inside(folder);
  }

  private static void describes(String folder) {
    try (Model model = Check.model(folder, "golden")) {
      Check.equal(model.getLabels(), Arrays.asList("a", "b", "c"));
      Check.equal(model.getMetadata().get("note"), "hello");
      Check.equal(model.getFunctions().keySet(), Collections.singleton("main"));
      Check.equal(model.getInputs().toString(), "[x: float32[n, 4]]");
      Check.equal(model.getOutputs().toString(), "[y: float32[n, 3]]");
      Check.equal(model.getFunction(null).getAnswer() == null, true);
      Check.equal(model.getFunction("main").toString(), "main(x: float32[n, 4]) -> (y: float32[n, 3])");
      Check.equal(model.toString(), "Model(main)");
      model.selftest();
      model.verify();
      Check.that(model.isVerified(), "verified");
    }
    try (Model model = Check.model(folder, "dtypes")) {
      TensorInfo q = model.getInputs().get(7);
      Check.equal(q.getDtype(), DType.QINT8);
      Check.equal(q.getScale(), 0.5f);
      Check.equal(q.getZeroPoint(), -3);
      Check.equal(Arrays.toString(q.getShape()), "[3]");
    }
  }

  private static void image(String folder) {
    float[] image = Check.numbers(2 * 3 * 8 * 8);
    float[] score = new float[8];
    try (Model model = Check.model(folder, "small");
        Session session = new Session(model, new SessionOptions().threads(2))) {
      Map<String, Tensor> out =
          session.run(Collections.singletonMap("image", Tensor.of(image, 2, 3, 8, 8)));
      Check.equal(Arrays.toString(out.get("score").getShape()), "[2, 4]");
      Check.print("small", out.get("score").floats());

      session.resize("image", 1, 3, 8, 8);
      Check.equal(Arrays.toString(session.getOutputShape("score")), "[1, 4]");
      session.resize("image", 2, 3, 8, 8);
      Check.equal(Arrays.toString(session.getInputShape("image")), "[2, 3, 8, 8]");
      session.setInput(0, image);
      session.run();
      session.getOutput(0, score);
      Check.that(Arrays.equals(score, out.get("score").floats()), "arrays");
      buffers(session, image, score);
    }
  }

  private static void buffers(Session session, float[] image, float[] wanted) {
    ByteBuffer in = Check.direct(4 * image.length + 8);
    in.position(8); // a part of the buffer
    FloatBuffer floats = in.slice().order(in.order()).asFloatBuffer();
    floats.put(image);
    floats.rewind();
    session.setInput("image", floats);
    session.run();
    FloatBuffer out = Check.direct(4 * wanted.length + 4).asFloatBuffer();
    out.position(1);
    session.getOutput("score", out);
    Check.equal(out.position(), 1);
    for (float value : wanted) Check.equal(out.get(), value);

    session.setInput("image", new float[image.length]);
    session.setInput("image", in); // bytes, from its position
    session.run();
    ByteBuffer bytes = Check.direct(4 * wanted.length);
    session.getOutput("score", bytes);
    for (float value : wanted) Check.equal(bytes.getFloat(), value);
    Check.equal(session.getOutput("score").floats()[0], wanted[0]);
  }

  private static void everyType(String folder) {
    Map<String, Object> in = new LinkedHashMap<>();
    in.put("f32", new float[] {1, 2, 3, 4, 5, 6});
    in.put("f16", new short[] {0, 0x3c00, 1, 2, 3, -1});
    in.put("i8", new byte[] {1, -2, 3, -4, 5, -128});
    in.put("u8", new byte[] {1, -2, 3, -4, 5, -128});
    in.put("i32", new int[] {1, -2, 3, Integer.MIN_VALUE, 5, 6});
    in.put("i64", new long[] {1, -2, 3, Long.MIN_VALUE, 5, 6});
    in.put("bool", new byte[] {1, 0, 1, 0, 0, 1});
    in.put("q", new byte[] {-3, 0, 127});
    try (Model model = Check.model(folder, "dtypes");
        Session session = new Session(model)) {
      Map<String, Tensor> out = session.run(in);
      Check.equal(out.size(), in.size());
      for (Map.Entry<String, Object> each : in.entrySet()) {
        Tensor got = out.get(each.getKey() + "_out");
        Object[] wanted = {each.getValue()};
        Check.that(Arrays.deepEquals(new Object[] {got.getArray()}, wanted), each.getKey());
      }
      Check.equal(out.get("u8_out").getDtype(), DType.UINT8);
      Check.equal(out.get("q_out").getScale(), 0.5f);
      Check.equal(out.get("q_out").getZeroPoint(), -3);
      Check.equal(out.get("i64_out").longs()[3], Long.MIN_VALUE);
      Check.equal(out.get("i32_out").ints()[3], Integer.MIN_VALUE);
      Check.equal(out.get("f16_out").shorts()[1], (short) 0x3c00);
      // The same again, from what came out.
      Map<String, Object> again = new LinkedHashMap<>();
      for (String name : in.keySet()) again.put(name, out.get(name + "_out"));
      Check.equal(session.run(again), out);
    }
  }

  private static void functions(String folder) {
    try (Model model = Check.model(folder, "two");
        Session sum = new Session(model, new SessionOptions().function("sum").threads(1));
        Session where = new Session(model, new SessionOptions().function("where"))) {
      Check.equal(model.getFunctions().size(), 3);
      Map<String, Object> in = new LinkedHashMap<>();
      in.put("a", new float[] {1, 2, 3});
      in.put("b", new float[] {4, 5, 7});
      Map<String, Tensor> out = sum.run(in);
      Check.that(Arrays.equals(out.get("plus").floats(), new float[] {5, 7, 10}), "plus");
      Check.that(Arrays.equals(out.get("minus").floats(), new float[] {-3, -3, -4}), "minus");
      // The size of what comes out depends on what goes in.
      for (int ones = 0; ones < 4; ones++) {
        byte[] mask = new byte[4];
        Arrays.fill(mask, 0, ones, (byte) 1);
        Tensor at = where.run(Collections.singletonMap("mask", Tensor.of(mask, 4))).get("at");
        Check.equal(at.longs().length, ones);
      }
    }
  }

  private static void sources(String folder) throws Exception {
    File file = new File(folder, "small.samara");
    byte[] bytes = Files.readAllBytes(file.toPath());
    ByteBuffer direct = Check.direct(bytes.length + 7);
    for (int at = 0; at < 6; at++) { // any position
      direct.clear();
      direct.position(at);
      direct.put(bytes);
      direct.flip();
      direct.position(at);
      try (Model model = Model.fromBuffer(direct);
          Session session = new Session(model)) {
        float[] image = Check.numbers(3 * 8 * 8);
        session.run(Collections.singletonMap("image", Tensor.of(image, 1, 3, 8, 8)));
      }
      Check.equal(direct.position(), at);
    }
    try (Model model = Model.fromFile(file.getPath())) {
      Check.equal(model.getInputs().size(), 1);
    }
  }

  private static void state(String folder) {
    File file = new File(folder, "state");
    float[] y = new float[2];
    try (Model model = Check.model(folder, "counter");
        Session session = new Session(model);
        Session other = new Session(model)) {
      session.setInput("x", new float[] {1, 2});
      session.run();
      session.run();
      session.getState().save(file);
      byte[] saved = session.getState().save();
      session.reset();
      session.run();
      session.getOutput("y", y);
      Check.that(Arrays.equals(y, new float[] {22, 44}), "reset");
      other.getState().load(file);
      other.setInput("x", new float[] {0, 0});
      other.run();
      other.getOutput("y", y);
      Check.that(Arrays.equals(y, new float[] {24, 48}), "loaded");
      session.getState().load(saved);
      Check.that(Arrays.equals(session.getState().save(), saved), "the same state");
      Check.fails(ModelFormatException.class, Status.BAD_MODEL, "", () -> other.getState().load(new byte[3]));
      Check.that(!new File(folder, "state.tmp").exists(), "nothing beside it");
      Check.fails(
          FileException.class, Status.IO, "none", () -> other.getState().load(new File(folder, "none")));
      Check.fails(
          FileException.class, Status.IO, "none", () -> other.getState().save(new File(folder, "none/s")));
    }
  }

  private static void inside(String folder) throws Exception {
    File file = new File(folder, "trace.json");
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model, new SessionOptions().keep("h").profiling(true))) {
      session.setInput("x", Check.numbers(8));
      session.run();
      Check.equal(Arrays.toString(session.kept("h").getShape()), "[2, 3]");
      Check.print("h", session.kept("h").floats());
      Check.print("y", session.getOutput("y").floats());
      List<ProfileRow> rows = session.profile();
      Check.that(!rows.isEmpty() && rows.get(0).getOp().equals("matmul"), "" + rows);
      Check.that(rows.get(0).getTotalNanos() > 0 && rows.get(0).getCount() == 1, "times");
      Check.that(session.trace().contains("traceEvents"), session.trace());
      session.trace(file);
      Check.equal(new String(Files.readAllBytes(file.toPath()), "UTF-8"), session.trace());
      session.setProfiling(false);
      session.run();
    }
    try (Model model = Check.model(folder, "static");
        Session all = new Session(model, new SessionOptions().keepAll(true).accuracy("strict"))) {
      all.setInput("x", Check.numbers(8));
      all.run();
      Check.print("h", all.kept("h").floats());
    }
  }
}
