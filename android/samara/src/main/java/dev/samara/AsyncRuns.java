// SPDX-License-Identifier: Apache-2.0
// Runs of one session or text model in executors, one after the other.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The waiting runs, and the run given to an executor. */
final class AsyncRuns {
  private final Handle handle;
  private final ArrayDeque<Run<?>> waiting = new ArrayDeque<>();
  @Nullable private Run<?> first; // given to its executor

  AsyncRuns(Handle handle) {
    this.handle = handle;
  }

  @NonNull
  <T> CompletableFuture<T> begin(@NonNull Executor executor, @NonNull Callable<T> work) {
    Run<T> run = new Run<>(SamaraException.given(executor, "the executor"), work);
    synchronized (this) {
      waiting.add(run);
      if (first != null) return run;
      first = waiting.remove();
    }
    start(run);
    return run;
  }

  private void start(@Nullable Run<?> next) {
    Run<?> run = next;
    while (run != null) {
      try {
        run.executor.execute(run);
        return;
      } catch (RuntimeException | Error refused) {
        run.completeExceptionally(refused);
        run = following();
      }
    }
  }

  @Nullable
  private synchronized Run<?> following() {
    first = waiting.poll();
    return first;
  }

  private final class Run<T> extends CompletableFuture<T> implements Runnable {
    private final Executor executor;
    private final Callable<T> work;
    private boolean begun; // these two guarded by AsyncRuns.this
    private boolean going;

    Run(Executor executor, Callable<T> work) {
      this.executor = executor;
      this.work = work;
    }

    @Override
    public void run() {
      synchronized (AsyncRuns.this) {
        if (begun) return; // the executor called it twice
        begun = true;
        going = !isDone();
      }
      try {
        if (going) end(work.call(), null);
      } catch (Throwable failure) {
        end(null, failure);
      }
      start(following());
    }

    private void end(@Nullable T result, @Nullable Throwable failure) {
      synchronized (AsyncRuns.this) {
        going = false; // a later cancel would stop another run
      }
      if (failure == null) complete(result);
      else completeExceptionally(failure);
    }

    private boolean stop() {
      synchronized (AsyncRuns.this) {
        return going && handle.cancel();
      }
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
      boolean cancelled = super.cancel(mayInterrupt);
      if (cancelled) Stop.until(this::stop);
      return cancelled;
    }
  }
}
