// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.media;

import android.os.Handler;

public class ImageReader implements AutoCloseable {
  ImageReader() {}

  public interface OnImageAvailableListener {
    void onImageAvailable(ImageReader reader);
  }

  public Image acquireLatestImage() {
    return null;
  }

  public void setOnImageAvailableListener(OnImageAvailableListener listener, Handler handler) {}

  @Override
  public void close() {}
}
