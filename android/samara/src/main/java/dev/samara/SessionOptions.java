// SPDX-License-Identifier: Apache-2.0
// How a session runs.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Options of a {@link Session}; unset options are as in {@code new Session(model)}.
 *
 * <pre>{@code new Session(model, new SessionOptions().threads(2).keep("conv1"))}</pre>
 */
public final class SessionOptions {
  private static final int KEEP_ALL = 1;
  private static final int STRICT = 2;
  private static final int BFLOAT16 = 4;
  private static final int FLOAT16 = 8;
  private static final int WAIT = 16;
  private static final int PROFILE = 32;
  private static final int TEXT = 64; // of a text model, not set by users
  private static final int EXACT = 128;
  private static final int BOUNDED = 256;

  private String function;
  private int threads;
  private final List<byte[]> keep = new ArrayList<>();
  private final List<byte[]> backends = new ArrayList<>();
  private final long[] limits = new long[3];
  private int flags;
  @Nullable private byte[] isa;
  @Nullable private byte[] tuned;

  /** The function to run; the default is the first of the model. */
  @NonNull
  public SessionOptions function(@Nullable String name) {
    Words.c(name, "the function's name");
    function = name;
    return this;
  }

  /** Threads of a run, including the caller's; the default is min(4, cores). */
  @NonNull
  public SessionOptions threads(int count) {
    if (count < 1) {
      throw new ShapeException(
          Status.BAD_SHAPE, "threads must be at least 1, got " + count, "leave it out for up to 4");
    }
    threads = count;
    return this;
  }

  /**
   * Devices in order of preference: "cpu"; "opencl" or "opencl:1"; the path of a library with a
   * backend. "auto" uses a device only if it is faster.
   */
  @NonNull
  public SessionOptions backend(@NonNull String... names) {
    backends.clear();
    addAll(backends, names, "a backend");
    return this;
  }

  /** With "auto": wait for the device at creation, and time it before the CPU. */
  @NonNull
  public SessionOptions waitForBackend(boolean wait) {
    return flag(WAIT, wait);
  }

  /** Tensors that can be read with {@link Session#kept} after a run. */
  @NonNull
  public SessionOptions keep(@NonNull String... names) {
    keep.clear();
    addAll(keep, names, "a tensor to keep");
    return this;
  }

  /** Keep every tensor. */
  @NonNull
  public SessionOptions keepAll(boolean all) {
    return flag(KEEP_ALL, all);
  }

  /**
   * "default"; "strict" excludes transformed and reduced-precision algorithms; "bfloat16" lets
   * float32 products round to bfloat16 on CPUs with instructions for that; "float16" stores float32
   * as float16 on devices; "exact" gives the same bits on every CPU; "bounded" turns that off for a
   * model that was exported exact.
   */
  @NonNull
  public SessionOptions accuracy(@NonNull String word) {
    SamaraException.given(word, "the accuracy");
    flag(STRICT, word.equals("strict"));
    flag(BFLOAT16, word.equals("bfloat16"));
    flag(FLOAT16, word.equals("float16"));
    flag(EXACT, word.equals("exact"));
    flag(BOUNDED, word.equals("bounded"));
    int words = STRICT | BFLOAT16 | FLOAT16 | EXACT | BOUNDED;
    if (word.equals("default") || (flags & words) != 0) return this;
    throw new UnknownNameException(
        Status.NOT_FOUND,
        "there is no accuracy '" + word + "'",
        "there are default, strict, bfloat16, float16, exact, bounded");
  }

  /** Use only these instruction sets, e.g. "avx2" or "scalar"; those of the CPU by default. */
  @NonNull
  public SessionOptions isa(@Nullable String names) {
    isa = Words.c(names, "the instruction sets");
    return this;
  }

  /**
   * The content of a file of {@code samara tune}: the algorithm of every node, measured on this
   * CPU. A file for another model, CPU or version is ignored, with a message in the log.
   */
  @NonNull
  public SessionOptions tuned(@Nullable byte[] file) {
    tuned = file == null ? null : Arrays.copyOf(file, file.length + 1);
    return this;
  }

  /** The same, read from a file now. */
  @NonNull
  public SessionOptions tuned(@NonNull File file) {
    return tuned(Files.read(SamaraException.given(file, "the file")));
  }

  /** Time every node from the first run on ({@link Session#profile}). */
  @NonNull
  public SessionOptions profiling(boolean on) {
    return flag(PROFILE, on);
  }

  /** The most bytes of activations and scratch; 0: no limit. */
  @NonNull
  public SessionOptions maxArenaBytes(long bytes) {
    return limit(0, bytes, "the limit of bytes");
  }

  /** The most executions of nodes per run; 0: no limit. */
  @NonNull
  public SessionOptions maxSteps(long steps) {
    return limit(1, steps, "the limit of steps");
  }

  /** The most microseconds of a run, from its start; 0: no limit. */
  @NonNull
  public SessionOptions deadlineMicros(long micros) {
    return limit(2, micros, "the deadline");
  }

  private SessionOptions limit(int index, long value, String what) {
    if (value < 0) {
      throw new ShapeException(Status.BAD_SHAPE, what + " is " + value, "give 0 for none");
    }
    limits[index] = value;
    return this;
  }

  private SessionOptions flag(int flag, boolean on) {
    flags = on ? flags | flag : flags & ~flag;
    return this;
  }

  private static void addAll(List<byte[]> to, String[] names, String what) {
    for (String name : SamaraException.given(names, what)) {
      to.add(Words.c(SamaraException.given(name, what), what));
    }
  }

  @Nullable
  String function() {
    return function;
  }

  int threads() {
    return threads;
  }

  /** The text of the file for C, which reads it until the session is destroyed. */
  @Nullable
  ByteBuffer tunedText() {
    if (tuned == null) return null;
    ByteBuffer text = ByteBuffer.allocateDirect(tuned.length);
    text.put(tuned).flip();
    return text;
  }

  /** Creates the session in C, for a model and pool that the caller holds. */
  long create(long model, long pool, @NonNull String function, @Nullable ByteBuffer tunedText) {
    return create(model, pool, Words.c(function, "the function's name"), tunedText, flags);
  }

  /** Creates a text model in C, of the default function. */
  long createText(long model, long pool, @Nullable ByteBuffer tunedText) {
    int others = flags & (KEEP_ALL | WAIT | PROFILE);
    if (function != null || !keep.isEmpty() || !backends.isEmpty() || others != 0) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT,
          "a text model has no function, backend, kept tensors or profile to choose",
          "give it threads, isa, accuracy, limits and tuned alone");
    }
    return create(model, pool, null, tunedText, flags | TEXT);
  }

  private long create(
      long model, long pool, @Nullable byte[] name, @Nullable ByteBuffer tunedText, int given) {
    return Native.createSession(
        model,
        pool,
        name,
        isa,
        tunedText,
        keep.toArray(new byte[0][]),
        backends.toArray(new byte[0][]),
        limits,
        given);
  }
}
