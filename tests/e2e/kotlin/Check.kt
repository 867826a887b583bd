// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder check with.
package kotlintests

import dev.samara.Image
import dev.samara.Model
import java.io.File
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeout

fun that(right: Boolean, what: String) {
    if (!right) throw AssertionError(what)
}

fun equal(got: Any?, wanted: Any?) {
    if (got != wanted) throw AssertionError("got $got, expected $wanted")
}

inline fun <reified T : Throwable> fails(call: () -> Unit): T {
    try {
        call()
    } catch (failure: Throwable) {
        if (failure is T) return failure
        throw AssertionError("not a ${T::class.java}", failure)
    }
    throw AssertionError("nothing thrown, expected ${T::class.java}")
}

fun model(folder: String, name: String): Model = Model.fromFile(File(folder, "$name.samara"))

fun trips(count: Long): Map<String, Any> =
    mapOf("trips" to longArrayOf(count), "x" to FloatArray(64))

const val DAYS = 1L shl 40

/** A frame whose pixels are one number, and which tells when it is closed. */
class Frame(val value: Int, private val open: AtomicInteger) : AutoCloseable {
    private var closed = false

    init {
        open.incrementAndGet()
    }

    fun image(): Image {
        that(!closed, "read while it is open")
        return Image.of(Image.Format.RGB, 8, 8, ByteArray(192) { value.toByte() })
    }

    override fun close() {
        that(!closed, "closed once")
        closed = true
        open.decrementAndGet()
    }
}

suspend fun eventually(what: String, right: () -> Boolean) {
    try {
        withTimeout(20_000) { while (!right()) delay(5) }
    } catch (late: kotlinx.coroutines.TimeoutCancellationException) {
        throw AssertionError(what, late)
    }
}
