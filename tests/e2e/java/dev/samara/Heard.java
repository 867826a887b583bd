// SPDX-License-Identifier: Apache-2.0
// Sound, run by run; loops that end early, and callers that throw.
package dev.samara;

import java.util.NoSuchElementException;

/** Prints what the runs gave, which the caller compares with Python's. */
public final class Heard {
  private static final short[] SAMPLES = new short[9000];

  private Heard() {}

  public static void main(String[] arguments) {
    String folder = arguments[0];
    for (int i = 0; i < SAMPLES.length; i++) SAMPLES[i] = (short) (i * 7919 % 20011 - 10000);
    try (Model model = Check.model(folder, "speech");
        Session session = new Session(model, new SessionOptions().threads(1))) {
      System.out.println("listen=" + scores(session));
      System.out.println("each=" + labels(session));
      for (int count = 0; count < 3; count++) {
        broken(session, count);
        Check.equal(scores(session), scores(session));
        System.out.println("broken=" + scores(session));
        thrown(session, count);
        System.out.println("thrown=" + scores(session));
      }
      portions(session);
      misused(session);
    }
  }

  private static Audio sound() {
    return Audio.of(SAMPLES, 16000);
  }

  private static String scores(Session session) {
    StringBuilder text = new StringBuilder();
    for (java.util.Map<String, Tensor> made : session.listen(sound(), true)) {
      for (float value : made.get("scores").floats()) {
        text.append(String.format("%08x", Float.floatToRawIntBits(value)));
      }
    }
    return text.toString();
  }

  private static String labels(Session session) {
    StringBuilder text = new StringBuilder();
    for (Answer answer : session.predictEach(sound(), true)) {
      text.append(((Classification) answer).getIndex());
    }
    return text.toString();
  }

  /** A loop that the caller leaves early. */
  private static void broken(Session session, int count) {
    int heard = 0;
    for (Answer answer : session.predictEach(sound(), true)) {
      Check.that(answer != null, "an answer");
      if (heard++ == count) break;
    }
  }

  private static void thrown(Session session, int count) {
    int[] heard = {0};
    IllegalStateException mine = new IllegalStateException("mine");
    try {
      session.listen(
          sound(),
          true,
          () -> {
            if (heard[0]++ == count) throw mine;
          });
      throw new AssertionError("nothing thrown");
    } catch (IllegalStateException failure) {
      Check.that(failure == mine && failure.getSuppressed().length == 0, "the caller's own");
      Check.equal(heard[0], count + 1);
    }
  }

  private static void portions(Session session) {
    short[] portion = new short[700];
    Audio part = Audio.of(portion, 16000);
    StringBuilder text = new StringBuilder("portions=");
    for (int at = 0; at < SAMPLES.length; at += portion.length) {
      int count = Math.min(portion.length, SAMPLES.length - at);
      System.arraycopy(SAMPLES, at, portion, 0, count);
      part.rewind(count);
      boolean last = at + count == SAMPLES.length;
      for (Answer answer : session.predictEach(part, last)) {
        text.append(((Classification) answer).getIndex());
      }
    }
    System.out.println(text);
  }

  private static void misused(Session session) {
    Class<ArgumentException> type = ArgumentException.class;
    Check.fails(type, Status.BAD_ARGUMENT, "null", () -> session.listen(null, true));
    Check.fails(type, Status.BAD_ARGUMENT, "null", () -> session.predictEach(null, true));
    Check.fails(type, Status.BAD_ARGUMENT, "null", () -> session.listen(sound(), true, null));
    Listening<Answer> none = session.predictEach(Audio.of(new short[0], 16000), false);
    Check.that(!none.hasNext(), "no sound");
    try {
      none.next();
      throw new AssertionError("an answer");
    } catch (NoSuchElementException expected) {
      Check.that(!none.hasNext(), "still none");
    }
  }
}
