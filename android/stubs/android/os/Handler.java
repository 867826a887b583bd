// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.os;

public class Handler {
  Handler() {}
}
