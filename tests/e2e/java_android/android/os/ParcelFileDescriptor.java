// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.os;

import java.io.FileDescriptor;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;

public class ParcelFileDescriptor {
  private final RandomAccessFile file;

  public ParcelFileDescriptor(RandomAccessFile file) {
    this.file = file;
  }

  /** The number that the system knows the file by: --add-opens java.base/java.io=ALL-UNNAMED. */
  public int getFd() {
    try {
      Field number = FileDescriptor.class.getDeclaredField("fd");
      number.setAccessible(true);
      return number.getInt(file.getFD());
    } catch (ReflectiveOperationException | IOException failure) {
      throw new AssertionError(failure);
    }
  }
}
