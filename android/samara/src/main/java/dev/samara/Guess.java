// SPDX-License-Identifier: Apache-2.0
// One class of a classification.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.Locale;

/** A class and its score. */
public final class Guess {
  private final String label;
  private final int index;
  private final float score;

  Guess(String label, int index, float score) {
    this.label = label;
    this.index = index;
    this.score = score;
  }

  /** The class's label in the file, or its number if the file has no labels. */
  @NonNull
  public String getLabel() {
    return label;
  }

  public int getIndex() {
    return index;
  }

  public float getScore() {
    return score;
  }

  @NonNull
  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%s %.3f", label, score);
  }
}
