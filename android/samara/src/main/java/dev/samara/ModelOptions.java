// SPDX-License-Identifier: Apache-2.0
// How a model is opened.
package dev.samara;

import androidx.annotation.NonNull;

/**
 * Options of a {@link Model}; unset options have their defaults.
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

  /** Copy the whole file or buffer into the model's own memory. */
  @NonNull
  public ModelOptions copy(boolean on) {
    copy = on;
    return this;
  }

  /**
   * Whether opening compares weights with their checksums; default: only in files of at most 64
   * MiB.
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
