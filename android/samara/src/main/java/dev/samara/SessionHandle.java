// SPDX-License-Identifier: Apache-2.0
// The session in C: used by one thread at a time, destroyed once, by whoever leaves last.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** Guards the address of a session. It must not refer to the Session, whose Reaper holds it. */
final class SessionHandle {
  private static final int BUSY = 1;
  private static final int CLOSED = 2;

  private final AtomicInteger state = new AtomicInteger();
  private final ModelHandle model;
  private final Pool pool;
  // Memory that C reads or writes for as long as the session is there.
  @Nullable private final Object memory;
  private final Object[] inputs;
  private final Object[] outputs;
  private long pointer; // 0 when destroyed

  /** Takes one use of the model and of the pool. */
  SessionHandle(
      long pointer, ModelHandle model, Pool pool, FunctionInfo function, @Nullable Object memory) {
    this.pointer = pointer;
    this.memory = memory;
    inputs = new Object[function.getInputs().size()];
    outputs = new Object[function.getOutputs().size()];
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

  /** What {@code work} returns of the session's address, for calls that may make garbage. */
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

  /** Keeps the memory that an input is read from. In the session's thread. */
  void bindInput(int index, @NonNull Object buffer) {
    inputs[index] = buffer;
  }

  /** Keeps the memory that an output is computed into; null: none. In the session's thread. */
  void bindOutput(int index, @Nullable Object buffer) {
    outputs[index] = buffer;
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
