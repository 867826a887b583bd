// SPDX-License-Identifier: Apache-2.0
// Logits to tokens.
package dev.samara;

import androidx.annotation.NonNull;

/**
 * Chooses tokens by logits, for those who change the logits of a {@link TextModel} themselves: the
 * same options, logits and calls give the same tokens on every machine. One thread at a time.
 *
 * <pre>{@code
 * try (Sampler sampler = new Sampler(260, new TextOptions().temperature(0.7).seed(1))) {
 *   sampler.accept(model.getTokens()); // for the penalty
 *   int token = sampler.next(model.logits());
 * }
 * }</pre>
 */
public final class Sampler implements AutoCloseable {
  private final SamplerHandle handle;
  private final Reaper reaper;
  private final int vocabSize;

  /**
   * A sampler for so many logits. Of the options it takes temperature, topK, topP, minP,
   * repetitionPenalty, repetitionWindow and seed. Throws {@link UnsupportedException} if the library
   * was built without the feature {@code text}.
   */
  public Sampler(int vocabSize, @NonNull TextOptions options) {
    SamaraException.given(options, "the options");
    if (vocabSize < 1) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT, "vocabSize is " + vocabSize, "give the number of logits");
    }
    Native.check();
    this.vocabSize = vocabSize;
    handle = new SamplerHandle(options.createSampler(vocabSize));
    reaper = Reaper.watch(this, handle::abandon);
  }

  /** How many logits {@link #next} takes. */
  public int getVocabSize() {
    return vocabSize;
  }

  /**
   * The token for these logits, which is then remembered for the penalty. Throws {@link
   * SamaraException} with {@link Status#BAD_DATA} if a logit is NaN or infinity, or all are
   * -infinity; the sampler is then as before.
   */
  public int next(@NonNull float[] logits) {
    SamaraException.given(logits, "the logits");
    long sampler = handle.enter();
    try {
      return Native.nextToken(sampler, logits);
    } finally {
      handle.leave();
    }
  }

  /** Remembers tokens that the sampler did not choose, such as those of the prompt. */
  public void accept(@NonNull int... tokens) {
    SamaraException.given(tokens, "the tokens");
    handle.call(sampler -> Native.acceptTokens(sampler, tokens));
  }

  /** As after creation: no token is remembered, and the random numbers begin again. */
  public void reset() {
    handle.call(Native::resetSampler);
  }

  /** Releases the memory. May be called twice. */
  @Override
  public void close() {
    reaper.dismiss();
    handle.close();
  }

  @NonNull
  @Override
  public String toString() {
    return "Sampler(" + vocabSize + " logits" + (handle.isClosed() ? ", closed" : "") + ")";
  }
}
