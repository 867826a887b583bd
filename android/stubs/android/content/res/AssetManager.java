// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
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
