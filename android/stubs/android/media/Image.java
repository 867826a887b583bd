// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.media;

import android.graphics.Rect;
import java.nio.ByteBuffer;

public abstract class Image implements AutoCloseable {
  Image() {}

  public abstract int getFormat();

  public abstract int getWidth();

  public abstract int getHeight();

  public Rect getCropRect() {
    return null;
  }

  public abstract Plane[] getPlanes();

  @Override
  public abstract void close();

  public abstract static class Plane {
    protected Plane() {}

    public abstract int getRowStride();

    public abstract int getPixelStride();

    public abstract ByteBuffer getBuffer();
  }
}
