// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.graphics;

public final class Bitmap {
  public enum Config {
    ALPHA_8,
    RGB_565,
    ARGB_4444,
    ARGB_8888
  }

  private Bitmap() {}

  public Config getConfig() {
    return null;
  }

  public int getWidth() {
    return 0;
  }

  public int getHeight() {
    return 0;
  }

  public boolean isRecycled() {
    return false;
  }
}
