// SPDX-License-Identifier: Apache-2.0
// Frees objects that were not closed.
package dev.samara;

import androidx.annotation.NonNull;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The safety net of models and sessions: runs {@code last}, which must not refer to the owner,
 * after the owner was collected. {@code java.lang.ref.Cleaner} needs API 33.
 */
final class Reaper extends PhantomReference<Object> {
  private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
  private static final Set<Reaper> LIVE = ConcurrentHashMap.newKeySet();
  private static final AtomicLong REAPED = new AtomicLong();

  static {
    Thread thread = new Thread(Reaper::reap, "samara-reaper");
    thread.setDaemon(true);
    thread.start();
  }

  private final Runnable last;

  private Reaper(Object owner, Runnable last) {
    super(owner, QUEUE);
    this.last = last;
  }

  @NonNull
  static Reaper watch(@NonNull Object owner, @NonNull Runnable last) {
    Reaper reaper = new Reaper(owner, last);
    LIVE.add(reaper);
    return reaper;
  }

  /** The owner was closed. */
  void dismiss() {
    LIVE.remove(this);
    clear();
  }

  /** Owners that were collected without being closed. */
  static long count() {
    return REAPED.get();
  }

  private static void reap() {
    while (true) {
      try {
        Reaper reaper = (Reaper) QUEUE.remove();
        if (!LIVE.remove(reaper)) continue;
        reaper.last.run();
        REAPED.incrementAndGet();
      } catch (InterruptedException | RuntimeException ignored) {
        // There is no caller to report to; continue with the next owner.
      }
    }
  }
}
