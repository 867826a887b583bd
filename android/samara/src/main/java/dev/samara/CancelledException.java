// SPDX-License-Identifier: Apache-2.0
// An error of samara, with the same name as in Python and Swift.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** The run was cancelled. */
public final class CancelledException extends SamaraException {
  private static final long serialVersionUID = 1;

  CancelledException(@NonNull Status status, @NonNull String message, @Nullable String fix) {
    super(status, message, fix);
  }
}
