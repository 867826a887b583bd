// SPDX-License-Identifier: Apache-2.0
// A text while it is made.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/**
 * The parts of a text that a {@link TextModel} makes, on demand: whole characters, and nothing that
 * may begin a stop. Can be iterated once, by one thread at a time. Leaving the loop early keeps the
 * text so far in the cache; another text may then begin.
 *
 * <p>After a {@link CancelledException} the iteration can go on.
 */
public final class TextRun implements Iterable<String>, Iterator<String> {
  private final TextModel model;
  private final LongUnaryOperator prompt;
  private final TextOptions options;
  private final int[] tokenAndEnd = new int[2];
  private int[] tokens = new int[16];
  private int count;
  private boolean begun;
  private int promptTokens;
  private int reusedTokens;
  @Nullable private TextEnd end;
  @Nullable private String part;

  /** prompt: makes the model's text that of the prompt, as Native.promptText. */
  TextRun(TextModel model, LongUnaryOperator prompt, TextOptions options) {
    this.model = model;
    this.prompt = prompt;
    this.options = options;
  }

  /** The tokens that were made so far. */
  @NonNull
  public int[] getTokens() {
    return Arrays.copyOf(tokens, count);
  }

  /** Why the text ended; null while it goes on. */
  @Nullable
  public TextEnd getEnd() {
    return end;
  }

  /** The tokens of the prompt; 0 before the first part. */
  public int getPromptTokens() {
    return promptTokens;
  }

  /** How many of them were in the cache. */
  public int getReusedTokens() {
    return reusedTokens;
  }

  /** All that is still to come, at once. */
  @NonNull
  public GeneratedText whole() {
    return whole(null);
  }

  @NonNull
  GeneratedText whole(@Nullable Consumer<String> parts) {
    StringBuilder text = new StringBuilder();
    model.handle.call(
        object -> {
          while (advances(object)) {
            String next = take();
            text.append(next);
            if (parts != null) parts.accept(next);
          }
        });
    return new GeneratedText(text.toString(), getTokens(), end, promptTokens, reusedTokens);
  }

  /** The same object: it can be iterated once. */
  @NonNull
  @Override
  public Iterator<String> iterator() {
    return this;
  }

  @Override
  public boolean hasNext() {
    if (part == null && end == null) model.handle.call(this::advances);
    return part != null;
  }

  @Override
  public String next() {
    if (!hasNext()) throw new NoSuchElementException("the text has ended");
    return take();
  }

  private String take() {
    String taken = part;
    part = null;
    return taken;
  }

  /** Makes the next part, in a call of the model; returns false if there is none. */
  private boolean advances(long object) {
    while (part == null && end == null) {
      if (!begun) begin(object);
      model.handle.check();
      model.checkGoing(this);
      step(object);
    }
    return part != null;
  }

  private void begin(long object) {
    model.going(null);
    long put = prompt.applyAsLong(object);
    promptTokens = (int) (put >>> 32);
    reusedTokens = (int) put;
    options.begin(object);
    model.going(this);
    begun = true;
  }

  private void step(long object) {
    byte[] made = Native.stepText(object, tokenAndEnd);
    if (tokenAndEnd[0] >= 0) {
      if (count == tokens.length) tokens = Arrays.copyOf(tokens, 2 * count);
      tokens[count++] = tokenAndEnd[0];
    }
    if (tokenAndEnd[1] > 0) end = TextEnd.values()[tokenAndEnd[1] - 1];
    if (made != null) part = Words.of(made);
  }

  @NonNull
  @Override
  public String toString() {
    return "TextRun(" + count + " tokens, " + (end == null ? "going on" : Words.lower(end)) + ")";
  }
}
