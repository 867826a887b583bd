// SPDX-License-Identifier: Apache-2.0
// Pictures, sound and answers.
package dev.samara;

import java.nio.ByteBuffer;

/** Prints answers, which the caller compares with those of Python. */
public final class Meanings {
  private static final int WIDTH = 12;
  private static final int HEIGHT = 10;

  private Meanings() {}

  public static void main(String[] arguments) {
    String folder = arguments[0];
    classes(folder);
    boxes(folder);
    mask(folder);
    points(folder);
    sound(folder);
  }

  private static byte[] pixels() {
    byte[] pixels = new byte[3 * WIDTH * HEIGHT];
    for (int i = 0; i < pixels.length; i++) pixels[i] = (byte) (i * 31 % 251);
    return pixels;
  }

  private static Image picture() {
    return Image.of(Image.Format.RGB, WIDTH, HEIGHT, pixels());
  }

  private static void classes(String folder) {
    try (Model model = Check.model(folder, "classes");
        Session session = new Session(model)) {
      Check.that(model.getInputs().get(0).takesImage(), "a record");
      Check.equal(model.getFunction(null).getAnswer(), "classes");
      Check.equal(model.getLabels().get(3), "dög \ud83d\ude00");
      print("classes", (Classification) session.predict(picture()));
      Image turned = picture().cropped(1, 2, 9, 7).rotated(270).mirrored(true);
      print("turned", (Classification) session.predict(turned));
      // The same pixels in a direct buffer with strides, behind others.
      ByteBuffer rows = ByteBuffer.allocateDirect(5 + HEIGHT * 40);
      byte[] pixels = pixels();
      for (int y = 0; y < HEIGHT; y++) {
        rows.position(5 + 40 * y);
        rows.put(pixels, 3 * WIDTH * y, 3 * WIDTH);
      }
      rows.position(5);
      Image.Plane plane = new Image.Plane(rows, 40, 3);
      session.setImage(Image.of(Image.Format.RGB, WIDTH, HEIGHT, plane));
      print("strides", (Classification) session.predict());
      byte[] heap = new byte[rows.capacity()];
      rows.duplicate().get(heap, 5, rows.remaining());
      ByteBuffer slice = ByteBuffer.wrap(heap, 3, heap.length - 3).slice();
      slice.position(2);
      plane = new Image.Plane(slice, 40, 0);
      session.setImage("image", Image.of(Image.Format.RGB, WIDTH, HEIGHT, plane));
      print("heap", (Classification) session.predict());
      yuv(session);
    }
  }

  private static void yuv(Session session) {
    byte[] pixels = pixels();
    ByteBuffer y = ByteBuffer.allocateDirect(WIDTH * HEIGHT);
    y.put(pixels, 0, WIDTH * HEIGHT).flip();
    ByteBuffer chroma = ByteBuffer.allocateDirect(WIDTH * HEIGHT / 2);
    chroma.put(pixels, WIDTH * HEIGHT, WIDTH * HEIGHT / 2).flip();
    Image.Plane luma = new Image.Plane(y, WIDTH, 1);
    Image nv21 =
        Image.of(Image.Format.NV21, WIDTH, HEIGHT, luma, new Image.Plane(chroma, WIDTH, 2));
    print("nv21", (Classification) session.predict(nv21));
    // As a camera of Android has them: U and V are views of the same bytes.
    ByteBuffer u = chroma.duplicate();
    u.position(1);
    ByteBuffer v = chroma.duplicate();
    v.limit(chroma.limit() - 1);
    Image planes =
        Image.of(
            Image.Format.I420, WIDTH, HEIGHT, luma,
            new Image.Plane(u, WIDTH, 2), new Image.Plane(v, WIDTH, 2));
    print("i420", (Classification) session.predict(planes));
    Image wide = planes.yuv(Image.Matrix.BT709, Image.Range.FULL);
    print("bt709", (Classification) session.predict(wide));
  }

  private static void print(String name, Classification found) {
    StringBuilder labels = new StringBuilder(name).append("_labels=");
    float[] scores = new float[found.getTop().size()];
    for (int i = 0; i < scores.length; i++) {
      Guess guess = found.getTop().get(i);
      labels.append(guess.getIndex()).append(' ');
      Check.equal(guess.getLabel(), guess.getIndex() == 3 ? "dög \ud83d\ude00" : guess.getLabel());
      scores[i] = guess.getScore();
    }
    Check.equal(found.getIndex(), found.getTop().get(0).getIndex());
    System.out.println(labels.toString().trim());
    Check.print(name, scores);
  }

  private static void boxes(String folder) {
    try (Model model = Check.model(folder, "boxes");
        Session session = new Session(model)) {
      Detections found = (Detections) session.predict(picture().rotated(90));
      Check.that(!found.isEmpty(), "boxes");
      float[] values = new float[found.size() * 10];
      int at = 0;
      for (Detection each : found) {
        Check.equal(each.getLabel(), Integer.toString(each.getIndex())); // it has none
        values[at++] = each.getIndex();
        values[at++] = each.getScore();
        for (float value : each.getBox()) values[at++] = value;
        for (float value : each.getPoints()) values[at++] = value;
        Check.equal(each.getBottom(), each.getBox()[3]);
      }
      Check.print("boxes", values);
    }
  }

  private static void mask(String folder) {
    try (Model model = Check.model(folder, "mask");
        Session session = new Session(model)) {
      Mask mask = (Mask) session.predict(picture().cropped(2, 2, 8, 6));
      Check.equal(mask.getWidth(), WIDTH);
      Check.equal(mask.getHeight(), HEIGHT);
      Check.equal(mask.classAt(0, 0), mask.getUnseen());
      int[] all = new int[WIDTH * HEIGHT];
      mask.copyTo(all);
      float[] values = new float[all.length];
      for (int i = 0; i < all.length; i++) values[i] = all[i];
      Check.equal(all[3 * WIDTH + 4], mask.classAt(4, 3));
      Check.print("mask", values);
      Check.fails(RangeException.class, Status.BAD_ARGUMENT, "12,0", () -> mask.classAt(WIDTH, 0));
    }
  }

  private static void points(String folder) {
    try (Model model = Check.model(folder, "points");
        Session session = new Session(model)) {
      Keypoints found = (Keypoints) session.predict(picture());
      Check.equal(found.size(), 4);
      Check.equal(found.getLabel(2), "2");
      Check.equal(found.getX(1), found.getPoints()[2]);
      Check.print("points", found.getPoints());
      Check.print("points_scores", found.getScores());
    }
  }

  private static void sound(String folder) {
    short[] samples = new short[9000];
    for (int i = 0; i < samples.length; i++) samples[i] = (short) (i * 7919 % 20011 - 10000);
    try (Model model = Check.model(folder, "sound");
        Session session = new Session(model)) {
      Check.that(model.getInputs().get(0).takesAudio(), "a record");
      hear("sound", session, Audio.of(samples, 16000), true);
      // In portions of one buffer, as a microphone has them; the other half is the end.
      short[] portion = new short[700];
      Audio part = Audio.of(portion, 16000);
      StringBuilder heard = new StringBuilder();
      for (int at = 0; at < samples.length; at += portion.length) {
        int count = Math.min(portion.length, samples.length - at);
        System.arraycopy(samples, at, portion, 0, count);
        part.rewind(count);
        session.listen(part, false, () -> heard.append('.'));
        Check.equal(part.remaining(), 0);
      }
      while (session.endAudio()) heard.append('.');
      System.out.println("portions=" + heard.length());
      float[] floats = new float[samples.length];
      for (int i = 0; i < floats.length; i++) floats[i] = samples[i] / 32768f;
      hear("stereo", session, Audio.of(floats, 44100, 2), true);
      Check.fails(
          ShapeException.class, Status.BAD_SHAPE, "701", () -> part.rewind(701));
      Check.fails(
          ShapeException.class, Status.BAD_SHAPE, "2 channels",
          () -> Audio.of(new short[3], 16000, 2));
      Check.fails(
          ShapeException.class, Status.BAD_SHAPE, "33", () -> Audio.of(new short[33], 16000, 33));
      Check.fails(
          ShapeException.class, Status.BAD_ARGUMENT, "",
          () -> session.pushAudio(Audio.of(new short[3], 3)));
    }
  }

  private static void hear(String name, Session session, Audio audio, boolean end) {
    StringBuilder all = new StringBuilder(name).append('=');
    session.listen(
        audio,
        end,
        () -> {
          for (float value : session.getOutput("scores").floats()) {
            all.append(String.format("%08x", Float.floatToRawIntBits(value)));
          }
        });
    System.out.println(all);
  }
}
