// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.media;

import android.os.Handler;
import java.util.ArrayDeque;

/** A camera's frames. Like the real one it hands out no more than so many that are open. */
public class ImageReader implements AutoCloseable {
  private final ArrayDeque<Image> queue = new ArrayDeque<>();
  private OnImageAvailableListener listener;

  /** Says that a frame is there. */
  public interface OnImageAvailableListener {
    void onImageAvailable(ImageReader reader);
  }

  /** A frame of the camera; false where nobody listens. */
  public boolean offer(Image frame) {
    OnImageAvailableListener told;
    synchronized (this) {
      told = listener;
      if (told == null) return false;
      queue.add(frame);
    }
    told.onImageAvailable(this);
    return true;
  }

  public synchronized Image acquireLatestImage() {
    while (queue.size() > 1) queue.remove().close();
    return queue.poll();
  }

  public synchronized void setOnImageAvailableListener(
      OnImageAvailableListener called, Handler handler) {
    listener = called;
    while (called == null && !queue.isEmpty()) queue.remove().close();
  }

  @Override
  public void close() {}
}
