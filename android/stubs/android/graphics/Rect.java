// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
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
