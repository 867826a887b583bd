// SPDX-License-Identifier: Apache-2.0
// Logits of an exact model by accuracy, to be compared with Python's.
package dev.samara;

import java.io.File;

/** Needs a runtime with all kernels: a selective build has those of one accuracy. */
public final class Accuracies {
  private Accuracies() {}

  public static void main(String[] arguments) {
    String folder = arguments[0];
    File file = new File(folder, "text.samara");
    for (String word : new String[] {"default", "exact", "bounded", "strict"}) {
      SessionOptions options = new SessionOptions().threads(1).accuracy(word);
      try (TextModel model = TextModel.fromFile(file, options)) {
        model.put(Texts.PROMPT);
        Check.print(word, model.logits());
      }
    }
    try (Model model = Check.model(folder, "conv")) {
      Check.fails(
          UnsupportedException.class, Status.UNSUPPORTED, "no exact form",
          () -> new Session(model, new SessionOptions().accuracy("exact")));
    }
  }
}
