// SPDX-License-Identifier: Apache-2.0
// Lets a coroutine wait for an asynchronous run of the Java library, or for what it opens.
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

/** Executes one run on the dispatcher and tells when it has ended. */
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

    /** Waits for the end of a cancelled run. One that has not begun will do nothing, so it is not awaited. */
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

/** Opens something on the dispatcher, and closes it if the coroutine was cancelled meanwhile. */
internal suspend fun <T : AutoCloseable> opened(dispatcher: CoroutineDispatcher, open: () -> T): T {
    var opened: T? = null
    try {
        return withContext(dispatcher) { open().also { opened = it } }
    } catch (failure: Throwable) {
        opened?.close()
        throw failure
    }
}
