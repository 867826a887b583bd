// SPDX-License-Identifier: Apache-2.0
// Garbage and time of a run.
package dev.samara;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;

/** Prints the nanoseconds of a run in Java; checks that it makes no garbage. */
public final class Speed {
  private Speed() {}

  public static void main(String[] arguments) {
    String folder = arguments[0];
    int runs = Integer.parseInt(arguments[1]);
    try (Model model = Check.model(folder, "static");
        Session session = new Session(model, new SessionOptions().threads(1))) {
      float[] x = Check.numbers(8);
      float[] y = new float[6];
      ByteBuffer in = Check.direct(32);
      ByteBuffer out = Check.direct(24);
      com.sun.management.ThreadMXBean threads =
          (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      long thread = Thread.currentThread().getId();
      long best = Long.MAX_VALUE;
      long bytes = 0;
      for (int round = 0; round < 10; round++) {
        threads.getThreadAllocatedBytes(thread);
        long before = threads.getThreadAllocatedBytes(thread);
        long begin = System.nanoTime();
        for (int i = 0; i < runs; i++) {
          session.setInput("x", x);
          session.run();
          session.getOutput("y", y);
        }
        long nanos = System.nanoTime() - begin;
        for (int i = 0; i < runs; i++) {
          session.setInput(0, in);
          session.run();
          session.getOutput(0, out);
        }
        bytes = threads.getThreadAllocatedBytes(thread) - before;
        best = Math.min(best, nanos / runs);
      }
      // What the measuring itself takes is the same for any number of runs.
      System.out.println("garbage=" + bytes);
      System.out.println("nanos=" + best);
      Check.that(bytes < runs, bytes + " bytes of garbage in " + 2 * runs + " runs");
    }
  }
}
