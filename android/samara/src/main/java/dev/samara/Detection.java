// SPDX-License-Identifier: Apache-2.0
// One box of a picture.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Locale;

/** A box in the picture's pixels; (0, 0) is the upper left corner of its first pixel. */
public final class Detection {
  private final String label;
  private final int index;
  private final float score;
  private final float[] box;
  private final float[] points;

  Detection(String label, int index, float score, float[] box, @Nullable float[] points) {
    this.label = label;
    this.index = index;
    this.score = score;
    this.box = box;
    this.points = points;
  }

  /** The label of the file, else the number of the class. */
  @NonNull
  public String getLabel() {
    return label;
  }

  /** The number of the class. */
  public int getIndex() {
    return index;
  }

  public float getScore() {
    return score;
  }

  /** x0, y0, x1, y1. */
  @NonNull
  public float[] getBox() {
    return box.clone();
  }

  public float getLeft() {
    return box[0];
  }

  public float getTop() {
    return box[1];
  }

  public float getRight() {
    return box[2];
  }

  public float getBottom() {
    return box[3];
  }

  /** Pairs of x and y, e.g. of eyes and nose; null if the model has none. */
  @Nullable
  public float[] getPoints() {
    return points == null ? null : points.clone();
  }

  @NonNull
  @Override
  public String toString() {
    String more = points == null ? "" : ", " + points.length / 2 + " points";
    return String.format(
        Locale.ROOT, "Detection(%s %.3f, %.1f,%.1f to %.1f,%.1f%s)",
        label, score, box[0], box[1], box[2], box[3], more);
  }
}
