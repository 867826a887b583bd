// SPDX-License-Identifier: Apache-2.0
// Runs in executors that misbehave, and callbacks that throw.
package dev.samara;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Later runs go on, whatever executors and callbacks do. */
public final class Async {
  private Async() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      answers(folder, threads);
      failing(folder, threads);
      twice(folder, threads);
      throwing(folder, threads);
      misused(folder);
    } finally {
      threads.shutdown();
    }
  }

  private static void answers(String folder, Executor threads) throws Exception {
    Image image = Image.of(Image.Format.RGB, 4, 4, new byte[48]);
    try (Model model = Check.model(folder, "classes");
        Session session = new Session(model)) {
      String wanted = session.predict(image).toString();
      Map<String, Image> named = Collections.singletonMap("image", image);
      Check.equal(session.predict(named).toString(), wanted);
      List<CompletableFuture<Answer>> all = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        all.add(session.predictAsync(image, threads));
        all.add(session.predictAsync(named, threads));
        all.add(session.predictAsync(threads));
      }
      for (CompletableFuture<Answer> each : all) Check.equal(each.get().toString(), wanted);
    }
  }

  private static Map<String, Object> trips(long count) {
    Map<String, Object> inputs = new java.util.HashMap<>();
    inputs.put("trips", new long[] {count});
    inputs.put("x", new float[64]);
    return inputs;
  }

  private static float first(CompletableFuture<Map<String, Tensor>> future) throws Exception {
    return future.get().get("y").floats()[0];
  }

  private static Throwable failure(CompletableFuture<?> future) throws InterruptedException {
    try {
      future.get();
    } catch (ExecutionException failure) {
      return failure.getCause();
    }
    throw new AssertionError("no failure");
  }

  /** An executor that throws, as one does that cannot make a thread. */
  private static void failing(String folder, Executor threads) throws Exception {
    Error none = new OutOfMemoryError("unable to create native thread");
    RuntimeException full = new java.util.concurrent.RejectedExecutionException("full");
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      CompletableFuture<Map<String, Tensor>> one = session.runAsync(trips(200000), threads);
      CompletableFuture<?> two =
          session.runAsync(
              trips(1),
              run -> {
                throw none;
              });
      CompletableFuture<?> three =
          session.runAsync(
              trips(1),
              run -> {
                throw full;
              });
      CompletableFuture<Map<String, Tensor>> four = session.runAsync(trips(4), threads);
      Check.equal(first(one), 200000f);
      Check.equal(failure(two), none);
      Check.equal(failure(three), full);
      Check.equal(first(four), 4f);
    }
  }

  /** An executor that runs its task twice: the second time does nothing. */
  private static void twice(String folder, Executor threads) throws Exception {
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      Executor doubles =
          run -> {
            threads.execute(run);
            threads.execute(run);
          };
      List<CompletableFuture<Map<String, Tensor>>> all = new ArrayList<>();
      for (int i = 0; i < 200; i++) all.add(session.runAsync(trips(i), doubles));
      for (int i = 0; i < all.size(); i++) Check.equal(first(all.get(i)), (float) i);
    }
  }

  private static void throwing(String folder, Executor threads) throws Exception {
    IllegalStateException mine = new IllegalStateException("mine");
    try (Model model = Check.model(folder, "loop");
        Session session = new Session(model)) {
      CompletableFuture<Map<String, Tensor>> run = session.runAsync(trips(2), threads);
      CompletableFuture<Object> after =
          run.thenApply(
              made -> {
                throw mine;
              });
      CompletableFuture<Map<String, Tensor>> next = session.runAsync(trips(3), threads);
      Check.equal(failure(after), mine);
      Check.equal(first(run), 2f);
      Check.equal(first(next), 3f);
      // A callback that closes the session, in the thread that ran it.
      session.runAsync(trips(1), threads).thenAccept(made -> end(session)).get();
      Check.equal(
          ((SamaraException) failure(session.runAsync(trips(1), threads))).getStatus(),
          Status.BAD_STATE);
    }
  }

  private static void end(Session session) {
    session.close();
  }

  private static void misused(String folder) {
    Class<ArgumentException> type = ArgumentException.class;
    Status status = Status.BAD_ARGUMENT;
    Image image = Image.of(Image.Format.RGB, 4, 4, new byte[48]);
    try (Model model = Check.model(folder, "classes");
        Session session = new Session(model)) {
      Check.fails(type, status, "null", () -> session.predictAsync((Image) null, Runnable::run));
      Check.fails(
          type, status, "null",
          () -> session.predictAsync((Map<String, Image>) null, Runnable::run));
      Check.fails(type, status, "null", () -> session.predictAsync(image, null));
      Check.fails(type, status, "null", () -> session.predictAsync(null));
      Check.fails(type, status, "null", () -> session.predict((Map<String, Image>) null));
    }
  }
}
