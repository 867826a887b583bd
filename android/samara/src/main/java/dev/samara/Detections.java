// SPDX-License-Identifier: Apache-2.0
// The objects found in a picture.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;

/** An unmodifiable list of boxes, best first. */
public final class Detections extends AbstractList<Detection> implements Answer, RandomAccess {
  private final List<Detection> boxes;

  Detections(List<Detection> boxes) {
    this.boxes = boxes;
  }

  @NonNull
  @Override
  public Detection get(int index) {
    if (index >= 0 && index < boxes.size()) return boxes.get(index);
    throw new IndexOutOfBoundsException("box " + index + " of " + boxes.size());
  }

  @Override
  public int size() {
    return boxes.size();
  }

  @NonNull
  @Override
  public String toString() {
    return "Detections(" + Words.joined(boxes) + ")";
  }
}
