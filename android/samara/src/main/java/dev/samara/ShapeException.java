// SPDX-License-Identifier: Apache-2.0
// An error of samara, with the same name as in Python and Swift.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** A name, shape or type does not fit what the model expects. */
public class ShapeException extends SamaraException {
  private static final long serialVersionUID = 1;

  ShapeException(@NonNull Status status, @NonNull String message, @Nullable String fix) {
    super(status, message, fix);
  }
}
