// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.hardware;

import java.nio.ByteBuffer;

public final class HardwareBuffer {
  // What system.c reads: 1 and 2 are RGBA and RGBX, 0x23 is YUV.
  public final ByteBuffer pixels;
  public final int width;
  public final int height;
  public final int stride;
  public final int format;
  public int locks;
  public boolean closed;

  public HardwareBuffer(int format, int width, int height, int stride, int bytes) {
    this.format = format;
    this.width = width;
    this.height = height;
    this.stride = stride;
    pixels = ByteBuffer.allocateDirect(bytes);
  }

  public boolean isClosed() {
    return closed;
  }

  public int getWidth() {
    return width;
  }

  public int getHeight() {
    return height;
  }
}
