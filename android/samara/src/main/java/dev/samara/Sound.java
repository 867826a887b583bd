// SPDX-License-Identifier: Apache-2.0
// The sound that a session processes.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** Tracks the listener, so that the next one does not get the rest of an aborted one. In the
 * session's thread. */
final class Sound {
  private final Session session;
  @Nullable private Listening<?> last;

  Sound(Session session) {
    this.session = session;
  }

  /** Calls {@code heard} after a run on each tensor; if that throws, the rest is dropped. */
  void listen(@NonNull Audio audio, boolean end, @NonNull Runnable heard) {
    Listening<?> all = new Listening<>(this, audio, end, this::run);
    try {
      while (all.hasNext()) {
        all.next();
        heard.run();
      }
    } catch (RuntimeException | Error failure) {
      leaveOut(failure);
      throw failure;
    }
  }

  private Object run() {
    session.run();
    return this;
  }

  /** Reads more of the sound for this listener; returns whether the input has a new tensor. */
  boolean push(@NonNull Listening<?> next, @NonNull Audio audio) {
    if (last != null && last != next && last.breaksOff()) drain();
    last = next;
    return session.pushAudio(audio);
  }

  /** Ends the sound; returns whether the input has another tensor. */
  boolean end() {
    return session.endAudio();
  }

  private void drain() {
    while (session.endAudio()) {
      // Another tensor is still held back.
    }
  }

  /** A failure of this is added as suppressed to its cause. */
  private void leaveOut(Throwable reason) {
    try {
      drain();
      last = null;
    } catch (SamaraException failure) {
      if (failure != reason) reason.addSuppressed(failure);
    }
  }
}
