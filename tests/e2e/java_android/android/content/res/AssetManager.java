// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.content.res;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;

/** The assets of a folder: NAME in NAME.apk from byte 60, or 62, on, or compressed. */
public final class AssetManager {
  private final File folder;

  public AssetManager(File folder) {
    this.folder = folder;
  }

  public AssetFileDescriptor openFd(String name) throws IOException {
    for (int offset : new int[] {60, 62}) {
      File apk = new File(folder, name + "." + offset);
      if (!apk.exists()) continue;
      RandomAccessFile file = new RandomAccessFile(apk, "r");
      return new AssetFileDescriptor(file, offset, file.length() - offset - 4);
    }
    throw new FileNotFoundException(name + ": it is probably compressed");
  }

  public InputStream open(String name) throws IOException {
    return new FileInputStream(new File(folder, name));
  }
}
