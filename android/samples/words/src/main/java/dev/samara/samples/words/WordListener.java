// SPDX-License-Identifier: Apache-2.0
// Finds words in sound while it arrives.
package dev.samara.samples.words;

import dev.samara.Audio;
import dev.samara.Classification;
import dev.samara.Model;
import dev.samara.Session;
import java.util.function.Consumer;

/** Use it from one thread at a time. */
final class WordListener implements AutoCloseable {
  /** Where sound comes from. */
  interface Sound {
    /** Waits for sound. Returns the number of 16-bit samples written; 0 or less at the end. */
    int read(short[] samples);
  }

  private static final String OTHER = "other"; // the label of sound without a known word
  private static final int PORTIONS = 10; // per second

  private final Session session;

  /** Closes the model; the session keeps what it needs. */
  WordListener(Model model) {
    try (Model opened = model) {
      session = new Session(opened);
    }
  }

  /** Listens to one channel of samples until they end. Each spoken word is reported once. */
  void listen(Sound sound, int rate, Consumer<String> heard) {
    short[] samples = new short[rate / PORTIONS];
    Audio audio = Audio.of(samples, rate);
    String last = OTHER;
    for (int count = sound.read(samples); count > 0; count = sound.read(samples)) {
      audio.rewind(count);
      while (session.pushAudio(audio)) {
        String word = ((Classification) session.predict()).getLabel();
        if (!word.equals(OTHER) && !word.equals(last)) heard.accept(word);
        last = word;
      }
    }
  }

  @Override
  public void close() {
    session.close();
  }
}
