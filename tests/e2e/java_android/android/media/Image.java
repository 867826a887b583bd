// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.media;

import android.graphics.Rect;
import java.nio.ByteBuffer;

/** A frame of a camera. */
public class Image implements AutoCloseable {
  private final int format;
  private final int width;
  private final int height;
  private final Rect crop;
  private final Plane[] planes;
  private boolean closed;

  public Image(int format, int width, int height, Rect crop, Plane... planes) {
    this.format = format;
    this.width = width;
    this.height = height;
    this.crop = crop;
    this.planes = planes;
  }

  private void check() {
    if (closed) throw new IllegalStateException("Image is already closed");
  }

  public int getFormat() {
    check();
    return format;
  }

  public int getWidth() {
    check();
    return width;
  }

  public int getHeight() {
    check();
    return height;
  }

  public Rect getCropRect() {
    check();
    return crop;
  }

  public Plane[] getPlanes() {
    check();
    return planes;
  }

  @Override
  public void close() {
    closed = true;
  }

  public static class Plane {
    private final ByteBuffer buffer;
    private final int rowStride;
    private final int pixelStride;

    public Plane(ByteBuffer buffer, int rowStride, int pixelStride) {
      this.buffer = buffer;
      this.rowStride = rowStride;
      this.pixelStride = pixelStride;
    }

    public int getRowStride() {
      return rowStride;
    }

    public int getPixelStride() {
      return pixelStride;
    }

    public ByteBuffer getBuffer() {
      return buffer;
    }
  }
}
