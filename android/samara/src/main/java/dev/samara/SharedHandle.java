// SPDX-License-Identifier: Apache-2.0
// An object in C that any number of threads use, destroyed by the last user.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.concurrent.atomic.AtomicBoolean;

/** Counts the users of an object: its Java object, objects made of it, and current calls. */
abstract class SharedHandle {
  private final long pointer;
  private final String what;
  private int users = 1;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** what: the noun of messages. */
  SharedHandle(long pointer, @NonNull String what) {
    this.pointer = pointer;
    this.what = what;
  }

  /** Destroys the object, and releases what it holds. */
  abstract void destroy(long object);

  /** The object's address; call release() afterwards. */
  long use() {
    synchronized (this) {
      if (!closed.get()) {
        users++;
        return pointer;
      }
    }
    throw closedFailure();
  }

  /** The same for one that something still uses, although it may be closed. */
  long share() {
    synchronized (this) {
      if (users > 0) {
        users++;
        return pointer;
      }
    }
    throw closedFailure();
  }

  void release() {
    synchronized (this) {
      if (--users > 0) return;
    }
    destroy(pointer);
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

  private SamaraException closedFailure() {
    return new SamaraException(
        Status.BAD_STATE, "the " + what + " is closed", "open it again, or close it later");
  }
}
