// SPDX-License-Identifier: Apache-2.0
// An error of samara, with the same name as in Python and Swift.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** A model file is malformed: truncated, corrupt, or not what its header claims. */
public final class ModelFormatException extends SamaraException {
  private static final long serialVersionUID = 1;

  ModelFormatException(@NonNull Status status, @NonNull String message, @Nullable String fix) {
    super(status, message, fix);
  }
}
