// SPDX-License-Identifier: Apache-2.0
// How a coroutine waits for a run of Java's side.
package dev.samara.kotlin

import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executor
import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.asExecutor
import kotlinx.coroutines.future.await
import kotlinx.coroutines.withContext

/** Gives a run to the dispatcher, and knows when its thread has left it. */
private class Turn(dispatcher: CoroutineDispatcher) : Executor {
    private val executor = dispatcher.asExecutor()
    private val begun = AtomicBoolean()
    private val left = CompletableDeferred<Unit>()

    override fun execute(run: Runnable) {
        executor.execute {
            begun.set(true)
            try {
                run.run()
            } finally {
                left.complete(Unit)
            }
        }
    }

    /** Of a run that is cancelled: one that has not begun does nothing when its turn comes. */
    suspend fun awaitLeft() {
        if (begun.get()) left.await()
    }
}

internal suspend fun <T> awaited(
    dispatcher: CoroutineDispatcher,
    begin: (Executor) -> CompletableFuture<T>,
): T {
    val turn = Turn(dispatcher)
    val future = begin(turn)
    try {
        return future.await()
    } catch (cancelled: CancellationException) {
        future.cancel(true)
        withContext(NonCancellable) { turn.awaitLeft() }
        throw cancelled
    }
}
