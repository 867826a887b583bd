// SPDX-License-Identifier: Apache-2.0
// An error of samara, with the same name as in Python and Swift.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** A limit was reached: memory, steps, or the deadline. */
public final class LimitException extends SamaraException {
  private static final long serialVersionUID = 1;

  LimitException(@NonNull Status status, @NonNull String message, @Nullable String fix) {
    super(status, message, fix);
  }
}
