// SPDX-License-Identifier: Apache-2.0
// A library that was built without text models.
package dev.samara;

import java.io.File;

/** What needs the feature throws, and says what to build; the rest goes on. */
public final class TextAbsent {
  private TextAbsent() {}

  public static void main(String[] arguments) {
    File file = new File(arguments[0]);
    Class<UnsupportedException> type = UnsupportedException.class;
    Status status = Status.UNSUPPORTED;
    String says = "the library was built without the feature 'text'";
    String fix = "build it with --features text beside those that it has";
    try (Model model = Model.fromFile(file)) {
      for (String each : new String[] {says, fix}) {
        Check.fails(type, status, each, () -> new TextModel(model));
        Check.fails(type, status, each, () -> new Tokenizer(model));
        Check.fails(type, status, each, () -> TextModel.fromFile(file));
        Check.fails(type, status, each, () -> new Sampler(9, new TextOptions()));
      }
      try (Session session = new Session(model)) {
        session.resize("image", 1, 3, 8, 8);
        session.setInput("image", new float[192]);
        session.run();
        Check.equal(session.getOutput("score").floats().length, 4);
      }
    }
  }
}
