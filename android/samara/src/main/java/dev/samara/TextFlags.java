// SPDX-License-Identifier: Apache-2.0
// The values of samara_text_flags.
package dev.samara;

/** Choices of the calls on texts, added up. */
final class TextFlags {
  private static final int ADD_SPECIAL = 1;
  private static final int SKIP_SPECIAL = 2;
  private static final int NO_SPECIAL = 4;

  private TextFlags() {}

  static int encoding(boolean addSpecialTokens, boolean parseSpecial) {
    return (addSpecialTokens ? ADD_SPECIAL : 0) | (parseSpecial ? 0 : NO_SPECIAL);
  }

  static int decoding(boolean skipSpecialTokens) {
    return skipSpecialTokens ? SKIP_SPECIAL : 0;
  }
}
