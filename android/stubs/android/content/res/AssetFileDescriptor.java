// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.content.res;

import android.os.ParcelFileDescriptor;
import java.io.Closeable;
import java.io.IOException;

public class AssetFileDescriptor implements Closeable {
  AssetFileDescriptor() {}

  public ParcelFileDescriptor getParcelFileDescriptor() {
    return null;
  }

  public long getStartOffset() {
    return 0;
  }

  public long getLength() {
    return 0;
  }

  @Override
  public void close() throws IOException {}
}
