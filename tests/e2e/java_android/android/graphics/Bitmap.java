// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.graphics;

import java.nio.ByteBuffer;

public final class Bitmap {
  public enum Config {
    ALPHA_8,
    RGB_565,
    ARGB_4444,
    ARGB_8888
  }

  // What system.c reads.
  public final ByteBuffer pixels;
  public final int width;
  public final int height;
  public final int stride;
  public int locks;
  private final Config config;
  public boolean recycled;

  public Bitmap(Config config, int width, int height, int stride) {
    this.config = config;
    this.width = width;
    this.height = height;
    this.stride = stride;
    pixels = ByteBuffer.allocateDirect(stride * height);
  }

  public Config getConfig() {
    return config;
  }

  public int getWidth() {
    return width;
  }

  public int getHeight() {
    return height;
  }

  public boolean isRecycled() {
    return recycled;
  }
}
