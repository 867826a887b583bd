// SPDX-License-Identifier: Apache-2.0
// The session in C, with what it holds.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** Guards the address of a session. */
final class SessionHandle extends Handle {
  private final ModelHandle model;
  private final Pool pool;
  // Memory that C reads or writes until the session is destroyed.
  @Nullable private final Object memory;
  private final Object[] inputs;
  private final Object[] outputs;

  /** Holds one use of the model and of the pool. */
  SessionHandle(
      long pointer, ModelHandle model, Pool pool, FunctionInfo function, @Nullable Object memory) {
    super(pointer, "session");
    this.memory = memory;
    inputs = new Object[function.getInputs().size()];
    outputs = new Object[function.getOutputs().size()];
    this.model = model;
    this.pool = pool;
  }

  /** Keeps the memory of a bound input alive. In the session's thread. */
  void bindInput(int index, @NonNull Object buffer) {
    inputs[index] = buffer;
  }

  /** Keeps the memory of a bound output alive; null: none. In the session's thread. */
  void bindOutput(int index, @Nullable Object buffer) {
    outputs[index] = buffer;
  }

  @Override
  void cancel(long session) {
    Native.cancel(session);
  }

  @Override
  void destroy(long session) {
    Native.destroySession(session);
    pool.release();
    model.release();
  }
}
