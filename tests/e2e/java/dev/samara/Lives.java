// SPDX-License-Identifier: Apache-2.0
// Many sessions, many threads, garbage collection, cancellation.
package dev.samara;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Lifetimes of objects. The second argument is the number of sessions to open. */
public final class Lives {
  private static final int THREADS = 8;

  private Lives() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    int count = Integer.parseInt(arguments[1]);
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      cancelled(folder, threads);
      busy(folder, threads);
      closedWhileRunning(folder, threads);
      ordered(folder, threads);
      refused(folder);
      shared(folder, threads);
      collected(folder);
      collectedWhileRunning(folder, threads);
      flat(folder, threads, count);
    } finally {
      threads.shutdown();
      Check.that(threads.awaitTermination(10, TimeUnit.SECONDS), "threads");
    }
  }

  /** A run that takes days unless it is cancelled. */
  private static Map<String, Object> days() {
    Map<String, Object> inputs = new HashMap<>();
    inputs.put("trips", new long[] {1L << 40});
    inputs.put("x", new float[64]);
    return inputs;
  }

  private static Map<String, Object> trips(long count) {
    Map<String, Object> inputs = days();
    inputs.put("trips", new long[] {count});
    return inputs;
  }

  private static Throwable failure(Future<?> future) throws InterruptedException {
    try {
      future.get();
    } catch (ExecutionException failure) {
      return failure.getCause();
    }
    throw new AssertionError("no failure");
  }

  private static void cancelled(String folder, ExecutorService threads) throws Exception {
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      session.cancel(); // nothing is going on
      Future<?> run = threads.submit(() -> session.run(days()));
      while (!run.isDone()) {
        session.cancel();
        Thread.sleep(1);
      }
      Check.equal(failure(run).getClass(), CancelledException.class);
      Check.equal(session.run(trips(2)).get("y").floats()[0], 2f);

      CompletableFuture<Map<String, Tensor>> future = session.runAsync(days(), threads);
      CompletableFuture<Map<String, Tensor>> second = session.runAsync(days(), threads);
      CompletableFuture<Map<String, Tensor>> third = session.runAsync(trips(3), threads);
      Check.that(second.cancel(true), "a run that waits");
      Thread.sleep(50);
      Check.that(!third.isDone(), "behind the others");
      Check.that(future.cancel(true), "a run that goes on");
      Check.equal(third.get().get("y").floats()[0], 3f);
      for (Future<?> each : Arrays.asList(future, second)) {
        Check.that(each.isCancelled(), "cancelled");
        try {
          each.get();
          throw new AssertionError("a result");
        } catch (CancellationException expected) {
          Check.that(!third.cancel(true), "it is done");
        }
      }
    }
    try (Model model = Check.model(folder, "loop");
        Session quick = new Session(model, new SessionOptions().deadlineMicros(20000));
        Session brief = new Session(model, new SessionOptions().maxSteps(100))) {
      Check.fails(LimitException.class, Status.LIMIT, "", () -> quick.run(days()));
      Check.fails(LimitException.class, Status.LIMIT, "", () -> brief.run(days()));
    }
  }

  private static void busy(String folder, ExecutorService threads) throws Exception {
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      Future<?> run = threads.submit(() -> session.run(days()));
      while (!session.handle.isBusy()) Thread.yield();
      SamaraException refused =
          Check.fails(
              SamaraException.class, Status.BAD_STATE, "in use by another thread", session::run);
      Check.that(refused.getFix() != null, "a fix");
      while (!run.isDone()) {
        session.cancel();
        Thread.sleep(1);
      }
      Check.equal(session.run(trips(1)).get("y").floats()[63], 1f);
    }
  }

  /** Closing a session ends its run at any point. */
  private static void closedWhileRunning(String folder, ExecutorService threads) throws Exception {
    for (int i = 0; i < 50; i++) {
      Session session;
      try (Model model = Check.model(folder, "loop")) {
        session = new Session(model);
      }
      Future<?> run = threads.submit(() -> session.run(days()));
      if (i % 2 == 0) {
        while (!session.handle.isBusy()) Thread.yield();
      }
      session.close();
      SamaraException found = (SamaraException) failure(run);
      boolean cancelled = found.getStatus() == Status.CANCELLED;
      Check.that(cancelled || found.getStatus() == Status.BAD_STATE, found.toString());
    }
  }

  private static void ordered(String folder, ExecutorService threads) throws Exception {
    StringBuffer order = new StringBuffer();
    CompletableFuture<?>[] runs = new CompletableFuture<?>[9];
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      for (int i = 0; i < runs.length; i++) {
        int number = i;
        runs[i] =
            session
                .runAsync(trips(10 * (runs.length - i)), threads)
                .thenAccept(out -> order.append(number).append((int) out.get("y").floats()[0]));
      }
      CompletableFuture.allOf(runs).get();
      Check.equal(order.toString(), "090180270360450540630720810".replaceAll("(.)(.)(.)", "$1$2$3"));
      session.setInput("trips", new long[] {5});
      session.setInput("x", new float[64]);
      session.runAsync(threads).get();
      Check.equal(session.getOutput("y").floats()[0], 5f);
    }
  }

  private static void refused(String folder) throws Exception {
    ExecutorService gone = Executors.newSingleThreadExecutor();
    gone.shutdown();
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      CompletableFuture<?> first = session.runAsync(trips(1), gone);
      Check.that(failure(first) instanceof RuntimeException, "refused");
      Check.equal(session.runAsync(trips(4), Runnable::run).get().get("y").floats()[0], 4f);
    }
  }

  /** One model, a session for each of many threads, at once. */
  private static void shared(String folder, ExecutorService threads) throws Exception {
    float[] image = Check.numbers(3 * 8 * 8);
    AtomicInteger different = new AtomicInteger();
    try (Model model = Check.model(folder, "small");
        Session one = new Session(model, new SessionOptions().threads(1))) {
      Tensor in = Tensor.of(image, 1, 3, 8, 8);
      Tensor wanted = one.run(Collections.singletonMap("image", in)).get("score");
      Future<?>[] all = new Future<?>[THREADS];
      for (int i = 0; i < THREADS; i++) {
        int count = 1 + i % 3;
        all[i] =
            threads.submit(
                () -> {
                  try (Session own = new Session(model, new SessionOptions().threads(count))) {
                    for (int n = 0; n < 200; n++) {
                      Tensor got = own.run(Collections.singletonMap("image", in)).get("score");
                      if (!got.equals(wanted)) different.incrementAndGet();
                    }
                  }
                });
      }
      for (Future<?> each : all) each.get();
    }
    Check.equal(different.get(), 0);
    misused(folder, threads);
  }

  /** One session that many threads misuse: each call works or is refused. */
  private static void misused(String folder, ExecutorService threads) throws Exception {
    for (int round = 0; round < 20; round++) {
      AtomicInteger refused = new AtomicInteger();
      Future<?>[] all = new Future<?>[THREADS];
      try (Model model = Check.model(folder, "counter")) {
        Session session = new Session(model);
        for (int i = 0; i < THREADS; i++) {
          int number = i;
          all[i] =
              threads.submit(
                  () -> {
                    for (int n = 0; n < 200; n++) {
                      try {
                        if (number == 0 && n == 150) session.close();
                        else if (number == 1) session.cancel();
                        else if (number == 2) session.getState().save();
                        else if (number == 3) session.setInput("x", new float[2]);
                        else session.run();
                      } catch (SamaraException failure) {
                        if (failure.getStatus() != Status.BAD_STATE
                            && failure.getStatus() != Status.CANCELLED) {
                          throw failure;
                        }
                        refused.incrementAndGet();
                      }
                    }
                  });
        }
        for (Future<?> each : all) each.get();
        Check.fails(SamaraException.class, Status.BAD_STATE, "closed", session::run);
      }
      Check.that(refused.get() > 0, "some were refused");
    }
  }

  // ---- garbage ----

  private static void leak(String folder, String name) {
    Model model = Check.model(folder, name);
    Session session = new Session(model);
    session.getFunction();
  }

  private static void collected(String folder) throws Exception {
    long before = Reaper.count();
    for (int i = 0; i < 20; i++) leak(folder, "small");
    for (int i = 0; Reaper.count() < before + 40 && i < 200; i++) {
      System.gc();
      Thread.sleep(10);
    }
    Check.equal(Reaper.count(), before + 40);
  }

  private static Session session(String folder) {
    Model model = Check.model(folder, "counter");
    return new Session(model); // only the session refers to the model
  }

  private static Session ofBuffer(String folder) throws Exception {
    byte[] bytes = Files.readAllBytes(new File(folder, "counter.samara").toPath());
    ByteBuffer buffer = Check.direct(bytes.length);
    buffer.put(bytes).flip();
    try (Model model = Model.fromBuffer(buffer)) {
      return new Session(model); // only the model refers to the buffer
    }
  }

  private static void collectedWhileRunning(String folder, ExecutorService threads)
      throws Exception {
    Future<?> collector =
        threads.submit(
            () -> {
              byte[][] garbage = new byte[64][];
              for (int i = 0; i < 4000; i++) garbage[i % 64] = new byte[100000];
              for (int i = 0; i < 20; i++) System.gc();
            });
    // Nothing holds this session but its own call, which goes on for as long as the collector works.
    Future<Map<String, Tensor>> alone =
        threads.submit(() -> new Session(Check.model(folder, "loop")).run(trips(2000000)));
    Session[] all = {session(folder), ofBuffer(folder)};
    while (!collector.isDone()) {
      for (Session session : all) {
        float[] y = new float[2];
        session.reset();
        session.setInput("x", new float[] {1, 2});
        session.run();
        session.getOutput("y", y);
        Check.that(Arrays.equals(y, new float[] {22, 44}), "a model that was collected");
      }
      session(folder).run();
    }
    for (Session session : all) session.close();
    Check.equal(alone.get().get("y").floats()[0], 2000000f);
  }

  // ---- memory ----

  private static long residentBytes() throws Exception {
    byte[] status = Files.readAllBytes(new File("/proc/self/status").toPath());
    for (String line : new String(status, StandardCharsets.US_ASCII).split("\n")) {
      if (line.startsWith("RssAnon:")) return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
    }
    throw new AssertionError("no RssAnon");
  }

  private static void flat(String folder, ExecutorService threads, int count) throws Exception {
    if (!new File("/proc/self/status").exists()) return;
    openRunClose(folder, threads, count);
    // The machine's own memory (compilers, stacks of threads) comes and goes; a leak grows each time.
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 3; round++) {
      long before = settled();
      openRunClose(folder, threads, count);
      least = Math.min(least, settled() - before);
    }
    System.out.println("grown=" + least / 1024);
    // A model and its session take some 30 KB.
    Check.that(least < 4096L * count, "memory grew by " + least + " bytes");
  }

  private static long settled() throws Exception {
    System.gc();
    Thread.sleep(100);
    return residentBytes();
  }

  private static void openRunClose(String folder, ExecutorService threads, int count)
      throws Exception {
    float[] image = Check.numbers(3 * 8 * 8);
    Future<?>[] all = new Future<?>[THREADS];
    for (int i = 0; i < THREADS; i++) {
      all[i] =
          threads.submit(
              () -> {
                float[] score = new float[4];
                for (int n = 0; n < count / THREADS; n++) {
                  try (Model model = Check.model(folder, "small");
                      Session session = new Session(model, new SessionOptions().threads(2))) {
                    session.resize("image", 1, 3, 8, 8);
                    session.setInput("image", image);
                    session.run();
                    session.getOutput("score", score);
                  }
                }
              });
    }
    for (Future<?> each : all) each.get();
  }
}
