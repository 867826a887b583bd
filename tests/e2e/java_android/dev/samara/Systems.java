// SPDX-License-Identifier: Apache-2.0
// Assets, bitmaps, frames of a camera and hardware buffers.
package dev.samara;

import android.content.Context;
import android.graphics.Bitmap;
import android.graphics.Rect;
import android.hardware.HardwareBuffer;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Arrays;

/** Each way of Android to give a model or a picture gives what planes of Java give. */
public final class Systems {
  private static final int WIDTH = 12;
  private static final int HEIGHT = 10;

  private Systems() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    assets(folder);
    try (Model model = Check.model(folder, "classes");
        Session session = new Session(model)) {
      bitmap(session);
      hardware(session);
      frame(session);
    }
  }

  private static void assets(String folder) throws IOException {
    byte[] bytes = Files.readAllBytes(new File(folder, "golden.samara").toPath());
    Context context = new Context(new File(folder));
    for (int offset : new int[] {60, 62}) {
      File apk = new File(folder, "stored." + offset);
      try (FileOutputStream out = new FileOutputStream(apk)) {
        out.write(new byte[offset]);
        out.write(bytes);
        out.write(new byte[4]);
      }
      Files.write(new File(folder, "stored").toPath(), bytes);
      try (Model model = Model.fromAsset(context, "stored")) {
        model.selftest();
      }
      Check.that(apk.delete(), "deleted");
    }
    try (Model model = Model.fromAsset(context, "golden.samara")) { // compressed
      model.selftest();
    }
    Check.fails(FileException.class, Status.IO, "none", () -> Model.fromAsset(context, "none"));
    Check.fails(
        ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> Model.fromAsset(context, null));
    Check.fails(
        ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> Model.fromAsset(null, "none"));
    Files.write(new File(folder, "text").toPath(), new byte[1000]);
    Check.fails(
        ModelFormatException.class, Status.BAD_MODEL, "", () -> Model.fromAsset(context, "text"));
  }

  private static byte[] rgba() {
    byte[] pixels = new byte[4 * WIDTH * HEIGHT];
    for (int i = 0; i < pixels.length; i++) pixels[i] = (byte) (i * 31 % 251);
    return pixels;
  }

  private static void rows(ByteBuffer to, int stride) {
    for (int y = 0; y < HEIGHT; y++) {
      to.position(stride * y);
      to.put(rgba(), 4 * WIDTH * y, 4 * WIDTH);
    }
    to.clear();
  }

  private static float[] scores(Session session, Image image) {
    Classification found = (Classification) session.predict(image.rotated(90));
    float[] scores = new float[4];
    for (Guess guess : found) scores[guess.getIndex()] = guess.getScore();
    return scores;
  }

  private static void same(Session session, Image image, Image wanted) {
    Check.that(Arrays.equals(scores(session, image), scores(session, wanted)), image.toString());
  }

  private static void bitmap(Session session) {
    Bitmap bitmap = new Bitmap(Bitmap.Config.ARGB_8888, WIDTH, HEIGHT, 64);
    rows(bitmap.pixels, 64);
    Image image = Image.fromBitmap(bitmap);
    same(session, image, Image.of(Image.Format.RGBA, WIDTH, HEIGHT, rgba()));
    Check.equal(bitmap.locks, 0);
    bitmap.recycled = true;
    Class<ArgumentException> type = ArgumentException.class;
    Check.fails(type, Status.BAD_ARGUMENT, "recycled", () -> session.setImage(image));
    Check.fails(type, Status.BAD_ARGUMENT, "recycled", () -> Image.fromBitmap(bitmap));
    Check.fails(type, Status.BAD_ARGUMENT, "null", () -> Image.fromBitmap(null));
    Bitmap other = new Bitmap(Bitmap.Config.RGB_565, WIDTH, HEIGHT, 24);
    Check.fails(type, Status.BAD_ARGUMENT, "RGB_565", () -> Image.fromBitmap(other));
  }

  private static void hardware(Session session) {
    for (int format = 1; format <= 2; format++) {
      HardwareBuffer buffer = new HardwareBuffer(format, WIDTH, HEIGHT, 16, 64 * HEIGHT);
      rows(buffer.pixels, 64);
      Image image = Image.fromHardwareBuffer(buffer);
      same(session, image, Image.of(Image.Format.RGBA, WIDTH, HEIGHT, rgba()));
      Check.equal(buffer.locks, 0);
      buffer.closed = true;
      Check.fails(
          ArgumentException.class, Status.BAD_ARGUMENT, "closed", () -> session.setImage(image));
    }
    HardwareBuffer yuv = new HardwareBuffer(0x23, WIDTH, HEIGHT, WIDTH, WIDTH * HEIGHT * 3 / 2);
    yuv.pixels.put(rgba(), 0, WIDTH * HEIGHT * 3 / 2).clear();
    same(session, Image.fromHardwareBuffer(yuv), nv21());
    HardwareBuffer other = new HardwareBuffer(4, WIDTH, HEIGHT, WIDTH, 1000);
    Check.fails(
        ShapeException.class, Status.BAD_ARGUMENT, "RGBA_8888",
        () -> session.setImage(Image.fromHardwareBuffer(other)));
  }

  private static Image nv21() {
    byte[] luma = Arrays.copyOf(rgba(), WIDTH * HEIGHT);
    byte[] chroma = Arrays.copyOfRange(rgba(), WIDTH * HEIGHT, WIDTH * HEIGHT * 3 / 2);
    return Image.of(
        Image.Format.NV21, WIDTH, HEIGHT,
        new Image.Plane(luma, 0, 0), new Image.Plane(chroma, 0, 0));
  }

  private static ByteBuffer part(int from, int to) {
    ByteBuffer made = ByteBuffer.allocateDirect(to - from);
    made.put(rgba(), from, to - from).flip();
    return made;
  }

  private static void frame(Session session) {
    int end = WIDTH * HEIGHT * 3 / 2;
    android.media.Image.Plane[] planes = {
      new android.media.Image.Plane(part(0, WIDTH * HEIGHT), WIDTH, 1),
      new android.media.Image.Plane(part(WIDTH * HEIGHT + 1, end), WIDTH, 2),
      new android.media.Image.Plane(part(WIDTH * HEIGHT, end - 1), WIDTH, 2)
    };
    Rect crop = new Rect(2, 1, 11, 9);
    android.media.Image frame = new android.media.Image(0x23, WIDTH, HEIGHT, crop, planes);
    Image image = Image.fromMediaImage(frame);
    same(session, image, nv21().cropped(2, 1, 9, 8));
    frame.close();
    Class<ArgumentException> type = ArgumentException.class;
    Check.fails(type, Status.BAD_ARGUMENT, "closed", () -> session.setImage(image));
    Check.fails(type, Status.BAD_ARGUMENT, "closed", () -> Image.fromMediaImage(frame));
    android.media.Image jpeg = new android.media.Image(0x100, 1, 1, crop, planes);
    Check.fails(type, Status.BAD_ARGUMENT, "256", () -> Image.fromMediaImage(jpeg));
  }
}
