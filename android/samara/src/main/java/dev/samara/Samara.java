// SPDX-License-Identifier: Apache-2.0
// What is to say of the library as a whole.
package dev.samara;

import androidx.annotation.NonNull;

/** The native library. */
public final class Samara {
  private Samara() {}

  /** Its version, as in "0.10.0". */
  @NonNull
  public static String getVersion() {
    Native.check();
    return Words.of(Native.version());
  }

  /** The instruction sets that it uses on this CPU, as in "neon,neon-dot". */
  @NonNull
  public static String getIsa() {
    Native.check();
    return Words.of(Native.isa());
  }
}
