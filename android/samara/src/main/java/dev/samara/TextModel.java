// SPDX-License-Identifier: Apache-2.0
// Text by a language model.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/**
 * A language model with its tokenizer and one text in its cache: a file of {@code samara export
 * FOLDER}. One thread at a time: concurrent calls throw a {@link SamaraException} with {@link
 * Status#BAD_STATE}, except {@link #cancel} and {@link #close}.
 *
 * <pre>{@code
 * try (TextModel model = TextModel.fromFile("smollm2.samara")) {
 *   TextOptions options = new TextOptions().maxTokens(100).temperature(0.8).seed(7);
 *   GeneratedText made = model.generate("A maple's winged seed", options, part -> show(part));
 * }
 * }</pre>
 *
 * <p>A prompt that begins like the text in the cache runs only what differs, so the next turn of a
 * chat costs its own tokens. Prompts are text that a chat template has rendered already ({@link
 * #getChatTemplate}); texts with half of a surrogate pair throw an {@link ArgumentException}.
 */
public final class TextModel implements AutoCloseable {
  private static final String TEMPLATE = "text.chat_template";

  final TextHandle handle;
  private final Reaper reaper;
  private final Model model;
  private final AsyncRuns runs;
  private final long contextLength;
  @Nullable private Tokenizer tokenizer; // guarded by this
  @Nullable private TextRun going; // whose text the cache has; in the thread of the call

  /**
   * A text model of the model's file, with up to 4 threads. Throws {@link UnsupportedException} for
   * a model of another form, or if the library was built without the feature {@code text}.
   */
  public TextModel(@NonNull Model model) {
    this(model, new SessionOptions());
  }

  /**
   * The same with options: threads, instruction sets, accuracy, limits and tuned algorithms; others
   * throw an {@link ArgumentException}. Limits hold for each run in it: of a token, or of a chunk of
   * a prompt.
   */
  public TextModel(@NonNull Model model, @NonNull SessionOptions options) {
    this.model = SamaraException.given(model, "the model");
    SamaraException.given(options, "the options");
    long used = model.handle.use();
    Pool pool = null;
    try {
      pool = Pool.use(options.threads());
      ByteBuffer tuned = options.tunedText();
      long made = options.createText(used, pool.pointer, tuned);
      handle = new TextHandle(made, model.handle, pool, tuned);
    } catch (RuntimeException | Error failure) {
      if (pool != null) pool.release();
      model.handle.release();
      throw failure;
    }
    runs = new AsyncRuns(handle);
    reaper = Reaper.watch(this, handle::abandon);
    contextLength = handle.get(Native::textContext);
  }

  /** Opens a file, as {@link Model#fromFile(File)} does, and makes a text model of it. */
  @NonNull
  public static TextModel fromFile(@NonNull File file) {
    return fromFile(file, new SessionOptions());
  }

  @NonNull
  public static TextModel fromFile(@NonNull File file, @NonNull SessionOptions options) {
    try (Model opened = Model.fromFile(file)) {
      return new TextModel(opened, options);
    }
  }

  /** Opens a file, as {@link #fromFile(File)} does. */
  @NonNull
  public static TextModel fromFile(@NonNull String path) {
    return fromFile(new File(SamaraException.given(path, "the path")));
  }

  // ---- what it is ----

  /** The model; closed if it was opened by {@link #fromFile}. */
  @NonNull
  public Model getModel() {
    return model;
  }

  /**
   * The tokenizer of the file, which is closed with this. Throws {@link UnknownNameException} if
   * the file has none.
   */
  @NonNull
  public synchronized Tokenizer getTokenizer() {
    if (tokenizer == null) {
      if (handle.isClosed()) handle.call(object -> {}); // throws
      tokenizer = Tokenizer.sharing(handle.model);
    }
    return tokenizer;
  }

  /**
   * The chat template of the file, in Jinja, or null. The library has no Jinja: write the few lines
   * of the model's format in Java, and give the rendered text to {@link #generate} with {@link
   * TextOptions#addSpecialTokens} false.
   */
  @Nullable
  public String getChatTemplate() {
    return model.getMetadata().get(TEMPLATE);
  }

  /** The most tokens of a text; 0: any number, because every layer has a window. */
  public long getContextLength() {
    return contextLength;
  }

  /** The tokens of the text in the cache, and of what was made behind it. */
  @NonNull
  public int[] getTokens() {
    return handle.get(Native::textTokens);
  }

  /** All bytes that it holds beside the model's. Those of the cache are taken as it fills. */
  public long getTotalBytes() {
    return handle.get(Native::textTotalBytes);
  }

  // ---- tokens and logits ----

  /**
   * Makes the text exactly this, with the tokens that the tokenizer adds. Returns how many tokens at
   * its beginning were in the cache. Throws {@link LimitException} if the model takes fewer tokens.
   */
  public int put(@NonNull String prompt) {
    return put(prompt, true, true);
  }

  /** The same; the switches are those of {@link TextOptions}. */
  public int put(@NonNull String prompt, boolean addSpecialTokens, boolean parseSpecial) {
    return put(text(prompt, TextFlags.encoding(addSpecialTokens, parseSpecial)));
  }

  /** Makes the text exactly these tokens. */
  public int put(@NonNull int[] tokens) {
    return put(tokens(tokens));
  }

  private int put(LongUnaryOperator prompt) {
    return handle.get(
        object -> {
          going = null;
          return (int) prompt.applyAsLong(object);
        });
  }

  /** The logits of the token after the text, as many as there are tokens. */
  @NonNull
  public float[] logits() {
    return handle.get(Native::textLogits);
  }

  private static LongUnaryOperator text(String prompt, int flags) {
    byte[] utf8 = Words.utf8(prompt, "the prompt");
    return object -> Native.promptText(object, utf8, flags);
  }

  private static LongUnaryOperator tokens(int[] prompt) {
    int[] own = SamaraException.given(prompt, "the tokens").clone();
    return object -> Native.putText(object, own);
  }

  // ---- texts ----

  /** The text that follows a prompt. */
  @NonNull
  public GeneratedText generate(@NonNull String prompt) {
    return generate(prompt, new TextOptions());
  }

  @NonNull
  public GeneratedText generate(@NonNull String prompt, @NonNull TextOptions options) {
    return follow(prompt, options).whole();
  }

  /**
   * The same; {@code parts} is called with each part as it is certain: whole characters, and nothing
   * of a stop. It is called in this thread, and may call {@link #cancel} and {@link #close} of the
   * model only. If it throws, the text ends with that.
   */
  @NonNull
  public GeneratedText generate(
      @NonNull String prompt, @NonNull TextOptions options, @NonNull Consumer<String> parts) {
    SamaraException.given(parts, "what is called with the parts");
    return follow(prompt, options).whole(parts);
  }

  /** The text that follows tokens. */
  @NonNull
  public GeneratedText generate(@NonNull int[] prompt, @NonNull TextOptions options) {
    return follow(prompt, options).whole();
  }

  @NonNull
  public GeneratedText generate(
      @NonNull int[] prompt, @NonNull TextOptions options, @NonNull Consumer<String> parts) {
    SamaraException.given(parts, "what is called with the parts");
    return follow(prompt, options).whole(parts);
  }

  /** The parts of the text that follows a prompt, on demand. */
  @NonNull
  public TextRun follow(@NonNull String prompt, @NonNull TextOptions options) {
    TextOptions own = new TextOptions(SamaraException.given(options, "the options"));
    return new TextRun(this, text(prompt, own.flags()), own);
  }

  /** The parts of the text that follows tokens, on demand. */
  @NonNull
  public TextRun follow(@NonNull int[] prompt, @NonNull TextOptions options) {
    TextOptions own = new TextOptions(SamaraException.given(options, "the options"));
    return new TextRun(this, tokens(prompt), own);
  }

  /**
   * Begins a {@link #generate(String, TextOptions, Consumer)} in the executor. Texts execute in the
   * order of the calls. Cancelling the future removes a text that has not begun, and asks one that
   * is being made to stop; the model is free once it has. parts: called in the executor's thread, or
   * null.
   */
  @NonNull
  public CompletableFuture<GeneratedText> generateAsync(
      @NonNull String prompt,
      @NonNull TextOptions options,
      @Nullable Consumer<String> parts,
      @NonNull Executor executor) {
    TextRun run = follow(prompt, options);
    return runs.begin(executor, () -> run.whole(parts));
  }

  /**
   * Asks the call of another thread to stop, with a CancelledException there. The call can be
   * repeated and gives the same text; what has run stays in the cache.
   */
  public void cancel() {
    handle.stop();
  }

  /** In a call: the cache has the text of this run, or, for null, of none. */
  void going(@Nullable TextRun run) {
    going = run;
  }

  void checkGoing(@NonNull TextRun run) {
    if (going == run) return;
    throw new SamaraException(
        Status.BAD_STATE,
        "the model has begun another text since",
        "use a model for each text");
  }

  // ---- files ----

  /**
   * Writes the tokens that have run and the cache to a file, which {@link #load} of the same model
   * reads, atomically: it is written under another name, and renamed.
   */
  public void save(@NonNull File file) {
    SamaraException.given(file, "the file");
    handle.call(object -> Files.replace(file, out -> Native.saveText(object, out)));
  }

  /**
   * Makes the text that of a file. If it throws, the text is as before, or empty if the file
   * contradicts itself: {@link ModelFormatException} for a damaged file, {@link ShapeException} for
   * one of another model.
   */
  public void load(@NonNull File file) {
    SamaraException.given(file, "the file");
    handle.call(object -> load(object, file));
  }

  private void load(long object, File file) {
    try (RandomAccessFile from = new RandomAccessFile(file, "r")) {
      going = null;
      Native.loadText(object, from, from.length());
    } catch (IOException failure) {
      throw Files.failed(file, "cannot be read", failure);
    }
  }

  /**
   * Releases the memory. Any thread, never throws: a current call is cancelled, and the memory is
   * released when it has ended. May be called twice.
   */
  @Override
  public void close() {
    reaper.dismiss();
    handle.close();
    Tokenizer opened;
    synchronized (this) {
      opened = tokenizer;
    }
    if (opened != null) opened.close();
  }

  @NonNull
  @Override
  public String toString() {
    String closed = handle.isClosed() ? ", closed" : "";
    return "TextModel(" + model.getFunction(null) + closed + ")";
  }
}
