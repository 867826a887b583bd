// SPDX-License-Identifier: Apache-2.0
// Running a model.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Runs one function of a model. Holds the activations and the state. One thread at a time: a call while
 * another thread is in one throws a {@link SamaraException} with {@link Status#BAD_STATE}, but for
 * {@link #cancel} and {@link #close}.
 *
 * <p>{@code setInput}, {@code run()} and {@code getOutput} into an array make no garbage.
 */
public final class Session implements AutoCloseable {
  final SessionHandle handle;
  private final Reaper reaper;
  private final Model model;
  private final FunctionInfo function;
  private final AsyncRuns runs;

  /** A session of the model's default function. */
  public Session(@NonNull Model model) {
    this(model, new SessionOptions());
  }

  public Session(@NonNull Model model, @NonNull SessionOptions options) {
    this.model = SamaraException.given(model, "the model");
    SamaraException.given(options, "the options");
    this.function = model.getFunction(options.function());
    long used = model.handle.use();
    Pool pool = null;
    try {
      pool = Pool.use(options.threads());
      long made = options.create(used, pool.pointer, function.getName());
      handle = new SessionHandle(made, model.handle, pool);
    } catch (RuntimeException | Error failure) {
      if (pool != null) pool.release();
      model.handle.release();
      throw failure;
    }
    runs = new AsyncRuns(handle);
    // The machine may collect a session whose last call is going on.
    reaper = Reaper.watch(this, handle::abandon);
  }

  @NonNull
  public Model getModel() {
    return model;
  }

  /** The function that it runs, with its inputs and outputs. */
  @NonNull
  public FunctionInfo getFunction() {
    return function;
  }

  // ---- shapes ----

  /** Sets the shape of one input. On failure the session keeps its former shapes. */
  public void resize(@NonNull String input, @NonNull long... shape) {
    resize(java.util.Collections.singletonMap(input, shape));
  }

  /** Sets input shapes by name; those that are not named stay. */
  public void resize(@NonNull Map<String, long[]> shapes) {
    long session = handle.enter();
    try {
      Feeds.resize(session, function.getInputs(), shapes);
    } finally {
      handle.leave();
    }
  }

  /** The shape of an input as it is now; as the file declares it while not all have one. */
  @NonNull
  public long[] getInputShape(@NonNull String name) {
    int index = input(name);
    long session = handle.enter();
    try {
      return Feeds.inputShape(session, index, function.getInputs().get(index));
    } finally {
      handle.leave();
    }
  }

  /** The shape of an output under the input shapes of now; -1 where a dim depends on data. */
  @NonNull
  public long[] getOutputShape(@NonNull String name) {
    int index = output(name);
    long session = handle.enter();
    try {
      return Feeds.outputShape(session, index);
    } finally {
      handle.leave();
    }
  }

  // ---- runs by names ----

  /**
   * Runs on inputs by name and returns all outputs. A value is a {@link Tensor}, which brings its shape;
   * an array or direct buffer of the input's current shape; or an {@link Image}.
   */
  @NonNull
  public Map<String, Tensor> run(@NonNull Map<String, ?> inputs) {
    long session = handle.enter();
    try {
      Feeds.set(session, function.getInputs(), inputs);
      Native.run(session);
      return Feeds.outputs(session, function.getOutputs());
    } finally {
      handle.leave();
    }
  }

  /**
   * Begins a run in the executor. Runs of a session follow each other in the order of the calls. What
   * {@code inputs} hold must stay as it is until then. Cancelling the future takes a run back that has
   * not begun, and asks one that is going on to stop; the session is free when it has.
   */
  @NonNull
  public CompletableFuture<Map<String, Tensor>> runAsync(
      @NonNull Map<String, ?> inputs, @NonNull Executor executor) {
    SamaraException.given(inputs, "the inputs");
    return runs.begin(executor, () -> run(inputs));
  }

  /** Begins a {@link #run()} on what was set, in the executor. */
  @NonNull
  public CompletableFuture<Void> runAsync(@NonNull Executor executor) {
    return runs.begin(
        executor,
        () -> {
          run();
          return null;
        });
  }

  /** Asks a run that is going on in another thread to stop, with a CancelledException there. */
  public void cancel() {
    handle.cancel();
  }

  // ---- runs without garbage ----

  /**
   * Copies a value into an input, which keeps it until another one is set: an array of as many elements
   * as the input has, float[] for float32, byte[] for int8 and so on ({@link DType}); what a direct
   * buffer holds between position and limit, byte for byte, in the machine's order; or a Tensor.
   */
  public void setInput(int index, @NonNull Object value) {
    set(index, value);
  }

  /** The same by name. */
  public void setInput(@NonNull String name, @NonNull Object value) {
    set(input(name), value);
  }

  private void set(int index, Object value) {
    SamaraException.given(value, "the input");
    long session = handle.enter();
    try {
      Feeds.set(session, index, value);
    } finally {
      handle.leave();
    }
  }

  /** Has the first input that takes a picture be this one. */
  public void setImage(@NonNull Image image) {
    SamaraException.given(image, "the picture");
    setImage(Feeds.image(function.getInputs()), image);
  }

  /** Has an input be a picture, by the record of the file. */
  public void setImage(@NonNull String input, @NonNull Image image) {
    setImage(input(input), image);
  }

  private void setImage(int index, Image image) {
    SamaraException.given(image, "the picture");
    long session = handle.enter();
    try {
      image.set(session, index);
    } finally {
      handle.leave();
    }
  }

  /** Runs on the inputs that were set. Inputs keep their values between runs. */
  public void run() {
    long session = handle.enter();
    try {
      Native.run(session);
    } finally {
      handle.leave();
    }
  }

  /**
   * Copies an output of the last run into an array, or into a direct buffer from its position to its
   * limit (neither changes): of its type and size.
   */
  public void getOutput(int index, @NonNull Object to) {
    get(index, to);
  }

  /** The same by name. */
  public void getOutput(@NonNull String name, @NonNull Object to) {
    get(output(name), to);
  }

  private void get(int index, Object value) {
    SamaraException.given(value, "where the output goes");
    long session = handle.enter();
    try {
      Feeds.get(session, index, value);
    } finally {
      handle.leave();
    }
  }

  /** An output of the last run in an array of its own. */
  @NonNull
  public Tensor getOutput(@NonNull String name) {
    int index = output(name);
    long session = handle.enter();
    try {
      return Feeds.output(session, index, function.getOutputs().get(index));
    } finally {
      handle.leave();
    }
  }

  private int input(String name) {
    return Words.index(function.getInputs(), name, "input");
  }

  private int output(String name) {
    return Words.index(function.getOutputs(), name, "output");
  }

  // ---- sound ----

  /**
   * Takes samples, from the position of {@code audio} on, up to the next tensor of the input that takes
   * sound. True where that has one: run, then call again. False when all was taken.
   */
  public boolean pushAudio(@NonNull Audio audio) {
    SamaraException.given(audio, "the sound");
    int index = Feeds.audio(function.getInputs());
    long session = handle.enter();
    try {
      return audio.push(session, index);
    } finally {
      handle.leave();
    }
  }

  /** Ends the recording. True while the input has a tensor still: run, then call again. */
  public boolean endAudio() {
    int index = Feeds.audio(function.getInputs());
    long session = handle.enter();
    try {
      return Native.endAudio(session, index);
    } finally {
      handle.leave();
    }
  }

  /**
   * Runs on each tensor that {@code audio} fills, and calls {@code heard} after each run. end: whether
   * the recording ends here; else what does not fill a tensor is kept for the next call.
   */
  public void listen(@NonNull Audio audio, boolean end, @NonNull Runnable heard) {
    SamaraException.given(heard, "what is called after a run");
    while (pushAudio(audio)) {
      run();
      heard.run();
    }
    while (end && endAudio()) {
      run();
      heard.run();
    }
  }

  // ---- answers ----

  /**
   * Runs on the inputs that were set and returns what the outputs mean, by the record of the file: a
   * {@link Classification}, {@link Detections}, a {@link Mask} or {@link Keypoints}.
   */
  @NonNull
  public Answer predict() {
    long session = handle.enter();
    try {
      Native.run(session);
      return Answers.read(Native.answer(session), model.getLabels());
    } finally {
      handle.leave();
    }
  }

  /** The same of a picture, in whose pixels boxes, masks and points are. */
  @NonNull
  public Answer predict(@NonNull Image image) {
    SamaraException.given(image, "the picture");
    int index = Feeds.image(function.getInputs());
    long session = handle.enter();
    try {
      image.set(session, index);
      Native.run(session);
      return Answers.read(Native.answer(session), model.getLabels());
    } finally {
      handle.leave();
    }
  }

  // ---- state ----

  /** All variables of the session as a safetensors file, which {@code samara.load} of Python reads. */
  @NonNull
  public byte[] saveState() {
    long session = handle.enter();
    try {
      return Native.saveState(session);
    } finally {
      handle.leave();
    }
  }

  /** The same into a file, whole or not at all: it is written under another name, and renamed. */
  public void saveState(@NonNull File file) {
    Files.replace(SamaraException.given(file, "the file"), saveState());
  }

  /** Sets all variables from such a file, or none where it throws. */
  public void loadState(@NonNull byte[] bytes) {
    SamaraException.given(bytes, "the bytes of the state");
    long session = handle.enter();
    try {
      Native.loadState(session, bytes);
    } finally {
      handle.leave();
    }
  }

  public void loadState(@NonNull File file) {
    loadState(Files.read(SamaraException.given(file, "the file")));
  }

  /** Sets all variables to the file's initial values. */
  public void resetState() {
    long session = handle.enter();
    try {
      Native.resetState(session);
    } finally {
      handle.leave();
    }
  }

  // ---- looking inside ----

  /** A tensor of the last run that {@link SessionOptions#keep} named. */
  @NonNull
  public Tensor kept(@NonNull String name) {
    byte[] text = Words.c(SamaraException.given(name, "the name of the tensor"), "the name");
    long session = handle.enter();
    try {
      return Feeds.kept(Native.kept(session, text));
    } finally {
      handle.leave();
    }
  }

  /** Times every node of the following runs. */
  public void setProfiling(boolean on) {
    long session = handle.enter();
    try {
      Native.setProfiling(session, on);
    } finally {
      handle.leave();
    }
  }

  /** What each node of the last run took; it must have been timed. */
  @NonNull
  public List<ProfileRow> profile() {
    long session = handle.enter();
    try {
      return ProfileRow.read(Native.profile(session));
    } finally {
      handle.leave();
    }
  }

  /** The same as Chrome trace events, in JSON. */
  @NonNull
  public String trace() {
    long session = handle.enter();
    try {
      return Words.of(Native.trace(session));
    } finally {
      handle.leave();
    }
  }

  /** Writes {@link #trace()} to a file, for ui.perfetto.dev or chrome://tracing. */
  public void trace(@NonNull File file) {
    SamaraException.given(file, "the file");
    Files.replace(file, trace().getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  /**
   * Gives back the memory. Any thread, never throws: a run that is going on is cancelled, and the memory
   * is given back when it has ended. Twice is harmless.
   */
  @Override
  public void close() {
    reaper.dismiss();
    handle.close();
  }

  @NonNull
  @Override
  public String toString() {
    return "Session(" + function + (handle.isClosed() ? ", closed" : "") + ")";
  }
}
