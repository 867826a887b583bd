// SPDX-License-Identifier: Apache-2.0
// Small files, read and written whole.
package dev.samara;

import androidx.annotation.NonNull;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;

/** Files of states and traces. */
final class Files {
  private Files() {}

  @NonNull
  static byte[] read(@NonNull File file) {
    try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
      long length = file.length();
      if (length > Integer.MAX_VALUE - 8) throw new IOException("more than an array holds");
      byte[] bytes = new byte[(int) length];
      in.readFully(bytes);
      return bytes;
    } catch (IOException failure) {
      throw failed(file, "cannot be read", failure);
    }
  }

  /** Writes the content of a file. */
  interface Writing {
    void to(@NonNull FileOutputStream out) throws IOException;
  }

  /** Writes a temporary file next to it, syncs it, and renames it. */
  static void replace(@NonNull File file, @NonNull byte[] bytes) {
    replace(file, out -> out.write(bytes));
  }

  /** The same for content that {@code writing} writes; on any failure of it the file stays. */
  static void replace(@NonNull File file, @NonNull Writing writing) {
    File fresh = new File(file.getPath() + ".tmp");
    boolean done = false;
    try {
      try (FileOutputStream out = new FileOutputStream(fresh)) {
        writing.to(out);
        out.getFD().sync();
      }
      if (!fresh.renameTo(file)) throw new IOException("cannot be renamed to it");
      done = true;
    } catch (IOException failure) {
      throw failed(file, "cannot be written", failure);
    } finally {
      if (!done) fresh.delete();
    }
  }

  @NonNull
  static FileException failed(@NonNull Object file, @NonNull String what, @NonNull Exception why) {
    FileException failure =
        new FileException(Status.IO, file + " " + what + ": " + why.getMessage(), null);
    failure.initCause(why);
    return failure;
  }
}
