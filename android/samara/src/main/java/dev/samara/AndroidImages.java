// SPDX-License-Identifier: Apache-2.0
// Pictures of Android's classes. A desktop JVM does not load this class.
package dev.samara;

import android.graphics.Bitmap;
import android.graphics.ImageFormat;
import android.graphics.Rect;
import android.hardware.HardwareBuffer;
import androidx.annotation.NonNull;

/**
 * Makes an Image from the system's classes. Each is checked again when it is given to a session: if
 * it was closed meanwhile, its memory is gone, and reading it would kill the process.
 */
final class AndroidImages {
  private AndroidImages() {}

  @NonNull
  static Image of(@NonNull Bitmap bitmap) {
    check(bitmap);
    if (bitmap.getConfig() != Bitmap.Config.ARGB_8888) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT,
          "the bitmap's pixels are " + bitmap.getConfig(),
          "bitmap.copy(Bitmap.Config.ARGB_8888, false) has the right ones");
    }
    return Image.ofSystem(
        bitmap.getWidth(), bitmap.getHeight(), bitmap, null, () -> check(bitmap));
  }

  private static void check(Bitmap bitmap) {
    if (bitmap.isRecycled()) throw gone("the bitmap is recycled", "set it before that");
  }

  @NonNull
  static Image of(@NonNull HardwareBuffer buffer) {
    check(buffer);
    return Image.ofSystem(
        buffer.getWidth(), buffer.getHeight(), null, buffer, () -> check(buffer));
  }

  private static void check(HardwareBuffer buffer) {
    if (buffer.isClosed()) throw gone("the hardware buffer is closed", "set it before that");
  }

  @NonNull
  static Image of(@NonNull android.media.Image frame) {
    try {
      if (frame.getFormat() != ImageFormat.YUV_420_888) {
        throw gone(
            "the frame's format is " + frame.getFormat(),
            "have the reader make ImageFormat.YUV_420_888");
      }
      android.media.Image.Plane[] planes = frame.getPlanes();
      Image.Plane[] own = new Image.Plane[planes.length];
      for (int i = 0; i < planes.length; i++) {
        own[i] =
            new Image.Plane(
                planes[i].getBuffer(), planes[i].getRowStride(), planes[i].getPixelStride());
      }
      Image image = Image.of(Image.Format.I420, frame.getWidth(), frame.getHeight(), own);
      Rect crop = frame.getCropRect();
      return image
          .cropped(crop.left, crop.top, crop.width(), crop.height())
          .checked(() -> check(frame));
    } catch (IllegalStateException closed) {
      throw closed(closed);
    }
  }

  private static void check(android.media.Image frame) {
    try {
      frame.getWidth();
    } catch (IllegalStateException closed) {
      throw closed(closed);
    }
  }

  private static ArgumentException closed(IllegalStateException why) {
    ArgumentException failure = gone("the frame is closed", "set it before close()");
    failure.initCause(why);
    return failure;
  }

  private static ArgumentException gone(String what, String fix) {
    return new ArgumentException(Status.BAD_ARGUMENT, what, fix);
  }
}
