// SPDX-License-Identifier: Apache-2.0
// Suspend functions: answers, order, cancellation.
package kotlintests

import dev.samara.CancelledException
import dev.samara.Classification
import dev.samara.Image
import dev.samara.SamaraException
import dev.samara.Session
import dev.samara.Status
import dev.samara.UnknownNameException
import dev.samara.kotlin.awaitModel
import dev.samara.kotlin.awaitPredict
import dev.samara.kotlin.awaitRun
import dev.samara.kotlin.get
import dev.samara.kotlin.inputs
import dev.samara.kotlin.outputs
import dev.samara.kotlin.session
import dev.samara.kotlin.set
import dev.samara.kotlin.toTensor
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicReference
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull

object Runs {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val folder = arguments[0]
        runBlocking {
            words(folder)
            answers(folder)
            ordered(folder)
            cancelled(folder)
            waiting(folder)
            failing(folder)
            opening(folder)
            dispatchers(folder)
        }
    }

    private fun words(folder: String) {
        model(folder, "static").use { model ->
            model.session { threads(1); keep("h") }.use { session ->
                equal(session.inputs.map { it.name }, listOf("x"))
                equal(session.outputs.map { it.name }, listOf("y"))
                session["x"] = FloatArray(8) { it.toFloat() }
                session.run()
                equal(session["y"], session.getOutput("y"))
                equal(session.kept("h").shape.toList(), listOf(2L, 3L))
                session["x"] = FloatArray(8) { it.toFloat() }.toTensor(2, 4)
            }
        }
        model(folder, "counter").use { model ->
            model.session().use { session ->
                session["x"] = floatArrayOf(1f, 2f).toTensor()
                session.run()
                equal(session.state["total"], floatArrayOf(11f, 22f).toTensor())
                session.state["total"] = floatArrayOf(1f, 1f).toTensor(2)
                equal(session.state["total"].floats().toList(), listOf(1f, 1f))
                equal(session.state.names, listOf("total"))
            }
        }
        equal(longArrayOf(1, 2).toTensor(1, 2).shape.toList(), listOf(1L, 2L))
        equal(intArrayOf(1, 2).toTensor().ints().toList(), listOf(1, 2))
        equal(byteArrayOf(1, 2).toTensor().bytes().toList(), listOf<Byte>(1, 2))
    }

    private suspend fun answers(folder: String) {
        val picture = Image.of(Image.Format.RGB, 8, 8, ByteArray(192) { (it * 31 % 251).toByte() })
        model(folder, "classes").session().use { session ->
            val wanted = session.predict(picture).toString()
            equal(session.awaitPredict(picture).toString(), wanted)
            equal(session.awaitPredict(mapOf("image" to picture)).toString(), wanted)
            equal((session.awaitPredict() as Classification).toString(), wanted)
            val made = session.awaitRun(mapOf("image" to picture))
            session.awaitRun()
            equal(session["out"], made["out"])
        }
    }

    private suspend fun ordered(folder: String) = coroutineScope {
        model(folder, "loop").session().use { session ->
            val all = (0L until 50L).map {
                async(start = CoroutineStart.UNDISPATCHED) { session.awaitRun(trips(it)) }
            }
            all.forEachIndexed { i, each ->
                equal(each.await().getValue("y").floats()[0], i.toFloat())
            }
        }
    }

    /** A coroutine that is cancelled ends its run, whenever it is cancelled, and waits for that. */
    private suspend fun cancelled(folder: String) = coroutineScope {
        model(folder, "loop").session().use { session ->
            for (pause in 0L until 40L) {
                val seen = AtomicReference<Throwable>()
                val run = launch(start = CoroutineStart.UNDISPATCHED) {
                    try {
                        session.awaitRun(trips(DAYS))
                    } catch (failure: Throwable) {
                        seen.set(failure)
                        throw failure
                    }
                }
                if (pause % 2 == 0L) delay(pause / 4)
                withTimeout(20_000) { run.cancelAndJoin() }
                that(seen.get() is CancellationException, "${seen.get()}")
                equal(session.run(trips(2)).getValue("y").floats()[0], 2f) // nobody has the session
            }
            equal(withTimeoutOrNull(20) { session.awaitRun(trips(DAYS)) }, null)
            equal(session.awaitRun(trips(3)).getValue("y").floats()[0], 3f)
        }
    }

    /** One that waits behind another one is cancelled at once; a close is not the caller's cancel. */
    private suspend fun waiting(folder: String) = coroutineScope {
        val session = model(folder, "loop").session()
        val seen = AtomicReference<Throwable>()
        val going = launch(start = CoroutineStart.UNDISPATCHED) {
            try {
                session.awaitRun(trips(DAYS))
            } catch (failure: SamaraException) {
                seen.set(failure)
            }
        }
        val behind = async(start = CoroutineStart.UNDISPATCHED) { session.awaitRun(trips(1)) }
        delay(30)
        withTimeout(5_000) { behind.cancelAndJoin() }
        that(going.isActive, "the other one goes on")
        session.close()
        withTimeout(20_000) { going.join() }
        that(seen.get() is CancelledException, "${seen.get()}")
        equal(fails<SamaraException> { session.awaitRun() }.status, Status.BAD_STATE)
    }

    private suspend fun failing(folder: String) {
        model(folder, "loop").session().use { session ->
            fails<UnknownNameException> { session.awaitRun(mapOf("z" to FloatArray(1))) }
            fails<UnknownNameException> { session.awaitPredict() }
            equal(session.awaitRun(trips(1)).getValue("y").floats()[0], 1f)
        }
    }

    private suspend fun opening(folder: String) = coroutineScope {
        awaitModel { model(folder, "loop") }.use { equal(it.inputs.size, 2) }
        fails<SamaraException> { awaitModel { model(folder, "none") } }
        // Cancelled while it is opened: the model is closed.
        val opened = AtomicReference<dev.samara.Model>()
        val opener = launch {
            val job = coroutineContext.job
            awaitModel { model(folder, "loop").also { opened.set(it); job.cancel() } }
        }
        opener.join()
        fails<SamaraException> { Session(opened.get()) }
    }

    private suspend fun dispatchers(folder: String) {
        model(folder, "loop").session().use { session ->
            val name = AtomicReference<String>()
            Executors.newSingleThreadExecutor { Thread(it, "mine") }.asCoroutineDispatcher().use {
                session.awaitRun(trips(1), it)
                kotlinx.coroutines.withContext(it) { name.set(Thread.currentThread().name) }
            }
            that(name.get().startsWith("mine"), name.get())
            equal(session.awaitRun(trips(2), Dispatchers.Unconfined).getValue("y").floats()[0], 2f)
            equal(session.awaitRun(trips(2), Dispatchers.IO).getValue("y").floats()[0], 2f)
        }
    }
}
