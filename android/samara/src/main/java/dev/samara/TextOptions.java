// SPDX-License-Identifier: Apache-2.0
// How a text is made.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.List;

/**
 * Options of a text, with the names and the defaults of Python. Without any, each token is the
 * likeliest. The same options give the same text on every machine.
 *
 * <pre>{@code
 * new TextOptions().maxTokens(100).temperature(0.8).topP(0.9).seed(7).stop("\n\n")
 * }</pre>
 *
 * <p>Values out of range throw an {@link ArgumentException}.
 */
public final class TextOptions {
  private static final double MOST = 3.4e38; // of float32, as in Python
  private static final double LEAST = 1e-37; // what float32 would make 0 becomes this

  private int maxTokens = 256;
  private List<byte[]> stops = new ArrayList<>();
  @Nullable private int[] endTokens;
  private boolean ignoreEnd;
  private boolean addSpecialTokens = true;
  private boolean parseSpecial = true;
  private float temperature;
  private int topK;
  private float topP = 1;
  private float minP;
  private float repetitionPenalty = 1;
  private int repetitionWindow;
  private long seed;

  public TextOptions() {}

  /** The options now. */
  TextOptions(@NonNull TextOptions other) {
    maxTokens = other.maxTokens;
    stops = new ArrayList<>(other.stops);
    endTokens = other.endTokens;
    ignoreEnd = other.ignoreEnd;
    addSpecialTokens = other.addSpecialTokens;
    parseSpecial = other.parseSpecial;
    temperature = other.temperature;
    topK = other.topK;
    topP = other.topP;
    minP = other.minP;
    repetitionPenalty = other.repetitionPenalty;
    repetitionWindow = other.repetitionWindow;
    seed = other.seed;
  }

  /** The most tokens to make; the default is 256. */
  @NonNull
  public TextOptions maxTokens(int count) {
    maxTokens = whole("maxTokens", count, 1);
    return this;
  }

  /** Texts that end it. They are not part of it. */
  @NonNull
  public TextOptions stop(@NonNull String... texts) {
    List<byte[]> found = new ArrayList<>();
    for (String text : SamaraException.given(texts, "the stops")) {
      if (Words.utf8(text, "a stop").length == 0) {
        throw new ArgumentException(
            Status.BAD_ARGUMENT, "a stop is the empty text", "give texts that may occur");
      }
      found.add(Words.c(text, "a stop"));
    }
    stops = found;
    return this;
  }

  /** Tokens that end it, in place of the file's; null: those of the file. */
  @NonNull
  public TextOptions endTokens(@Nullable int... ids) {
    endTokens = ids == null ? null : ids.clone();
    return this;
  }

  /** Go on behind tokens that end a text. */
  @NonNull
  public TextOptions ignoreEnd(boolean ignore) {
    ignoreEnd = ignore;
    return this;
  }

  /**
   * Add the tokens that the file's post-processor adds to a prompt, such as the beginning of a text;
   * the default. Give false for text of a chat template, which writes them itself.
   */
  @NonNull
  public TextOptions addSpecialTokens(boolean add) {
    addSpecialTokens = add;
    return this;
  }

  /**
   * Special tokens in a prompt are tokens; the default. Give false where the prompt is text of a
   * stranger, which then cannot end a turn of a chat.
   */
  @NonNull
  public TextOptions parseSpecial(boolean parse) {
    parseSpecial = parse;
    return this;
  }

  /** Logits are divided by it. 0, the default: the likeliest token, without the steps below. */
  @NonNull
  public TextOptions temperature(double value) {
    temperature = above("temperature", value, MOST, true);
    return this;
  }

  /** Keep so many of the most likely tokens. 0, the default: all. */
  @NonNull
  public TextOptions topK(int count) {
    topK = whole("topK", count, 0);
    return this;
  }

  /** Keep the most likely tokens until their probabilities add up to this. 1, the default: all. */
  @NonNull
  public TextOptions topP(double share) {
    topP = above("topP", share, 1, false);
    return this;
  }

  /** Keep tokens with at least this share of the highest probability. 0, the default: all. */
  @NonNull
  public TextOptions minP(double share) {
    minP = above("minP", share, 1, true);
    return this;
  }

  /**
   * Logits of tokens that were there before are divided by it, those below 0 multiplied. 1, the
   * default: no penalty.
   */
  @NonNull
  public TextOptions repetitionPenalty(double value) {
    repetitionPenalty = above("repetitionPenalty", value, MOST, false);
    return this;
  }

  /** The penalty is for the last so many tokens. 0, the default: for all of the text. */
  @NonNull
  public TextOptions repetitionWindow(int count) {
    repetitionWindow = whole("repetitionWindow", count, 0);
    return this;
  }

  /** The seed of the random numbers: 64 bits, which Python takes as a number from 0 on. */
  @NonNull
  public TextOptions seed(long bits) {
    seed = bits;
    return this;
  }

  private static int whole(String name, int value, int least) {
    if (value >= least) return value;
    throw new ArgumentException(
        Status.BAD_ARGUMENT, name + " is " + value, "give a whole number of at least " + least);
  }

  private static float above(String name, double value, double most, boolean zero) {
    if ((zero ? value >= 0 : value > 0) && value <= most) {
      return value == 0 ? 0 : (float) Math.max(value, LEAST);
    }
    throw new ArgumentException(
        Status.BAD_ARGUMENT,
        name + " is " + value,
        "give a number " + (zero ? "of at least 0" : "above 0")
            + (most == 1 ? " and at most 1" : ""));
  }

  /** For the prompt. */
  int flags() {
    return TextFlags.encoding(addSpecialTokens, parseSpecial);
  }

  private long[] numbers() {
    return new long[] {topK, repetitionWindow, seed};
  }

  private float[] shares() {
    return new float[] {repetitionPenalty, temperature, topP, minP};
  }

  /** Creates a sampler in C. */
  long createSampler(int vocabSize) {
    return Native.createSampler(vocabSize, numbers(), shares());
  }

  /** Begins a text in C. */
  void begin(long model) {
    Native.beginText(
        model,
        maxTokens,
        numbers(),
        shares(),
        stops.toArray(new byte[0][]),
        ignoreEnd ? new int[0] : endTokens);
  }
}
