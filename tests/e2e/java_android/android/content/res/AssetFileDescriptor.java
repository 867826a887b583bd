// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.content.res;

import android.os.ParcelFileDescriptor;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;

public class AssetFileDescriptor implements Closeable {
  private final RandomAccessFile file;
  private final long offset;
  private final long length;

  AssetFileDescriptor(RandomAccessFile file, long offset, long length) {
    this.file = file;
    this.offset = offset;
    this.length = length;
  }

  public ParcelFileDescriptor getParcelFileDescriptor() {
    return new ParcelFileDescriptor(file);
  }

  public long getStartOffset() {
    return offset;
  }

  public long getLength() {
    return length;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
