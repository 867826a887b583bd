// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.graphics;

public final class Rect {
  public int left;
  public int top;
  public int right;
  public int bottom;

  public Rect(int left, int top, int right, int bottom) {
    this.left = left;
    this.top = top;
    this.right = right;
    this.bottom = bottom;
  }

  public int width() {
    return right - left;
  }

  public int height() {
    return bottom - top;
  }
}
