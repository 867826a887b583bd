// SPDX-License-Identifier: Apache-2.0
// How a model is opened.
package dev.samara;

import androidx.annotation.NonNull;

/**
 * Options of a {@link Model}; what is not set is as without options.
 *
 * <pre>{@code Model.fromFile(file, new ModelOptions().copy(true).verify(true))}</pre>
 */
public final class ModelOptions {
  // samara_verify of the C interface.
  private static final int SMALL = 0;
  private static final int ALWAYS = 1;
  private static final int NEVER = 2;

  private boolean copy;
  private int verify = SMALL;

  /** Read all of the file, or the buffer, into memory of the model's own, and leave it alone then. */
  @NonNull
  public ModelOptions copy(boolean on) {
    copy = on;
    return this;
  }

  /**
   * Whether weights are compared with the checksums in the file when it is opened; without this call
   * those of files of at most 64 MiB are.
   */
  @NonNull
  public ModelOptions verify(boolean on) {
    verify = on ? ALWAYS : NEVER;
    return this;
  }

  boolean copy() {
    return copy;
  }

  int verify() {
    return verify;
  }
}
