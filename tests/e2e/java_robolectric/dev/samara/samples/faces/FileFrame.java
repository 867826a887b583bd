// SPDX-License-Identifier: Apache-2.0
// A frame of a camera from a file.
package dev.samara.samples.faces;

import android.graphics.ImageFormat;
import android.media.Image;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Y, then pairs of V and U, in rows that follow each other. */
final class FileFrame extends Image {
  private final int width;
  private final int height;
  private final Plane[] planes;

  private FileFrame(int width, int height, Plane... planes) {
    this.width = width;
    this.height = height;
    this.planes = planes;
    mIsImageValid = true;
  }

  /** The file and the sizes that the properties of the program name. */
  static FileFrame read() throws IOException {
    int width = Integer.getInteger("width");
    int height = Integer.getInteger("height");
    byte[] bytes = Files.readAllBytes(Paths.get(System.getProperty("frame")));
    ByteBuffer whole = ByteBuffer.allocateDirect(bytes.length);
    whole.put(bytes);
    int chroma = width * height;
    return new FileFrame(
        width, height,
        new Part(whole, 0, chroma, width, 1),
        new Part(whole, chroma + 1, bytes.length, width, 2),
        new Part(whole, chroma, bytes.length - 1, width, 2));
  }

  private static final class Part extends Plane {
    private final ByteBuffer bytes;
    private final int rowStride;
    private final int pixelStride;

    Part(ByteBuffer whole, int from, int to, int rowStride, int pixelStride) {
      ByteBuffer part = whole.duplicate();
      part.position(from).limit(to);
      this.bytes = part.slice();
      this.rowStride = rowStride;
      this.pixelStride = pixelStride;
    }

    @Override
    public int getRowStride() {
      return rowStride;
    }

    @Override
    public int getPixelStride() {
      return pixelStride;
    }

    @Override
    public ByteBuffer getBuffer() {
      return bytes;
    }
  }

  @Override
  public int getFormat() {
    return ImageFormat.YUV_420_888;
  }

  @Override
  public int getWidth() {
    return width;
  }

  @Override
  public int getHeight() {
    return height;
  }

  @Override
  public long getTimestamp() {
    return 0;
  }

  @Override
  public int getTransform() {
    return 0;
  }

  @Override
  public int getScalingMode() {
    return 0;
  }

  @Override
  public Plane[] getPlanes() {
    return planes;
  }

  @Override
  public void close() {}
}
