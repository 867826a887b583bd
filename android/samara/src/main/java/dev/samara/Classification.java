// SPDX-License-Identifier: Apache-2.0
// The class of a picture or sound.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;

/** The best classes, best first; empty if no score is above the record's threshold. */
public final class Classification implements Answer, Iterable<Guess> {
  private final List<Guess> top;

  Classification(List<Guess> top) {
    this.top = Collections.unmodifiableList(top);
  }

  @NonNull
  public List<Guess> getTop() {
    return top;
  }

  /** The best class's label; empty without one. */
  @NonNull
  public String getLabel() {
    return top.isEmpty() ? "" : top.get(0).getLabel();
  }

  /** The best class's number; -1 without one. */
  public int getIndex() {
    return top.isEmpty() ? -1 : top.get(0).getIndex();
  }

  /** The best class's score; 0 without one. */
  public float getScore() {
    return top.isEmpty() ? 0 : top.get(0).getScore();
  }

  @NonNull
  @Override
  public Iterator<Guess> iterator() {
    return top.iterator();
  }

  @NonNull
  @Override
  public String toString() {
    return "Classification(" + Words.joined(top) + ")";
  }
}
