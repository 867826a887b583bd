// SPDX-License-Identifier: Apache-2.0
// A text that a model made.
package dev.samara;

import androidx.annotation.NonNull;

/** A text that a {@link TextModel} made. */
public final class GeneratedText {
  private final String text;
  private final int[] tokens;
  private final TextEnd end;
  private final int promptTokens;
  private final int reusedTokens;

  GeneratedText(String text, int[] tokens, TextEnd end, int promptTokens, int reusedTokens) {
    this.text = text;
    this.tokens = tokens;
    this.end = end;
    this.promptTokens = promptTokens;
    this.reusedTokens = reusedTokens;
  }

  @NonNull
  public String getText() {
    return text;
  }

  /** The tokens that were made, the one that ended the text included. */
  @NonNull
  public int[] getTokens() {
    return tokens.clone();
  }

  /** Why it ended. */
  @NonNull
  public TextEnd getEnd() {
    return end;
  }

  /** The tokens of the prompt. */
  public int getPromptTokens() {
    return promptTokens;
  }

  /** How many of them were in the cache. */
  public int getReusedTokens() {
    return reusedTokens;
  }

  /** The text. */
  @NonNull
  @Override
  public String toString() {
    return text;
  }
}
