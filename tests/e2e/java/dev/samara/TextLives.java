// SPDX-License-Identifier: Apache-2.0
// Text models that are cancelled, closed, shared, or forgotten.
package dev.samara;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Lifetimes of text models, tokenizers and streams. */
public final class TextLives {
  private static final int THREADS = 8;

  private TextLives() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      cancelled(folder, threads);
      prompts(folder, threads);
      goesOn(folder, threads);
      listeners(folder);
      asynchronous(folder, threads);
      closedWhileRunning(folder, threads);
      tokenizers(folder, threads);
      misused(folder, threads);
      collected(folder);
      collectedWhileRunning(folder, threads);
    } finally {
      threads.shutdown();
      Check.that(threads.awaitTermination(10, TimeUnit.SECONDS), "threads");
    }
  }

  /** Options of a text that takes days unless it is cancelled. */
  private static TextOptions days() {
    return new TextOptions().maxTokens(Integer.MAX_VALUE).ignoreEnd(true);
  }

  private static TextModel endless(String folder) {
    return Texts.open(folder, "endless", 1);
  }

  private static Throwable failure(Future<?> future) throws Exception {
    try {
      future.get(20, TimeUnit.SECONDS);
    } catch (ExecutionException failure) {
      return failure.getCause();
    }
    throw new AssertionError("no failure");
  }

  private static String made(TextModel model) {
    return model.generate(Texts.PROMPT, Texts.sampled().maxTokens(20)).getText();
  }

  // ---- cancelled ----

  /** One cancel is enough, wherever the text is; the call can be repeated. */
  private static void cancelled(String folder, ExecutorService threads) throws Exception {
    try (TextModel model = endless(folder)) {
      String wanted = made(model);
      model.cancel(); // nothing is going on
      Check.equal(made(model), wanted);
      for (int i = 0; i < 60; i++) {
        Future<?> run = threads.submit(() -> model.generate("a", days()));
        while (!model.handle.isBusy()) Thread.yield();
        if (i % 3 == 1) Thread.sleep(i / 4);
        model.cancel();
        if (i % 5 == 0) model.cancel();
        Check.equal(failure(run).getClass(), CancelledException.class);
        Check.equal(made(model), wanted); // also that no cancel is left over
      }
    }
  }

  private static void prompts(String folder, ExecutorService threads) throws Exception {
    int[] prompt = new int[3_000_000];
    Arrays.fill(prompt, 97);
    try (TextModel model = endless(folder)) {
      for (int i = 0; i < 10; i++) {
        Future<?> put = threads.submit(() -> model.put(prompt));
        while (!model.handle.isBusy()) Thread.yield();
        Thread.sleep(i);
        model.cancel();
        Check.equal(failure(put).getClass(), CancelledException.class);
      }
      // What has run stays, and the rest can follow.
      int[] some = Arrays.copyOf(prompt, 2000);
      Check.that(model.put(some) >= 0, "put");
      float[] logits = model.logits();
      try (TextModel other = endless(folder)) {
        other.put(some);
        Check.that(Arrays.equals(other.logits(), logits), "the same logits");
      }
    }
  }

  /** A text that was cancelled while it is followed goes on. */
  private static void goesOn(String folder, ExecutorService threads) throws Exception {
    try (TextModel model = endless(folder);
        TextModel other = endless(folder)) {
      TextOptions options = Texts.sampled().maxTokens(3000).ignoreEnd(true);
      GeneratedText wanted = other.generate(Texts.PROMPT, options);
      TextRun run = model.follow(Texts.PROMPT, options);
      StringBuilder text = new StringBuilder();
      AtomicInteger cancelled = new AtomicInteger();
      Future<?> follower =
          threads.submit(
              () -> {
                while (true) {
                  try {
                    if (!run.hasNext()) return;
                    text.append(run.next());
                  } catch (CancelledException again) {
                    cancelled.incrementAndGet();
                  }
                }
              });
      while (!follower.isDone()) {
        model.cancel();
        Thread.sleep(1);
      }
      follower.get();
      Check.that(cancelled.get() > 0, "some were cancelled");
      Check.equal(text.toString(), wanted.getText());
      Check.that(Arrays.equals(run.getTokens(), wanted.getTokens()), "its tokens");
    }
  }

  // ---- listeners ----

  private static void listeners(String folder) {
    IllegalStateException mine = new IllegalStateException("mine");
    TextModel model = endless(folder);
    String wanted = made(model);
    try {
      model.generate("a", days(), part -> {
        throw mine;
      });
      throw new AssertionError("nothing thrown");
    } catch (IllegalStateException thrown) {
      Check.equal(thrown, mine);
    }
    Check.equal(made(model), wanted);
    Check.fails(
        CancelledException.class, Status.CANCELLED, "cancelled",
        () -> model.generate("a", days(), part -> model.cancel()));
    Check.fails(
        SamaraException.class, Status.BAD_STATE, "in use",
        () -> model.generate("a", days(), part -> model.getTokens()));
    Check.equal(made(model), wanted);
    List<String> parts = new ArrayList<>();
    GeneratedText all = model.generate(Texts.PROMPT, Texts.sampled().maxTokens(20), parts::add);
    Check.equal(String.join("", parts), all.getText());
    Check.fails(
        CancelledException.class, Status.CANCELLED, "cancelled",
        () -> model.generate("a", days(), part -> model.close()));
    Check.fails(SamaraException.class, Status.BAD_STATE, "closed", () -> made(model));
  }

  // ---- executors ----

  private static void asynchronous(String folder, ExecutorService threads) throws Exception {
    TextOptions options = Texts.sampled().maxTokens(20);
    TextModel model = endless(folder);
    String wanted = made(model);
    List<CompletableFuture<GeneratedText>> all = new ArrayList<>();
    StringBuffer heard = new StringBuffer();
    for (int i = 0; i < 10; i++) {
      Consumer<String> parts = i == 4 ? heard::append : null;
      all.add(model.generateAsync(Texts.PROMPT, options, parts, threads));
    }
    for (CompletableFuture<GeneratedText> each : all) Check.equal(each.get().getText(), wanted);
    Check.equal(heard.toString(), wanted);
    CompletableFuture<GeneratedText> going = model.generateAsync("a", days(), null, threads);
    CompletableFuture<GeneratedText> waits = model.generateAsync("b", days(), null, threads);
    CompletableFuture<GeneratedText> last = model.generateAsync(Texts.PROMPT, options, null, threads);
    Thread.sleep(30);
    Check.that(waits.cancel(true) && !last.isDone(), "one that waits");
    Check.that(going.cancel(true), "one that goes on");
    Check.equal(last.get(20, TimeUnit.SECONDS).getText(), wanted);
    CompletableFuture<GeneratedText> ended = model.generateAsync("a", days(), null, threads);
    Thread.sleep(30);
    model.close();
    Check.equal(failure(ended).getClass(), CancelledException.class);
    SamaraException late =
        (SamaraException) failure(model.generateAsync("a", options, null, threads));
    Check.equal(late.getStatus(), Status.BAD_STATE);
  }

  private static void closedWhileRunning(String folder, ExecutorService threads) throws Exception {
    for (int i = 0; i < 30; i++) {
      TextModel model = endless(folder);
      Future<?> run = threads.submit(() -> model.generate("a", days()));
      if (i % 2 == 0) {
        while (!model.handle.isBusy()) Thread.yield();
        Check.fails(SamaraException.class, Status.BAD_STATE, "in use by another thread", model::getTokens);
      }
      model.close();
      SamaraException found = (SamaraException) failure(run);
      boolean cancelled = found.getStatus() == Status.CANCELLED;
      Check.that(cancelled || found.getStatus() == Status.BAD_STATE, found.toString());
    }
  }

  // ---- many threads ----

  /** Any number of threads use a tokenizer, also while it is closed. */
  private static void tokenizers(String folder, ExecutorService threads) throws Exception {
    for (int round = 0; round < 10; round++) {
      Tokenizer tokenizer;
      try (Model model = Check.model(folder, "text")) {
        tokenizer = new Tokenizer(model);
      }
      CountDownLatch begun = new CountDownLatch(THREADS);
      List<Future<Integer>> all = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        all.add(
            threads.submit(
                () -> {
                  int count = 0;
                  try {
                    while (count < 20000) {
                      int[] ids = tokenizer.encode(Texts.PROMPT);
                      try (TextStream stream = tokenizer.stream()) {
                        StringBuilder text = new StringBuilder();
                        for (int id : ids) text.append(stream.push(id));
                        Check.equal(text.append(stream.finish()).toString(), Texts.PROMPT);
                      }
                      if (count++ == 0) begun.countDown();
                    }
                  } catch (SamaraException closed) {
                    if (closed.getStatus() != Status.BAD_STATE) throw closed;
                  }
                  return count;
                }));
      }
      begun.await();
      tokenizer.close();
      for (Future<Integer> each : all) Check.that(each.get() > 0, "before it was closed");
    }
  }

  /** One text model that many threads misuse: each call works or is refused. */
  private static void misused(String folder, ExecutorService threads) throws Exception {
    for (int round = 0; round < 10; round++) {
      TextModel model = endless(folder);
      AtomicInteger refused = new AtomicInteger();
      Future<?>[] all = new Future<?>[THREADS];
      for (int i = 0; i < THREADS; i++) {
        int number = i;
        all[i] =
            threads.submit(
                () -> {
                  for (int n = 0; n < 100; n++) {
                    try {
                      if (number == 0 && n == 90) model.close();
                      else if (number == 1) model.cancel();
                      else if (number == 2) model.getTokens();
                      else if (number == 3) model.logits();
                      else if (number == 4) model.getTokenizer().encode("a");
                      else model.generate("a", new TextOptions().maxTokens(3));
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
      Check.fails(SamaraException.class, Status.BAD_STATE, "closed", model::logits);
      Check.that(refused.get() > 0, "some were refused");
    }
  }

  // ---- garbage ----

  private static void leak(String folder) {
    TextModel model = endless(folder); // which closes its Model
    Tokenizer tokenizer = model.getTokenizer();
    TextStream stream = tokenizer.stream();
    stream.push(97);
    model.put("a");
  }

  private static void collected(String folder) throws Exception {
    long before = Reaper.count();
    for (int i = 0; i < 20; i++) leak(folder);
    for (int i = 0; Reaper.count() < before + 60 && i < 200; i++) {
      System.gc();
      Thread.sleep(10);
    }
    Check.equal(Reaper.count(), before + 60);
  }

  private static void collectedWhileRunning(String folder, ExecutorService threads)
      throws Exception {
    String wanted;
    TextOptions options = Texts.sampled().maxTokens(3000).ignoreEnd(true);
    try (TextModel model = endless(folder)) {
      wanted = model.generate("a", options).getText();
    }
    // Nothing holds these but their own calls.
    List<Future<String>> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(threads.submit(() -> endless(folder).generate("a", options).getText()));
    }
    byte[][] garbage = new byte[64][];
    while (!all.stream().allMatch(Future::isDone)) {
      for (int i = 0; i < 100; i++) garbage[i % 64] = new byte[10000];
      System.gc();
    }
    for (Future<String> each : all) Check.equal(each.get(), wanted);
  }
}
