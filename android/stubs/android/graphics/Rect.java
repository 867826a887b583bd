// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.graphics;

public final class Rect {
  public int left;
  public int top;
  public int right;
  public int bottom;

  public int width() {
    return right - left;
  }

  public int height() {
    return bottom - top;
  }
}
