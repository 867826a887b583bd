// SPDX-License-Identifier: Apache-2.0
// The sound that a session hears.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** Knows who listens, so that what one breaks off is not heard by the next. In the session's thread. */
final class Sound {
  private final Session session;
  @Nullable private Listening<?> last;

  Sound(Session session) {
    this.session = session;
  }

  /** Calls {@code heard} after a run on each tensor; where that throws, the rest is left out. */
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

  /** Takes more of the sound for this one; whether the input has a new tensor. */
  boolean push(@NonNull Listening<?> next, @NonNull Audio audio) {
    if (last != null && last != next && last.breaksOff()) drain();
    last = next;
    return session.pushAudio(audio);
  }

  /** Ends the sound; whether the input has another tensor. */
  boolean end() {
    return session.endAudio();
  }

  private void drain() {
    while (session.endAudio()) {
      // It holds back another tensor.
    }
  }

  /** A failure to do that is told with the one that was the reason. */
  private void leaveOut(Throwable reason) {
    try {
      drain();
      last = null;
    } catch (SamaraException failure) {
      if (failure != reason) reason.addSuppressed(failure);
    }
  }
}
