// SPDX-License-Identifier: Apache-2.0
// Threads that sessions share.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.HashMap;
import java.util.Map;

/** One pool per number of threads, as long as a session uses it. */
final class Pool {
  private static final Map<Integer, Pool> POOLS = new HashMap<>();
  private static final int MOST_BY_DEFAULT = 4;

  private final int threads;
  final long pointer; // 0 for one thread
  private int users;

  private Pool(int threads, long pointer) {
    this.threads = threads;
    this.pointer = pointer;
  }

  /** The pool of that many threads (0: min(4, cores)); call release() afterwards. */
  @NonNull
  static Pool use(int threads) {
    int count = threads;
    if (count == 0) {
      count = Math.min(MOST_BY_DEFAULT, Math.max(1, Runtime.getRuntime().availableProcessors()));
    }
    synchronized (POOLS) {
      Pool pool = POOLS.get(count);
      if (pool == null) {
        pool = new Pool(count, count == 1 ? 0 : Native.createPool(count));
        POOLS.put(count, pool);
      }
      pool.users++;
      return pool;
    }
  }

  void release() {
    synchronized (POOLS) {
      if (--users > 0) return;
      POOLS.remove(threads);
    }
    Native.destroyPool(pointer);
  }
}
