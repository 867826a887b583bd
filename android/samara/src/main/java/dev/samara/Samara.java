// SPDX-License-Identifier: Apache-2.0
// Facts about the whole library.
package dev.samara;

import androidx.annotation.NonNull;

/** The native library. */
public final class Samara {
  private Samara() {}

  /** Its version, e.g. "0.17.0". */
  @NonNull
  public static String getVersion() {
    Native.check();
    return Words.of(Native.version());
  }

  /** The instruction sets that it uses on this CPU, e.g. "neon,neon-dot". */
  @NonNull
  public static String getIsa() {
    Native.check();
    return Words.of(Native.isa());
  }
}
