// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
package android.os;

public class Handler {
  Handler() {}
}
