// SPDX-License-Identifier: Apache-2.0
// Counters of a session's devices.
package dev.samara;

import androidx.annotation.NonNull;

/** Counters of a session's devices, and why the CPU took over, if it did. */
public final class BackendReport {
  private final long[] numbers;
  private final String failure;

  // Indices into `numbers`, in the order of libsamara_jni.
  private static final int ACTIVE = 0;
  private static final int SETTLED = 1;
  private static final int REGIONS = 2;
  private static final int NODES = 3;
  private static final int DEVICE_RUNS = 4;
  private static final int REPEATED = 5;
  private static final int DEVICE_BYTES = 6;
  private static final int CHECKS = 7;
  private static final int LAUNCHES = 8;
  private static final int COPIES = 9;
  private static final int COPIED_BYTES = 10;
  private static final int COUNT = 11;

  BackendReport(@NonNull byte[] packed) {
    Blob blob = new Blob(packed);
    numbers = blob.longs(COUNT);
    failure = blob.text();
  }

  /** Whether the next run uses a device. */
  public boolean isActive() {
    return numbers[ACTIVE] != 0;
  }

  /** Whether the choice between CPU and devices is final; takes some runs with "auto". */
  public boolean isSettled() {
    return numbers[SETTLED] != 0;
  }

  /** Regions that run on devices. */
  public long getRegions() {
    return numbers[REGIONS];
  }

  /** Nodes in these regions. */
  public long getNodes() {
    return numbers[NODES];
  }

  /** Runs that used a device. */
  public long getDeviceRuns() {
    return numbers[DEVICE_RUNS];
  }

  /** Runs that failed on a device and were repeated on the CPU. */
  public long getRepeated() {
    return numbers[REPEATED];
  }

  /** Device memory held by the session, without weights. */
  public long getDeviceBytes() {
    return numbers[DEVICE_BYTES];
  }

  /** Nodes that were also computed on the CPU, with the same result. */
  public long getChecks() {
    return numbers[CHECKS];
  }

  /** Kernels of the last run with devices; 0 if the backends do not count them. */
  public long getLaunches() {
    return numbers[LAUNCHES];
  }

  /** Copies between the host and devices. */
  public long getCopies() {
    return numbers[COPIES];
  }

  /** Bytes of these copies. */
  public long getCopiedBytes() {
    return numbers[COPIED_BYTES];
  }

  /** Why the CPU took over; empty if it did not. */
  @NonNull
  public String getFailure() {
    return failure;
  }

  @NonNull
  @Override
  public String toString() {
    String failed = failure.isEmpty() ? "" : ", failure=" + failure;
    return "BackendReport(active=" + isActive() + ", nodes=" + getNodes() + failed + ")";
  }
}
