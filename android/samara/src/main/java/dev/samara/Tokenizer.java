// SPDX-License-Identifier: Apache-2.0
// Text to token ids, and back.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.function.LongFunction;

/**
 * The tokenizer in a model's file: the ids that Python's {@code samara.Tokenizer} gives. Immutable,
 * shared by any number of threads.
 *
 * <pre>{@code
 * try (Tokenizer tokenizer = new Tokenizer(model)) {
 *   int[] ids = tokenizer.encode("A maple's winged seed");
 *   String text = tokenizer.decode(ids);
 * }
 * }</pre>
 *
 * <p>Texts with half of a surrogate pair throw an {@link ArgumentException}.
 */
public final class Tokenizer implements AutoCloseable {
  private final TokenizerHandle handle;
  private final Reaper reaper;
  private final int vocabSize;

  /**
   * Opens the tokenizer of the model's file, which is read where it lies. Throws {@link
   * UnknownNameException} if the file has none. The model may be closed afterwards.
   */
  public Tokenizer(@NonNull Model model) {
    this(SamaraException.given(model, "the model").handle, model.handle.use());
  }

  /** Takes one use of the model. */
  private Tokenizer(ModelHandle model, long used) {
    try {
      handle = new TokenizerHandle(Native.openTokenizer(used), model);
    } catch (RuntimeException | Error failure) {
      model.release();
      throw failure;
    }
    vocabSize = get(Native::vocabulary);
    reaper = Reaper.watch(this, handle::close);
  }

  /** The tokenizer of a model that something still uses, although it may be closed. */
  @NonNull
  static Tokenizer sharing(@NonNull ModelHandle model) {
    return new Tokenizer(model, model.share());
  }

  /** All ids are below this number; some may have no token. */
  public int getVocabSize() {
    return vocabSize;
  }

  /** The ids of a text, with those that the file's post-processor adds; special tokens are parsed. */
  @NonNull
  public int[] encode(@NonNull String text) {
    return encode(text, true, true);
  }

  /**
   * The ids of a text. addSpecialTokens: with those that the file's post-processor adds, such as the
   * beginning of a text. parseSpecial: special tokens in the text become their ids; false treats
   * them as text, as text of strangers should be. Throws {@link SamaraException} with {@link
   * Status#BAD_DATA} if the tokenizer has no token for a character.
   */
  @NonNull
  public int[] encode(@NonNull String text, boolean addSpecialTokens, boolean parseSpecial) {
    byte[] utf8 = Words.utf8(text, "the text");
    int flags = TextFlags.encoding(addSpecialTokens, parseSpecial);
    return get(tokenizer -> Native.encode(tokenizer, utf8, flags));
  }

  /** The text of ids, without special tokens. */
  @NonNull
  public String decode(@NonNull int[] ids) {
    return decode(ids, true);
  }

  /** The text of ids. Ids without a token are left out, bytes that are no UTF-8 become U+FFFD. */
  @NonNull
  public String decode(@NonNull int[] ids, boolean skipSpecialTokens) {
    SamaraException.given(ids, "the ids");
    int flags = TextFlags.decoding(skipSpecialTokens);
    return Words.of(get(tokenizer -> Native.decode(tokenizer, ids, flags)));
  }

  /** The text behind the file's normalizer. */
  @NonNull
  public String normalize(@NonNull String text) {
    byte[] utf8 = Words.utf8(text, "the text");
    return Words.of(get(tokenizer -> Native.normalize(tokenizer, utf8)));
  }

  /** The id of a token as the file spells it; -1 if there is none. */
  public int tokenToId(@NonNull String token) {
    byte[] utf8 = Words.utf8(token, "the token");
    return get(tokenizer -> Native.tokenId(tokenizer, utf8));
  }

  /** The token of an id as the file spells it; null if it has none. */
  @Nullable
  public String idToToken(int id) {
    byte[] token = get(tokenizer -> Native.token(tokenizer, id));
    return token == null ? null : Words.of(token);
  }

  /** Begins a text that comes one token at a time, without special tokens. */
  @NonNull
  public TextStream stream() {
    return stream(true);
  }

  /** Begins a text that comes one token at a time. */
  @NonNull
  public TextStream stream(boolean skipSpecialTokens) {
    return new TextStream(handle, TextFlags.decoding(skipSpecialTokens));
  }

  private <T> T get(LongFunction<T> work) {
    long tokenizer = handle.use();
    try {
      return work.apply(tokenizer);
    } finally {
      handle.release();
    }
  }

  /** Releases the memory once calls and streams have ended. Any thread; may be called twice. */
  @Override
  public void close() {
    reaper.dismiss();
    handle.close();
  }

  @NonNull
  @Override
  public String toString() {
    return "Tokenizer(" + vocabSize + " ids" + (handle.isClosed() ? ", closed" : "") + ")";
  }
}
