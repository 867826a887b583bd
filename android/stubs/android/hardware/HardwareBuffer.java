// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
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
