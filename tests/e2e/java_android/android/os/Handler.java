// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library names, to run on a desktop JVM.
package android.os;

/** A thread that is called back in. */
public class Handler {}
