// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
package android.graphics;

public class ImageFormat {
  public static final int YUV_420_888 = 0x23;
}
