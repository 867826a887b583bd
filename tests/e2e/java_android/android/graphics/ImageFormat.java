// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.graphics;

public class ImageFormat {
  public static final int YUV_420_888 = 0x23;
}
