// SPDX-License-Identifier: Apache-2.0
// The status codes of the C interface.
package dev.samara;

import androidx.annotation.NonNull;

/** Why a call failed: {@code samara_status} of the C interface. */
public enum Status {
  BAD_ARGUMENT(10),
  BAD_SHAPE(11),
  NOT_FOUND(12),
  BAD_STATE(13),
  BAD_MODEL(20),
  BAD_VERSION(21),
  BAD_CHECKSUM(22),
  SELFTEST_FAILED(23),
  UNSUPPORTED(30),
  OUT_OF_MEMORY(40),
  LIMIT(41),
  CANCELLED(42),
  IO(50),
  BAD_DATA(60),
  TRAP(61),
  CUSTOM_OP(62),
  BACKEND(70),
  /** A code that these classes do not know. */
  UNKNOWN(-1);

  private final int code;

  Status(int code) {
    this.code = code;
  }

  /** The number of the code, as in C. */
  public int getCode() {
    return code;
  }

  @NonNull
  static Status of(int code) {
    for (Status status : values()) {
      if (status.code == code) return status;
    }
    return UNKNOWN;
  }
}
