// SPDX-License-Identifier: Apache-2.0
// The sample's listener on the samples of a file, in portions as a microphone gives them.
package dev.samara.samples.words;

import dev.samara.Model;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ShortBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Prints the words that are heard. */
public final class WordsMain {
  private WordsMain() {}

  /** Arguments: the model, samples of 16 bits in little-endian, their rate. */
  public static void main(String[] given) throws IOException {
    ShortBuffer sound =
        ByteBuffer.wrap(Files.readAllBytes(Paths.get(given[1])))
            .order(ByteOrder.LITTLE_ENDIAN)
            .asShortBuffer();
    try (WordListener words = new WordListener(Model.fromFile(given[0]))) {
      words.listen(
          samples -> {
            // Now and then less than a portion.
            int most = sound.position() % 3 == 0 ? samples.length : samples.length / 3;
            int count = Math.min(most, sound.remaining());
            sound.get(samples, 0, count);
            return count;
          },
          Integer.parseInt(given[2]),
          System.out::println);
    }
  }
}
