// SPDX-License-Identifier: Apache-2.0
// Stopping a run that may not have begun.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.function.BooleanSupplier;

/** A request to cancel is lost where the run has not reached C yet: it is repeated. */
final class Stop {
  private static final long PAUSE_MILLIS = 5;

  private Stop() {}

  /** Calls {@code again}, which cancels, until it says that nothing is going on any more. */
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
