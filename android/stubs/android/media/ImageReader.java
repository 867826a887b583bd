// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
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
