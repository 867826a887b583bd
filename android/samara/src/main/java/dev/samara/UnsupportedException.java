// SPDX-License-Identifier: Apache-2.0
// An error of samara, with the same name as in Python and Swift.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/** The model or the request is valid, but this version of samara cannot do it. */
public final class UnsupportedException extends SamaraException {
  private static final long serialVersionUID = 1;

  UnsupportedException(@NonNull Status status, @NonNull String message, @Nullable String fix) {
    super(status, message, fix);
  }
}
