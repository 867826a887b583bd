// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.graphics;

public class ImageFormat {
  public static final int YUV_420_888 = 0x23;
}
