// SPDX-License-Identifier: Apache-2.0
// Variables by name, the caller's memory, devices, options, and ways to open a model.
package dev.samara;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;

/** Prints values to compare with Python's, and checks the rest. */
public final class Details {
  private Details() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    variables(folder);
    bound(folder);
    refused(folder);
    opened(folder);
    chosen(folder);
    placed(folder);
  }

  private static void variables(String folder) {
    try (Model model = Check.model(folder, "counter");
        Session session = new Session(model)) {
      State state = session.getState();
      Check.equal(state.getNames(), Collections.singletonList("total"));
      Check.equal(state.toString(), "State(total)");
      session.setInput("x", new float[] {1, 2});
      session.run();
      Check.equal(state.get("total"), Tensor.of(new float[] {11, 22}, 2));
      state.set("total", Tensor.of(new float[] {100, 200}, 2));
      session.run();
      Check.print("total", state.get("total").floats());
      session.reset();
      Check.print("reset", state.get("total").floats());

      Class<ShapeException> type = ShapeException.class;
      Check.fails(UnknownNameException.class, Status.NOT_FOUND, "none", () -> state.get("none"));
      Check.fails(
          UnknownNameException.class, Status.NOT_FOUND, "none",
          () -> state.set("none", Tensor.of(new float[2], 2)));
      Check.fails(
          type, Status.BAD_SHAPE, "variable 'total' takes a float[]",
          () -> state.set("total", Tensor.of(new int[2], 2)));
      Check.fails(
          type, Status.BAD_SHAPE, "variable 'total' has 2 elements",
          () -> state.set("total", Tensor.of(new float[3], 3)));
      Check.fails(
          type, Status.BAD_SHAPE, "another shape",
          () -> state.set("total", Tensor.of(new float[2], 2, 1)));
      Check.fails(ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> state.get(null));
      Check.fails(
          ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> state.set("total", null));
      Check.fails(
          ArgumentException.class, Status.BAD_ARGUMENT, "zero", () -> state.get("a\u0000b"));
      Check.print("kept", state.get("total").floats());
    }
    State closed = closed(folder);
    Check.fails(SamaraException.class, Status.BAD_STATE, "closed", () -> closed.get("total"));
    Check.fails(SamaraException.class, Status.BAD_STATE, "closed", () -> closed.getNames());
    Check.equal(closed.toString(), "State(closed)");
  }

  private static State closed(String folder) {
    try (Model model = Check.model(folder, "counter");
        Session session = new Session(model)) {
      return session.getState();
    }
  }

  private static FloatBuffer floats(int count) {
    return Check.direct(4 * count).asFloatBuffer();
  }

  private static void bound(String folder) {
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model, new SessionOptions().threads(1))) {
      float[] x = Check.numbers(8);
      float[] y = new float[6];
      session.setInput("x", x);
      session.run();
      session.getOutput("y", y);

      FloatBuffer in = floats(8);
      FloatBuffer out = floats(7);
      out.position(1); // a part of it
      out.put(0, 42);
      session.bindInput("x", in);
      session.bindOutput("y", out.slice());
      for (int round = 0; round < 2; round++) {
        in.put(0, x[0]).put(1, x[1]).put(2, x[2]).put(3, x[3]);
        in.put(4, x[4]).put(5, x[5]).put(6, x[6]).put(7, x[7]);
        for (int i = 1; i < 7; i++) out.put(i, -1);
        session.run();
        for (int i = 0; i < 6; i++) Check.equal(out.get(1 + i), y[i]);
        Check.equal(out.get(0), 42f);
        in.put(0, 0);
        session.run();
        Check.that(out.get(1) != y[0], "what is written to the memory counts");
      }
      Check.equal(session.getOutput("y").floats()[0], out.get(1));
      session.setInput("x", x); // the input has memory of its own again
      session.bindOutput("y", null);
      out.put(1, -1);
      session.run();
      Check.equal(out.get(1), -1f);
      Check.equal(session.getOutput("y").floats()[0], y[0]);
      forgotten(session, x);
      for (int i = 0; i < 5; i++) System.gc();
      byte[][] garbage = new byte[200][];
      for (int i = 0; i < 200; i++) garbage[i] = Check.direct(4096).isDirect() ? new byte[4096] : null;
      session.run();
      Check.that(Arrays.equals(session.getOutput("y").floats(), y), "memory nobody else holds");
    }
  }

  private static void forgotten(Session session, float[] x) {
    FloatBuffer in = floats(8);
    in.put(x).rewind();
    session.bindInput("x", in);
    session.bindOutput("y", floats(6));
  }

  private static void refused(String folder) {
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model)) {
      Class<ShapeException> shape = ShapeException.class;
      Class<ArgumentException> argument = ArgumentException.class;
      Check.fails(
          argument, Status.BAD_ARGUMENT, "not direct",
          () -> session.bindInput("x", FloatBuffer.allocate(8)));
      Check.fails(
          shape, Status.BAD_SHAPE, "input 'x' has 32 bytes", () -> session.bindInput("x", floats(7)));
      Check.fails(
          shape, Status.BAD_ARGUMENT, "the buffer for input 'x' is not in native byte order",
          () -> session.bindInput("x", ByteBuffer.allocateDirect(32)));
      Check.fails(
          shape, Status.BAD_ARGUMENT, "the buffer for output 'y' is not in native byte order",
          () -> session.bindOutput("y", ByteBuffer.allocateDirect(24)));
      Check.fails(shape, Status.BAD_SHAPE, "24", () -> session.bindOutput("y", floats(7)));
      Check.fails(
          argument, Status.BAD_ARGUMENT, "read-only",
          () -> session.bindOutput("y", floats(6).asReadOnlyBuffer()));
      ByteBuffer odd = Check.direct(32);
      odd.position(1).limit(25);
      Check.fails(shape, Status.BAD_ARGUMENT, "", () -> session.bindOutput("y", odd));
      Check.fails(
          UnknownNameException.class, Status.NOT_FOUND, "there are: x",
          () -> session.bindInput("y", floats(8)));
      Check.fails(
          argument, Status.BAD_ARGUMENT, "null", () -> session.bindInput("x", null));
      Check.fails(
          shape, Status.BAD_SHAPE, "input 'x' takes a float[], not a int[]",
          () -> session.setInput("x", new int[8]));
      Check.fails(
          shape, Status.BAD_SHAPE, "input 'x' has 8 elements, the array 7",
          () -> session.setInput(0, new float[7]));
      Check.fails(
          shape, Status.BAD_SHAPE, "input 'x' takes a float[]",
          () -> session.run(Collections.singletonMap("x", new byte[8])));
      session.setInput("x", new float[8]);
      session.run();
      Check.fails(
          shape, Status.BAD_SHAPE, "output 'y' has 6 elements, the array 5",
          () -> session.getOutput("y", new float[5]));
    }
  }

  private static void opened(String folder) throws Exception {
    File file = new File(folder, "static.samara");
    byte[] bytes = Files.readAllBytes(file.toPath());
    File copy = new File(folder, "copied.bytes");
    Files.write(copy.toPath(), bytes);
    ByteBuffer buffer = Check.direct(bytes.length);
    buffer.put(bytes).flip();
    ModelOptions own = new ModelOptions().copy(true);
    try (Model fromFile = Model.fromFile(copy, own);
        Model fromBuffer = Model.fromBuffer(buffer, own)) {
      Files.write(copy.toPath(), new byte[bytes.length]);
      for (int i = 0; i < bytes.length; i++) buffer.put(i, (byte) 0);
      for (Model model : Arrays.asList(fromFile, fromBuffer)) {
        model.verify();
        try (Session session = new Session(model)) {
          Map<String, Tensor> made =
              session.run(Collections.singletonMap("x", Tensor.of(Check.numbers(8), 2, 4)));
          Check.print("copied", made.get("y").floats());
        }
      }
    }
    try (Model model = Model.fromFile(file, new ModelOptions().verify(false))) {
      Check.that(!model.isVerified(), "nobody compared");
      model.verify();
      Check.that(model.isVerified(), "compared");
    }
    try (Model model = Model.fromFile(file, new ModelOptions().verify(true))) {
      Check.that(model.isVerified(), "compared when it was opened");
    }
    Class<ArgumentException> type = ArgumentException.class;
    Check.fails(type, Status.BAD_ARGUMENT, "null", () -> Model.fromFile(file, null));
    Check.fails(type, Status.BAD_ARGUMENT, "null", () -> Model.fromBuffer(buffer, null));
  }

  private static String kernel(Model model, SessionOptions options) {
    try (Session session = new Session(model, options.threads(1).profiling(true))) {
      session.setInput("x", new float[256]);
      session.run();
      System.gc(); // must not free memory that C reads
      session.run();
      return session.profile().get(0).getKernel();
    }
  }

  private static void chosen(String folder) {
    File tuned = new File(folder, "conv.tuned");
    try (Model model = Check.model(folder, "conv")) {
      System.out.println("default=" + kernel(model, new SessionOptions()));
      System.out.println("tuned=" + kernel(model, new SessionOptions().tuned(tuned)));
      System.out.println("scalar=" + kernel(model, new SessionOptions().isa("scalar")));
      System.out.println("none=" + kernel(model, new SessionOptions().tuned(new byte[] {1, 2})));
      Check.fails(
          ShapeException.class, Status.BAD_ARGUMENT, "mmx",
          () -> new Session(model, new SessionOptions().isa("mmx")));
      Check.fails(
          FileException.class, Status.IO, "none",
          () -> new SessionOptions().tuned(new File(folder, "none")));
    }
  }

  private static void placed(String folder) {
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model)) {
      for (PlacementRow row : session.placement()) {
        System.out.println(
            "placed=" + row.getFunction() + " " + row.getNode() + " " + row.getOp() + " "
                + row.getDevice() + " " + row.getReason() + " " + row.getRunnerUp() + " "
                + row.getRegion());
      }
      BackendReport report = session.backendReport();
      Check.that(!report.isActive() && report.getNodes() == 0, report.toString());
      Check.equal(report.getFailure(), "");
      Check.that(session.getArenaBytes() > 0, "arena");
      Check.that(session.getTotalBytes() > session.getArenaBytes(), "all bytes");
      System.out.println("bytes=" + session.getArenaBytes() + " " + session.getTotalBytes());
    }
  }
}
