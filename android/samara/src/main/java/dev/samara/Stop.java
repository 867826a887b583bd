// SPDX-License-Identifier: Apache-2.0
// Stops a run that may not have begun.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.function.BooleanSupplier;

/** Repeats a cancel request, which is lost if the run has not reached C yet. */
final class Stop {
  private static final long PAUSE_MILLIS = 5;

  private Stop() {}

  /** Calls {@code again}, which cancels, until it reports that no run is left. */
  static void until(@NonNull BooleanSupplier again) {
    if (!again.getAsBoolean()) return;
    Thread thread = new Thread(() -> repeat(again), "samara-stop");
    thread.setDaemon(true);
    thread.start();
  }

  private static void repeat(BooleanSupplier again) {
    try {
      do {
        Thread.sleep(PAUSE_MILLIS);
      } while (again.getAsBoolean());
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }
}
