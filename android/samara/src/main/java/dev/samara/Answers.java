// SPDX-License-Identifier: Apache-2.0
// Answers as libsamara_jni packs them.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.ArrayList;
import java.util.List;

/** Reads an answer. */
final class Answers {
  private static final int CLASSES = 1;
  private static final int MASK = 2;
  private static final int BOXES = 3;
  private static final int KEYPOINTS = 4;

  private Answers() {}

  /** The label of class `index`; its number if it has none. */
  @NonNull
  static String label(@NonNull List<String> labels, int index) {
    return index >= 0 && index < labels.size() ? labels.get(index) : Integer.toString(index);
  }

  @NonNull
  static Answer read(@NonNull byte[] packed, @NonNull List<String> labels) {
    Blob blob = new Blob(packed);
    int kind = blob.number();
    int count = blob.number();
    switch (kind) {
      case CLASSES:
        return classes(blob, count, labels);
      case MASK:
        int elementBytes = blob.number();
        int width = blob.number();
        return new Mask(width, blob.number(), elementBytes, blob.block(), labels);
      case BOXES:
        return boxes(blob, count, labels);
      case KEYPOINTS:
        return new Keypoints(blob.reals(2 * count), blob.reals(count), labels);
      default:
        throw new UnsupportedException(
            Status.UNSUPPORTED, "an answer of kind " + kind + " is not known here", "update samara");
    }
  }

  private static Answer classes(Blob blob, int count, List<String> labels) {
    List<Guess> top = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int index = blob.number();
      top.add(new Guess(label(labels, index), index, blob.real()));
    }
    return new Classification(top);
  }

  private static Answer boxes(Blob blob, int count, List<String> labels) {
    int points = blob.number();
    List<Detection> found = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int index = blob.number();
      float score = blob.real();
      float[] box = blob.reals(4);
      float[] own = points == 0 ? null : blob.reals(2 * points);
      found.add(new Detection(label(labels, index), index, score, box, own));
    }
    return new Detections(found);
  }
}
