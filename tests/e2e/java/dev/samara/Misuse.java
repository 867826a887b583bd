// SPDX-License-Identifier: Apache-2.0
// Every misuse throws an exception that explains it.
package dev.samara;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** Wrong arguments, closed objects, and files that are no models. */
public final class Misuse {
  private Misuse() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    files(folder);
    damaged(folder);
    nulls(folder);
    values(folder);
    buffers(folder);
    shapes(folder);
    options(folder);
    closed(folder);
    failing(folder);
    media(folder);
  }

  private static void files(String folder) throws Exception {
    Check.fails(FileException.class, Status.IO, "none.samara", () -> Check.model(folder, "none"));
    Check.fails(FileException.class, Status.IO, "", () -> Model.fromFile(new File(folder)));
    Check.fails(
        ArgumentException.class, Status.BAD_ARGUMENT, "zero", () -> Model.fromFile("a\u0000b"));
    Check.fails(FileException.class, Status.IO, "", () -> Model.fromFile("\ud83d\ude00\u00e4"));
    Check.fails(
        ArgumentException.class,
        Status.BAD_ARGUMENT,
        "not direct",
        () -> Model.fromBuffer(ByteBuffer.allocate(100)));
    Check.fails(
        ModelFormatException.class,
        Status.BAD_MODEL,
        "",
        () -> Model.fromBuffer(ByteBuffer.allocateDirect(0)));
    Check.fails(
        ShapeException.class, Status.BAD_ARGUMENT, "", () -> Model.fromDescriptor(-1, 0, 0, new ModelOptions()));
    Check.fails(
        ShapeException.class, Status.BAD_ARGUMENT, "", () -> Model.fromDescriptor(0, -4, 0, new ModelOptions()));
  }

  private static void damaged(String folder) throws Exception {
    byte[] bytes = Files.readAllBytes(new File(folder, "golden.samara").toPath());
    Random random = new Random(5);
    for (int i = 0; i < 300; i++) {
      byte[] wrong = bytes.clone();
      wrong[random.nextInt(wrong.length)] ^= (byte) (1 << random.nextInt(8));
      ByteBuffer buffer = Check.direct(wrong.length);
      buffer.put(wrong).flip();
      if (i % 3 == 0) buffer.limit(random.nextInt(wrong.length));
      try {
        Model.fromBuffer(buffer).close();
      } catch (SamaraException refused) {
        Check.that(!refused.getMessage().isEmpty(), "a text");
      }
    }
  }

  private static void nulls(String folder) {
    Class<ArgumentException> type = ArgumentException.class;
    Status status = Status.BAD_ARGUMENT;
    Check.fails(type, status, "null", () -> Model.fromFile((File) null));
    Check.fails(type, status, "null", () -> Model.fromFile((String) null));
    Check.fails(type, status, "null", () -> Model.fromBuffer(null));
    Check.fails(type, status, "null", () -> new Session(null));
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model)) {
      Check.fails(type, status, "null", () -> new Session(model, null));
      Check.fails(type, status, "null", () -> session.setInput("x", null));
      Check.fails(type, status, "null", () -> session.setInput(null, new float[8]));
      Check.fails(type, status, "null", () -> session.getOutput("y", null));
      Check.fails(type, status, "null", () -> session.getOutput((String) null));
      Check.fails(type, status, "null", () -> session.run((Map<String, ?>) null));
      Check.fails(type, status, "null", () -> session.run(Collections.singletonMap("x", null)));
      Check.fails(type, status, "null", () -> session.resize((Map<String, long[]>) null));
      Check.fails(type, status, "null", () -> session.resize("x", (long[]) null));
      Check.fails(type, status, "null", () -> session.kept(null));
      Check.fails(type, status, "null", () -> session.setImage(null));
      Check.fails(type, status, "null", () -> session.getState().load((byte[]) null));
      Check.fails(type, status, "null", () -> session.getState().load((File) null));
      Check.fails(type, status, "null", () -> session.getState().save(null));
      Check.fails(type, status, "null", () -> session.trace(null));
      Check.fails(type, status, "null", () -> session.runAsync(null));
      Check.fails(type, status, "null", () -> session.runAsync(null, Runnable::run));
      Check.fails(type, status, "null", () -> session.predict((Image) null));
      Check.fails(type, status, "null", () -> session.pushAudio(null));
      Check.fails(type, status, "null", () -> new SessionOptions().keep((String[]) null));
      Check.fails(type, status, "null", () -> new SessionOptions().backend("cpu", null));
      Check.fails(type, status, "null", () -> new SessionOptions().accuracy(null));
      Check.fails(type, status, "null", () -> Tensor.of(null, 1));
      Check.fails(type, status, "null", () -> Audio.of((short[]) null, 16000));
      Check.fails(type, status, "null", () -> Image.of(null, 1, 1, new byte[3]));
      Check.fails(type, status, "null", () -> Image.of(Image.Format.RGB, 1, 1, (byte[]) null));
    }
  }

  private static void values(String folder) {
    Class<ShapeException> type = ShapeException.class;
    Status status = Status.BAD_SHAPE;
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model)) {
      Check.fails(SamaraException.class, Status.BAD_STATE, "", () -> session.getOutput("y"));
      Check.fails(
          SamaraException.class, Status.BAD_STATE, "", () -> session.getOutput("y", new float[6]));
      session.setInput("x", new float[8]);
      session.run();
      Check.fails(type, status, "8 elements", () -> session.setInput("x", new float[7]));
      Check.fails(type, status, "8 elements", () -> session.setInput("x", new float[9]));
      Check.fails(type, status, "8 elements", () -> session.setInput("x", new float[0]));
      Check.fails(type, status, "takes a float[]", () -> session.setInput("x", new int[8]));
      Check.fails(type, status, "takes a float[]", () -> session.setInput("x", new byte[32]));
      Check.fails(type, status, "6 elements", () -> session.getOutput("y", new float[5]));
      Check.fails(type, status, "takes a float[]", () -> session.getOutput("y", new double[6]));
      Check.fails(
          ArgumentException.class,
          Status.BAD_ARGUMENT,
          "java.lang.String",
          () -> session.setInput("x", "text"));
      Check.fails(
          ArgumentException.class,
          Status.BAD_ARGUMENT,
          "[[F",
          () -> session.setInput("x", new float[2][4]));
      Check.fails(
          UnknownNameException.class,
          Status.NOT_FOUND,
          "there are: x",
          () -> session.setInput("z", new float[8]));
      Check.fails(
          UnknownNameException.class,
          Status.NOT_FOUND,
          "missing",
          () -> session.run(new HashMap<String, Object>()));
      for (int index : new int[] {1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
        Check.fails(
            type, Status.BAD_ARGUMENT, "", () -> session.setInput(index, new float[8]));
        Check.fails(
            type, Status.BAD_ARGUMENT, "", () -> session.getOutput(index, new float[6]));
      }
      Check.fails(
          ShapeException.class, status, "is no int[]", () -> session.getOutput("y").ints());
      Check.fails(UnknownNameException.class, Status.NOT_FOUND, "none", () -> session.kept("none"));
    }
  }

  private static void buffers(String folder) {
    Class<ArgumentException> type = ArgumentException.class;
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model)) {
      ByteBuffer other = ByteBuffer.allocateDirect(32); // big-endian, as all begin
      ByteBuffer heap = ByteBuffer.allocate(32);
      Check.fails(
          ShapeException.class, Status.BAD_ARGUMENT, "byte order",
          () -> session.setInput("x", other));
      Check.fails(
          type, Status.BAD_ARGUMENT, "BIG_ENDIAN",
          () -> session.setInput("x", other.asFloatBuffer()));
      Check.fails(type, Status.BAD_ARGUMENT, "not direct", () -> session.setInput("x", heap));
      Check.fails(
          ShapeException.class, Status.BAD_SHAPE, "32 bytes",
          () -> session.setInput("x", Check.direct(31)));
      Check.fails(
          ShapeException.class, Status.BAD_SHAPE, "32 bytes",
          () -> session.setInput("x", Check.direct(0)));
      session.setInput("x", Check.direct(32));
      session.run();
      Check.fails(
          type, Status.BAD_ARGUMENT, "read-only",
          () -> session.getOutput("y", Check.direct(24).asReadOnlyBuffer()));
      ByteBuffer part = Check.direct(32);
      part.position(9);
      Check.fails(
          ShapeException.class, Status.BAD_SHAPE, "24 bytes", () -> session.getOutput("y", part));
    }
  }

  private static void shapes(String folder) {
    Class<ShapeException> type = ShapeException.class;
    try (Model model = Check.model(folder, "small");
        Session session = new Session(model)) {
      Check.fails(
          SamaraException.class, Status.BAD_STATE, "resize",
          () -> session.setInput("image", new float[192]));
      Check.fails(SamaraException.class, Status.BAD_STATE, "", session::run);
      Check.equal(session.getInputShape("image")[0], -1L);
      Check.fails(type, Status.BAD_SHAPE, "axis 3", () -> session.resize("image", 1, 3, 8, 9));
      Check.fails(type, Status.BAD_SHAPE, "3 dims", () -> session.resize("image", 1, 3, 8));
      Check.fails(type, Status.BAD_SHAPE, "", () -> session.resize("image", -5, 3, 8, 8));
      Check.fails(
          type, Status.BAD_SHAPE, "0 dims", () -> session.resize("image"));
      Check.fails(
          LimitException.class, Status.OUT_OF_MEMORY, "",
          () -> session.resize("image", Long.MAX_VALUE / 4096, 3, 8, 8));
      Check.fails(type, Status.BAD_SHAPE, "8 elements", () -> Tensor.of(new float[7], 2, 4));
      Check.fails(type, Status.BAD_SHAPE, "", () -> Tensor.of(new float[7], -1, -7));
      Check.fails(
          type, Status.BAD_SHAPE, "", () -> Tensor.of(new float[7], 1L << 40, 1L << 40));
      session.resize("image", 1, 3, 8, 8);
      session.setInput("image", new float[192]);
      session.run();
    }
  }

  private static void options(String folder) {
    Check.fails(ShapeException.class, Status.BAD_SHAPE, "0", () -> new SessionOptions().threads(0));
    Check.fails(
        UnknownNameException.class, Status.NOT_FOUND, "strict",
        () -> new SessionOptions().accuracy("most"));
    Check.fails(
        ShapeException.class, Status.BAD_SHAPE, "-1", () -> new SessionOptions().maxSteps(-1));
    try (Model model = Check.model(folder, "static")) {
      Check.fails(
          UnknownNameException.class, Status.NOT_FOUND, "it has main",
          () -> new Session(model, new SessionOptions().function("none")));
      Check.fails(
          UnknownNameException.class, Status.NOT_FOUND, "none",
          () -> new Session(model, new SessionOptions().keep("none")));
      Check.fails(
          BackendException.class, Status.BACKEND, "warp",
          () -> new Session(model, new SessionOptions().backend("warp")));
      Check.fails(
          BackendException.class, Status.BACKEND, "/none.so",
          () -> new Session(model, new SessionOptions().backend("/none.so")));
      Check.fails(
          LimitException.class, Status.LIMIT, "",
          () -> new Session(model, new SessionOptions().maxArenaBytes(1)));
      new Session(model, new SessionOptions().backend("cpu")).close();
      new Session(model, new SessionOptions().backend("auto").waitForBackend(true)).close();
    }
  }

  private static void closed(String folder) {
    Model model = Check.model(folder, "counter");
    Session session = new Session(model);
    model.close(); // the session goes on
    session.setInput("x", new float[2]);
    session.run();
    Class<SamaraException> type = SamaraException.class;
    Status status = Status.BAD_STATE;
    Check.fails(type, status, "model is closed", () -> new Session(model));
    Check.fails(type, status, "model is closed", model::selftest);
    Check.fails(type, status, "model is closed", model::verify);
    Check.equal(model.getInputs().size(), 1);
    Check.equal(model.toString(), "Model(main, closed)");
    session.close();
    session.close();
    model.close();
    String says = "session is closed";
    Check.fails(type, status, says, session::run);
    Check.fails(type, status, says, () -> session.setInput(0, new float[2]));
    Check.fails(type, status, says, () -> session.getOutput(0, new float[2]));
    Check.fails(type, status, says, () -> session.getOutput("y"));
    Check.fails(type, status, says, () -> session.resize("x", 2));
    Check.fails(type, status, says, () -> session.getInputShape("x"));
    Check.fails(type, status, says, () -> session.kept("h"));
    Check.fails(type, status, says, session::predict);
    Check.fails(type, status, says, () -> session.getState().save());
    Check.fails(type, status, says, () -> session.getState().load(new byte[1]));
    Check.fails(type, status, says, session::reset);
    Check.fails(type, status, says, session::profile);
    Check.fails(type, status, says, () -> session.trace());
    Check.fails(type, status, says, () -> session.setProfiling(true));
    session.cancel();
    Check.that(session.runAsync(Runnable::run).isCompletedExceptionally(), "async");
    Check.equal(session.getFunction().getName(), "main");
  }

  /** What the runtime finds while it runs tells its node. */
  private static void failing(String folder) {
    try (Model model = Check.model(folder, "gather");
        Session session = new Session(model)) {
      session.setInput("at", new long[] {0, 99});
      SamaraException failure =
          Check.fails(RangeException.class, Status.BAD_DATA, "99", session::run);
      Check.equal(failure.getNode(), "pick");
      Check.equal(failure.getOperator(), "gather");
      session.setInput("at", new long[] {0, 1});
      session.run();
    }
  }

  private static void media(String folder) {
    byte[] pixels = new byte[3 * 4 * 4];
    Image image = Image.of(Image.Format.RGB, 4, 4, pixels);
    Check.fails(
        ShapeException.class, Status.BAD_SHAPE, "give 2",
        () -> Image.of(Image.Format.NV21, 4, 4, pixels));
    Check.fails(ShapeException.class, Status.BAD_SHAPE, "outside", () -> image.cropped(1, 0, 4, 4));
    Check.fails(
        ShapeException.class, Status.BAD_SHAPE, "outside",
        () -> image.cropped(Integer.MAX_VALUE, 0, Integer.MAX_VALUE, 1));
    Check.fails(ArgumentException.class, Status.BAD_ARGUMENT, "45", () -> image.rotated(45));
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model)) {
      Check.fails(
          UnsupportedException.class, Status.UNSUPPORTED, "picture", () -> session.setImage(image));
      Check.fails(
          UnknownNameException.class, Status.NOT_FOUND, "", () -> session.setImage("x", image));
      Check.fails(
          UnsupportedException.class, Status.UNSUPPORTED, "sound",
          () -> session.pushAudio(Audio.of(new short[1], 0)));
      Check.fails(UnknownNameException.class, Status.NOT_FOUND, "", session::predict);
    }
    try (Model model = Check.model(folder, "classes");
        Session session = new Session(model)) {
      Class<ShapeException> type = ShapeException.class;
      Check.fails(
          type, Status.BAD_ARGUMENT, "",
          () -> session.setImage(Image.of(Image.Format.RGB, 5, 4, pixels)));
      Check.fails(
          type, Status.BAD_ARGUMENT, "",
          () -> session.setImage(Image.of(Image.Format.RGB, -1, 4, pixels)));
      Check.fails(
          type, Status.BAD_ARGUMENT, "",
          () -> session.setImage(Image.of(Image.Format.RGB, 4, 4, new Image.Plane(pixels, 1, 0))));
      Check.fails(
          UnsupportedException.class, Status.UNSUPPORTED, "libjnigraphics",
          () -> session.setImage(Image.ofSystem(4, 4, "no bitmap", null, () -> {})));
      Check.fails(
          UnsupportedException.class, Status.UNSUPPORTED, "libandroid",
          () -> session.setImage(Image.ofSystem(4, 4, null, "no buffer", () -> {})));
      session.setImage(image);
    }
  }
}
