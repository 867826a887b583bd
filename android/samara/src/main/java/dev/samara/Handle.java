// SPDX-License-Identifier: Apache-2.0
// An object in C that one thread at a time uses, destroyed once, by the last user.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** Guards the address of an object. It must not refer to the Java object, because the Reaper holds
 * it. */
abstract class Handle {
  private static final int BUSY = 1;
  private static final int CLOSED = 2;

  private final AtomicInteger state = new AtomicInteger();
  private final String what;
  private long pointer; // 0 when destroyed

  /** what: the noun of messages. */
  Handle(long pointer, @NonNull String what) {
    this.pointer = pointer;
    this.what = what;
  }

  /** Asks the current call in C to stop; any thread. */
  abstract void cancel(long object);

  /** Destroys the object, and releases what it holds. */
  abstract void destroy(long object);

  /** The object's address for one call; call leave() in a finally. */
  long enter() {
    if (!state.compareAndSet(0, BUSY)) throw refused();
    return pointer;
  }

  void leave() {
    if (!state.compareAndSet(BUSY, 0)) destroy(); // closed meanwhile
  }

  /** Calls {@code work} with the object's address; for calls that may allocate. */
  <T> T get(@NonNull LongFunction<T> work) {
    long object = enter();
    try {
      return work.apply(object);
    } finally {
      leave();
    }
  }

  void call(@NonNull LongConsumer work) {
    long object = enter();
    try {
      work.accept(object);
    } finally {
      leave();
    }
  }

  /** Cancels the current call; the object is destroyed now, or when the call has ended. */
  void close() {
    if (marks()) Stop.until(this::cancel);
  }

  /** As close(), but a current call is not cancelled: its caller waits for it. */
  void abandon() {
    marks();
  }

  /** Refuses further calls. Returns whether there is a current call, which then destroys the
   * object. */
  private boolean marks() {
    while (true) {
      int before = state.get();
      if ((before & CLOSED) != 0) return false;
      if (!state.compareAndSet(before, before | CLOSED)) continue;
      if (before == 0) destroy();
      return before != 0;
    }
  }

  /** Any thread; returns whether there was an object. */
  synchronized boolean cancel() {
    if (pointer == 0) return false;
    cancel(pointer);
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
    destroy(last);
  }

  private SamaraException refused() {
    if (isClosed()) {
      return new SamaraException(
          Status.BAD_STATE, "the " + what + " is closed", "create another one, or close it later");
    }
    return new SamaraException(
        Status.BAD_STATE,
        "the " + what + " is in use by another thread",
        "give each thread a " + what + " of its own");
  }
}
