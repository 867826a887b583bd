// SPDX-License-Identifier: Apache-2.0
// Points of a picture.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.List;

/** Points in pixels of the picture, each with a score and, if the file has one, a name. */
public final class Keypoints implements Answer {
  private final float[] points;
  private final float[] scores;
  private final List<String> labels;

  Keypoints(float[] points, float[] scores, List<String> labels) {
    this.points = points;
    this.scores = scores;
    this.labels = labels;
  }

  public int size() {
    return scores.length;
  }

  public float getX(int index) {
    return points[2 * index];
  }

  public float getY(int index) {
    return points[2 * index + 1];
  }

  public float getScore(int index) {
    return scores[index];
  }

  /** The name of a point, else its number. */
  @NonNull
  public String getLabel(int index) {
    return Answers.label(labels, index);
  }

  /** Pairs of x and y. */
  @NonNull
  public float[] getPoints() {
    return points.clone();
  }

  @NonNull
  public float[] getScores() {
    return scores.clone();
  }

  @NonNull
  @Override
  public String toString() {
    return "Keypoints(" + scores.length + ")";
  }
}
