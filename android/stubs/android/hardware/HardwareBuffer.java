// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.hardware;

public final class HardwareBuffer {
  private HardwareBuffer() {}

  public boolean isClosed() {
    return false;
  }

  public int getWidth() {
    return 0;
  }

  public int getHeight() {
    return 0;
  }
}
