// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
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
