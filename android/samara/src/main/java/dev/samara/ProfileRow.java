// SPDX-License-Identifier: Apache-2.0
// Time of one node of a run.
package dev.samara;

import androidx.annotation.NonNull;
import java.util.ArrayList;
import java.util.List;

/** Time of one node in the last run; iterations of a loop add up. */
public final class ProfileRow {
  private final String node;
  private final String op;
  private final String kernel;
  private final String function;
  private final long startNanos;
  private final long totalNanos;
  private final long count;

  private ProfileRow(Blob blob) {
    node = blob.text();
    op = blob.text();
    kernel = blob.text();
    function = blob.text();
    startNanos = blob.wide();
    totalNanos = blob.wide();
    count = blob.wide();
  }

  @NonNull
  static List<ProfileRow> read(@NonNull byte[] packed) {
    Blob blob = new Blob(packed);
    List<ProfileRow> rows = new ArrayList<>();
    for (int n = blob.number(); n > 0; n--) rows.add(new ProfileRow(blob));
    return rows;
  }

  @NonNull
  public String getNode() {
    return node;
  }

  @NonNull
  public String getOp() {
    return op;
  }

  @NonNull
  public String getKernel() {
    return kernel;
  }

  @NonNull
  public String getFunction() {
    return function;
  }

  /** Of its first execution, from the start of the run. */
  public long getStartNanos() {
    return startNanos;
  }

  public long getTotalNanos() {
    return totalNanos;
  }

  /** How often it was executed. */
  public long getCount() {
    return count;
  }

  @NonNull
  @Override
  public String toString() {
    return op + " '" + node + "' " + kernel + " " + totalNanos / 1000 + " us";
  }
}
