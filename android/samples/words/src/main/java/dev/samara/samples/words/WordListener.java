// SPDX-License-Identifier: Apache-2.0
// Words in sound, as they are heard.
package dev.samara.samples.words;

import dev.samara.Audio;
import dev.samara.Classification;
import dev.samara.Model;
import dev.samara.Session;
import java.util.function.Consumer;

/** For one thread at a time. */
final class WordListener implements AutoCloseable {
  /** Where sound comes from. */
  interface Sound {
    /** Waits until there is some; how many samples of 16 bits it gave, 0 or less at the end. */
    int read(short[] samples);
  }

  private static final String OTHER = "other"; // the label of what is no word
  private static final int PORTIONS = 10; // of a second

  private final Session session;

  /** Closes the model, of which the session keeps what it needs. */
  WordListener(Model model) {
    try (Model opened = model) {
      session = new Session(opened);
    }
  }

  /** Listens to samples of one channel until they end. A word is heard once while it is said. */
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
