// SPDX-License-Identifier: Apache-2.0
// The session in C: used by one thread at a time, destroyed once, by the last user.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** Guards the address of a session. It must not refer to the Session, because the Reaper holds
 * it. */
final class SessionHandle {
  private static final int BUSY = 1;
  private static final int CLOSED = 2;

  private final AtomicInteger state = new AtomicInteger();
  private final ModelHandle model;
  private final Pool pool;
  // Memory that C reads or writes until the session is destroyed.
  @Nullable private final Object memory;
  private final Object[] inputs;
  private final Object[] outputs;
  private long pointer; // 0 when destroyed

  /** Holds one use of the model and of the pool. */
  SessionHandle(
      long pointer, ModelHandle model, Pool pool, FunctionInfo function, @Nullable Object memory) {
    this.pointer = pointer;
    this.memory = memory;
    inputs = new Object[function.getInputs().size()];
    outputs = new Object[function.getOutputs().size()];
    this.model = model;
    this.pool = pool;
  }

  /** The session's address for one call; call leave() in a finally. */
  long enter() {
    if (!state.compareAndSet(0, BUSY)) throw refused();
    return pointer;
  }

  void leave() {
    if (!state.compareAndSet(BUSY, 0)) destroy(); // closed meanwhile
  }

  /** Calls {@code work} with the session's address; for calls that may allocate. */
  <T> T get(@NonNull LongFunction<T> work) {
    long session = enter();
    try {
      return work.apply(session);
    } finally {
      leave();
    }
  }

  void call(@NonNull LongConsumer work) {
    long session = enter();
    try {
      work.accept(session);
    } finally {
      leave();
    }
  }

  /** Keeps the memory of a bound input alive. In the session's thread. */
  void bindInput(int index, @NonNull Object buffer) {
    inputs[index] = buffer;
  }

  /** Keeps the memory of a bound output alive; null: none. In the session's thread. */
  void bindOutput(int index, @Nullable Object buffer) {
    outputs[index] = buffer;
  }

  /** Cancels the current run; the session is destroyed now, or when the run has ended. */
  void close() {
    if (marks()) Stop.until(this::cancel);
  }

  /** As close(), but a current run is not cancelled: its caller waits for it. */
  void abandon() {
    marks();
  }

  /** Refuses further calls. Returns whether there is a current call, which then destroys the
   * session. */
  private boolean marks() {
    while (true) {
      int before = state.get();
      if ((before & CLOSED) != 0) return false;
      if (!state.compareAndSet(before, before | CLOSED)) continue;
      if (before == 0) destroy();
      return before != 0;
    }
  }

  /** Any thread; returns whether there was a session. */
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
