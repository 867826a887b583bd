// SPDX-License-Identifier: Apache-2.0
// Where a node of a session runs.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Where a node runs, "cpu" or a device such as "opencl:0", and why. */
public final class PlacementRow {
  private final String function;
  private final String node;
  private final String op;
  private final String device;
  private final String reason;
  private final String runnerUp;
  private final double costMicros;
  private final double runnerUpMicros;
  private final int region;

  private PlacementRow(Blob blob) {
    function = blob.text();
    node = blob.text();
    op = blob.text();
    device = blob.text();
    reason = blob.text();
    runnerUp = blob.text();
    costMicros = blob.wideReal();
    runnerUpMicros = blob.wideReal();
    region = blob.number();
  }

  @NonNull
  static List<PlacementRow> read(@NonNull byte[] packed) {
    Blob blob = new Blob(packed);
    List<PlacementRow> rows = new ArrayList<>();
    for (int count = blob.number(); count > 0; count--) rows.add(new PlacementRow(blob));
    return Collections.unmodifiableList(rows);
  }

  @NonNull
  public String getFunction() {
    return function;
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
  public String getDevice() {
    return device;
  }

  /** Why it runs there. */
  @NonNull
  public String getReason() {
    return reason;
  }

  /** Estimated time there; 0 if not estimated. */
  public double getCostMicros() {
    return costMicros;
  }

  /** The second best device, or null. */
  @Nullable
  public String getRunnerUp() {
    return runnerUp.isEmpty() ? null : runnerUp;
  }

  /** Estimated time on the second best device. */
  public double getRunnerUpMicros() {
    return runnerUpMicros;
  }

  /** Number of the node's region; 0 on the CPU. */
  public int getRegion() {
    return region;
  }

  @NonNull
  @Override
  public String toString() {
    return op + " '" + node + "' on " + device + ": " + reason;
  }
}
