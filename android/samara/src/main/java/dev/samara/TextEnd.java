// SPDX-License-Identifier: Apache-2.0
// The values of samara_text_end.
package dev.samara;

/** Why a text ends. */
public enum TextEnd {
  /** The model made a token that ends a text. */
  END_TOKEN,
  /** One of the stops came; the text ends before it. */
  STOP,
  /** {@link TextOptions#maxTokens} were made. */
  MOST_TOKENS,
  /** The model takes no more. */
  FULL;
}
