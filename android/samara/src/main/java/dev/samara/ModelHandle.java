// SPDX-License-Identifier: Apache-2.0
// The model in C, which lives as long as anything that uses it.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** Counts the users of a model: its Java object, sessions, and current calls. */
final class ModelHandle extends SharedHandle {
  // Memory that the model reads, if it was opened from a buffer.
  @Nullable private Object memory;

  ModelHandle(long pointer, @Nullable Object memory) {
    super(pointer, "model");
    this.memory = memory;
  }

  @Override
  void destroy(long model) {
    Native.closeModel(model);
    memory = null;
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
