// SPDX-License-Identifier: Apache-2.0
// Runs of a session on sound.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Supplier;

/**
 * Runs a session on each tensor of a recording or a chunk of one: one run per element, made on
 * demand. Can be iterated once; the session may be used in between.
 */
public final class Listening<T> implements Iterable<T>, Iterator<T> {
  private final Sound sound;
  private final Audio audio;
  private final boolean end;
  private final Supplier<T> run;
  private boolean ending;
  private boolean ready;
  private boolean done;

  Listening(Sound sound, Audio audio, boolean end, Supplier<T> run) {
    this.sound = sound;
    this.audio = audio;
    this.end = end;
    this.run = run;
  }

  /** The same object: it can be iterated once. */
  @NonNull
  @Override
  public Iterator<T> iterator() {
    return this;
  }

  /** Whether the sound ends with it, and what the session holds back was not heard. */
  boolean breaksOff() {
    return end && !done;
  }

  @Override
  public boolean hasNext() {
    if (ready || done) return ready;
    ready = !ending && sound.push(this, audio);
    ending = !ready && end;
    if (ending) ready = sound.end();
    done = !ready;
    return ready;
  }

  @Override
  public T next() {
    if (!hasNext()) throw new NoSuchElementException("all sound was heard");
    ready = false;
    return run.get();
  }
}
