// SPDX-License-Identifier: Apache-2.0
// The session in C: used by one thread at a time, destroyed once, by whoever leaves last.
package dev.samara;

import java.util.concurrent.atomic.AtomicInteger;

/** Guards the address of a session. It must not refer to the Session, whose Reaper holds it. */
final class SessionHandle {
  private static final int BUSY = 1;
  private static final int CLOSED = 2;

  private final AtomicInteger state = new AtomicInteger();
  private final ModelHandle model;
  private final Pool pool;
  private long pointer; // 0 when destroyed

  /** Takes one use of the model and of the pool. */
  SessionHandle(long pointer, ModelHandle model, Pool pool) {
    this.pointer = pointer;
    this.model = model;
    this.pool = pool;
  }

  /** The session's address for one call; leave() follows in a finally. */
  long enter() {
    if (!state.compareAndSet(0, BUSY)) throw refused();
    return pointer;
  }

  void leave() {
    if (!state.compareAndSet(BUSY, 0)) destroy(); // closed meanwhile
  }

  /** Cancels the run that is going on; the session is destroyed now, or when that has ended. */
  void close() {
    if (marks()) Stop.until(this::cancel);
  }

  /** As close(), but a run that is going on ends as it would have: its caller waits for it. */
  void abandon() {
    marks();
  }

  /** No call begins from here on. Whether one is going on, which is to destroy the session. */
  private boolean marks() {
    while (true) {
      int before = state.get();
      if ((before & CLOSED) != 0) return false;
      if (!state.compareAndSet(before, before | CLOSED)) continue;
      if (before == 0) destroy();
      return before != 0;
    }
  }

  /** Any thread; whether there was a session. */
  synchronized boolean cancel() {
    if (pointer == 0) return false;
    Native.cancel(pointer);
    return true;
  }

  boolean isBusy() {
    return (state.get() & BUSY) != 0;
  }

  boolean isClosed() {
    return (state.get() & CLOSED) != 0;
  }

  private void destroy() {
    long last;
    synchronized (this) {
      last = pointer;
      pointer = 0;
    }
    Native.destroySession(last);
    pool.release();
    model.release();
  }

  private SamaraException refused() {
    if (isClosed()) {
      return new SamaraException(
          Status.BAD_STATE, "the session is closed", "create another one, or close it later");
    }
    return new SamaraException(
        Status.BAD_STATE,
        "the session is in use by another thread",
        "give each thread a session of its own");
  }
}
