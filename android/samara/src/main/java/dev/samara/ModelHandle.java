// SPDX-License-Identifier: Apache-2.0
// The model in C, which lives as long as anything that uses it.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.concurrent.atomic.AtomicBoolean;

/** Counts the users of a model: its Java object, sessions, and current calls. */
final class ModelHandle {
  private final long pointer;
  // Memory that the model reads, if it was opened from a buffer.
  @Nullable private Object memory;
  private int users = 1;
  private final AtomicBoolean closed = new AtomicBoolean();

  ModelHandle(long pointer, @Nullable Object memory) {
    this.pointer = pointer;
    this.memory = memory;
  }

  /** The model's address; call release() afterwards. */
  long use() {
    synchronized (this) {
      if (!closed.get()) {
        users++;
        return pointer;
      }
    }
    throw new SamaraException(
        Status.BAD_STATE, "the model is closed", "open it again, or close it later");
  }

  void release() {
    synchronized (this) {
      if (--users > 0) return;
    }
    Native.closeModel(pointer);
    memory = null;
  }

  /** Refuses further uses; current ones complete. May be called twice. */
  void close() {
    synchronized (this) {
      if (!closed.compareAndSet(false, true)) return;
    }
    release();
  }

  boolean isClosed() {
    return closed.get();
  }

  /** The bytes that describe the model. */
  @NonNull
  byte[] describe() {
    long model = use();
    try {
      return Native.describe(model);
    } finally {
      release();
    }
  }
}
