// SPDX-License-Identifier: Apache-2.0
// Pictures of Android's classes. A desktop JVM does not load this class.
package dev.samara;

import android.graphics.Bitmap;
import android.graphics.ImageFormat;
import android.graphics.Rect;
import android.hardware.HardwareBuffer;
import androidx.annotation.NonNull;

/** Makes an Image of what the system has. */
final class AndroidImages {
  private AndroidImages() {}

  @NonNull
  static Image of(@NonNull Bitmap bitmap) {
    if (bitmap.isRecycled()) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT, "the bitmap is recycled", "give it before it is");
    }
    if (bitmap.getConfig() != Bitmap.Config.ARGB_8888) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT,
          "the bitmap's pixels are " + bitmap.getConfig(),
          "bitmap.copy(Bitmap.Config.ARGB_8888, false) has the right ones");
    }
    return Image.ofSystem(bitmap.getWidth(), bitmap.getHeight(), bitmap, null);
  }

  @NonNull
  static Image of(@NonNull HardwareBuffer buffer) {
    return Image.ofSystem(buffer.getWidth(), buffer.getHeight(), null, buffer);
  }

  @NonNull
  static Image of(@NonNull android.media.Image frame) {
    try {
      if (frame.getFormat() != ImageFormat.YUV_420_888) {
        throw new ArgumentException(
            Status.BAD_ARGUMENT,
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
      return image.cropped(crop.left, crop.top, crop.width(), crop.height());
    } catch (IllegalStateException closed) {
      ArgumentException failure =
          new ArgumentException(Status.BAD_ARGUMENT, "the frame is closed", "set it before close()");
      failure.initCause(closed);
      throw failure;
    }
  }
}
