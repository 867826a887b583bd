// SPDX-License-Identifier: Apache-2.0
// Running a model.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Runs one function of a model. Holds the activations and the state. One thread at a time:
 * concurrent calls throw a {@link SamaraException} with {@link Status#BAD_STATE}, except {@link
 * #cancel} and {@link #close}.
 *
 * <p>{@code setInput}, {@code run()} and {@code getOutput} into an array do not allocate.
 */
public final class Session implements AutoCloseable {
  final SessionHandle handle;
  private final Reaper reaper;
  private final Model model;
  private final FunctionInfo function;
  private final AsyncRuns runs;
  private final Sound sound = new Sound(this);

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
      ByteBuffer tuned = options.tunedText();
      long made = options.create(used, pool.pointer, function.getName(), tuned);
      handle = new SessionHandle(made, model.handle, pool, function, tuned);
    } catch (RuntimeException | Error failure) {
      if (pool != null) pool.release();
      model.handle.release();
      throw failure;
    }
    runs = new AsyncRuns(handle);
    // The garbage collector may collect a session during its last call.
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

  /** Sets the shape of one input. On failure the session keeps its previous shapes. */
  public void resize(@NonNull String input, @NonNull long... shape) {
    resize(java.util.Collections.singletonMap(input, shape));
  }

  /** Sets input shapes by name; others are unchanged. */
  public void resize(@NonNull Map<String, long[]> shapes) {
    handle.call(session -> Feeds.resize(session, function.getInputs(), shapes));
  }

  /** The current shape of an input; the declared one until all inputs have a shape. */
  @NonNull
  public long[] getInputShape(@NonNull String name) {
    int index = input(name);
    TensorInfo info = function.getInputs().get(index);
    return handle.get(session -> Feeds.inputShape(session, index, info));
  }

  /** The shape of an output for the current input shapes; -1 if a dim depends on data. */
  @NonNull
  public long[] getOutputShape(@NonNull String name) {
    int index = output(name);
    return handle.get(session -> Feeds.outputShape(session, index));
  }

  // ---- runs by names ----

  /**
   * Runs on inputs by name and returns all outputs. A value is a {@link Tensor} with its shape, an
   * array or direct buffer of the input's current shape, or an {@link Image}.
   */
  @NonNull
  public Map<String, Tensor> run(@NonNull Map<String, ?> inputs) {
    return handle.get(
        session -> {
          Feeds.set(session, function.getInputs(), inputs);
          Native.run(session);
          return Feeds.outputs(session, function.getOutputs());
        });
  }

  /**
   * Begins a run in the executor. Runs of a session execute in the order of the calls. The values
   * of {@code inputs} must not change until the run ends. Cancelling the future removes a run that
   * has not begun, and asks a running one to stop; the session is free once it has.
   */
  @NonNull
  public CompletableFuture<Map<String, Tensor>> runAsync(
      @NonNull Map<String, ?> inputs, @NonNull Executor executor) {
    SamaraException.given(inputs, "the inputs");
    return runs.begin(executor, () -> run(inputs));
  }

  /** Begins a {@link #run()} on the current inputs, in the executor. */
  @NonNull
  public CompletableFuture<Void> runAsync(@NonNull Executor executor) {
    return runs.begin(
        executor,
        () -> {
          run();
          return null;
        });
  }

  /** Asks a run in another thread to stop, with a CancelledException there. */
  public void cancel() {
    handle.cancel();
  }

  // ---- runs without garbage ----

  /**
   * Copies a value into an input, which keeps it until another one is set: an array with as many
   * elements as the input (float[] for float32, byte[] for int8, see {@link DType}); the bytes of a
   * direct buffer from position to limit, in native order; or a Tensor.
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
      Feeds.set(session, function.getInputs(), index, value);
    } finally {
      handle.leave();
    }
  }

  /** Sets the first input with an image record to this picture. */
  public void setImage(@NonNull Image image) {
    SamaraException.given(image, "the picture");
    setImage(Feeds.image(function.getInputs()), image);
  }

  /** Sets an input to a picture, by the record of the file. */
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
      Feeds.get(session, function.getOutputs(), index, value);
    } finally {
      handle.leave();
    }
  }

  /** An output of the last run in an array of its own. */
  @NonNull
  public Tensor getOutput(@NonNull String name) {
    int index = output(name);
    TensorInfo info = function.getOutputs().get(index);
    return handle.get(session -> Feeds.output(session, index, info));
  }

  // ---- memory of the caller ----

  /**
   * Has all following runs read an input where it lies: in a direct buffer, between its position and
   * limit now. Until it is set, or the session resized. Memory aligned to the input's elements is not
   * copied. The session keeps the buffer; a buffer without Java's memory, such as that of a frame, must
   * stay valid itself.
   */
  public void bindInput(@NonNull String name, @NonNull Buffer buffer) {
    int index = input(name);
    SamaraException.given(buffer, "the buffer");
    handle.call(
        session -> {
          Feeds.bindInput(session, function.getInputs(), index, buffer);
          handle.bindInput(index, buffer);
        });
  }

  /**
   * Has all following runs compute an output directly into a direct buffer, between its current
   * position and limit, until another buffer or null is bound, or the session is resized. The
   * memory must be aligned to the output's elements; 64 bytes are fastest. Its content is undefined
   * after a failed run.
   */
  public void bindOutput(@NonNull String name, @Nullable Buffer buffer) {
    int index = output(name);
    handle.call(
        session -> {
          Feeds.bindOutput(session, function.getOutputs(), index, buffer);
          handle.bindOutput(index, buffer);
        });
  }

  private int input(String name) {
    return Words.index(function.getInputs(), name, "input");
  }

  private int output(String name) {
    return Words.index(function.getOutputs(), name, "output");
  }

  // ---- sound ----

  /**
   * Reads samples from the position of {@code audio} on, until the input with an audio record has
   * its next tensor. Returns true if it has one: run, then call again. Returns false if all samples
   * were read.
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

  /** Ends the recording. While it returns true, the input has another tensor: run, then call
   * again. */
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
   * Runs on each tensor that {@code audio} fills, and calls {@code heard} after each run. end:
   * whether the recording ends here; else samples that do not fill a tensor are kept for the next
   * call. If {@code heard} throws, the remaining samples are dropped, and the next call begins a
   * new recording.
   */
  public void listen(@NonNull Audio audio, boolean end, @NonNull Runnable heard) {
    SamaraException.given(heard, "what is called after a run");
    sound.listen(SamaraException.given(audio, "the sound"), end, heard);
  }

  /** The outputs of a run on each tensor that {@code audio} fills; end: whether the recording ends. */
  @NonNull
  public Listening<Map<String, Tensor>> listen(@NonNull Audio audio, boolean end) {
    SamaraException.given(audio, "the sound");
    return new Listening<>(sound, audio, end, this::outputs);
  }

  /** The answers of these runs. */
  @NonNull
  public Listening<Answer> predictEach(@NonNull Audio audio, boolean end) {
    SamaraException.given(audio, "the sound");
    return new Listening<>(sound, audio, end, this::predict);
  }

  private Map<String, Tensor> outputs() {
    return handle.get(
        session -> {
          Native.run(session);
          return Feeds.outputs(session, function.getOutputs());
        });
  }

  // ---- answers ----

  /**
   * Runs on the current inputs and returns the answer by the record of the file: a {@link
   * Classification}, {@link Detections}, a {@link Mask} or {@link Keypoints}.
   */
  @NonNull
  public Answer predict() {
    return handle.get(this::answer);
  }

  /** The same for a picture; boxes, masks and points are in its pixels. */
  @NonNull
  public Answer predict(@NonNull Image image) {
    SamaraException.given(image, "the picture");
    int index = Feeds.image(function.getInputs());
    return handle.get(
        session -> {
          image.set(session, index);
          return answer(session);
        });
  }

  /** The same for all inputs by name, as in {@link #run(Map)}. */
  @NonNull
  public Answer predict(@NonNull Map<String, ?> inputs) {
    return handle.get(
        session -> {
          Feeds.set(session, function.getInputs(), inputs);
          return answer(session);
        });
  }

  private Answer answer(long session) {
    Native.run(session);
    return Answers.read(Native.answer(session), model.getLabels());
  }

  /** Begins a {@link #predict(Image)} in the executor, as {@link #runAsync(Map, Executor)} does. */
  @NonNull
  public CompletableFuture<Answer> predictAsync(@NonNull Image image, @NonNull Executor executor) {
    SamaraException.given(image, "the picture");
    return runs.begin(executor, () -> predict(image));
  }

  /** Begins a {@link #predict(Map)} in the executor. */
  @NonNull
  public CompletableFuture<Answer> predictAsync(
      @NonNull Map<String, ?> inputs, @NonNull Executor executor) {
    SamaraException.given(inputs, "the inputs");
    return runs.begin(executor, () -> predict(inputs));
  }

  /** Begins a {@link #predict()} on the current inputs, in the executor. */
  @NonNull
  public CompletableFuture<Answer> predictAsync(@NonNull Executor executor) {
    return runs.begin(executor, () -> predict());
  }

  // ---- state ----

  /** The variables of the session. */
  @NonNull
  public State getState() {
    return new State(handle);
  }

  /** Sets all variables to the file's initial values. */
  public void reset() {
    handle.call(Native::resetState);
  }

  // ---- looking inside ----

  /** A tensor of the last run that is listed in {@link SessionOptions#keep}. */
  @NonNull
  public Tensor kept(@NonNull String name) {
    byte[] text = Words.c(SamaraException.given(name, "the name of the tensor"), "the name");
    return Feeds.tensor(handle.get(session -> Native.kept(session, text)));
  }

  /** Times every node of the following runs. */
  public void setProfiling(boolean on) {
    handle.call(session -> Native.setProfiling(session, on));
  }

  /** The time of each node of the last run, which must have been timed. */
  @NonNull
  public List<ProfileRow> profile() {
    return ProfileRow.read(handle.get(Native::profile));
  }

  /** The same as Chrome trace events, in JSON. */
  @NonNull
  public String trace() {
    return Words.of(handle.get(Native::trace));
  }

  /** Writes {@link #trace()} to a file, for ui.perfetto.dev or chrome://tracing. */
  public void trace(@NonNull File file) {
    SamaraException.given(file, "the file");
    Files.replace(file, trace().getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  /** Bytes of activations and scratch that the session holds now. */
  public long getArenaBytes() {
    return handle.get(Native::arenaBytes);
  }

  /** All bytes that the session holds, including the arena. */
  public long getTotalBytes() {
    return handle.get(Native::totalBytes);
  }

  /** Where every node runs, and why. */
  @NonNull
  public List<PlacementRow> placement() {
    return PlacementRow.read(handle.get(Native::placement));
  }

  /** Counters of the session's devices, and why the CPU took over, if it did. */
  @NonNull
  public BackendReport backendReport() {
    return new BackendReport(handle.get(Native::backendReport));
  }

  /**
   * Releases the memory. Any thread, never throws: a current run is cancelled, and the memory is
   * released when it has ended. May be called twice.
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
