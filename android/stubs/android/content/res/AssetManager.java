// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.content.res;

import java.io.IOException;
import java.io.InputStream;

public final class AssetManager {
  private AssetManager() {}

  public AssetFileDescriptor openFd(String name) throws IOException {
    throw new IOException(name);
  }

  public InputStream open(String name) throws IOException {
    throw new IOException(name);
  }
}
