// SPDX-License-Identifier: Apache-2.0
// The text model in C, with what it holds.
package dev.samara;

import androidx.annotation.Nullable;

/** Guards the address of a text model. A call is made of many runs, so C alone cannot cancel it. */
final class TextHandle extends Handle {
  final ModelHandle model;
  private final Pool pool;
  // Memory that C reads until the text model is destroyed.
  @Nullable private final Object memory;
  private volatile int call; // the number of the current or last call
  private volatile int stopped; // the last call that was cancelled

  /** Holds one use of the model and of the pool. */
  TextHandle(long pointer, ModelHandle model, Pool pool, @Nullable Object memory) {
    super(pointer, "text model");
    this.model = model;
    this.pool = pool;
    this.memory = memory;
  }

  @Override
  long enter() {
    synchronized (this) { // whoever sees that a call has begun sees its number
      long text = super.enter();
      call++; // a cancel of the call before does not reach this one
      return text;
    }
  }

  @Override
  void cancel(long text) {
    stopped = call;
    Native.cancelText(text);
  }

  /** Cancels the current call, wherever it is; without one it does nothing. */
  void stop() {
    int which;
    synchronized (this) {
      which = call;
    }
    if (stopped == which) stop(which); // a thread repeats it already
    else Stop.until(() -> stop(which));
  }

  private synchronized boolean stop(int which) {
    return which == call && isBusy() && cancel();
  }

  /** Throws if the current call was cancelled. */
  void check() {
    if (stopped != call) return;
    throw new CancelledException(
        Status.CANCELLED, "the text was cancelled", "call again: what has run is in the cache");
  }

  @Override
  void destroy(long text) {
    Native.destroyTextModel(text);
    pool.release();
    model.release();
  }
}
