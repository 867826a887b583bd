// SPDX-License-Identifier: Apache-2.0
// Flows of frames and of sound.
package kotlintests

import android.graphics.ImageFormat
import android.graphics.Rect
import android.media.ImageReader
import dev.samara.Answer
import dev.samara.Audio
import dev.samara.Classification
import dev.samara.Image
import dev.samara.SamaraException
import dev.samara.kotlin.frames
import dev.samara.kotlin.listen
import dev.samara.kotlin.predictEach
import dev.samara.kotlin.predictFrames
import dev.samara.kotlin.session
import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield

object Flows {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val folder = arguments[0]
        runBlocking {
            newest(folder)
            everyFrame(folder)
            leaving(folder)
            cancelled(folder)
            failing(folder)
            camera(folder)
            sound(folder)
        }
    }

    private fun text(answer: Answer) = answer.toString()

    /** Frames that come while somebody works replace each other; the camera waits for nobody. */
    private suspend fun newest(folder: String) {
        val open = AtomicInteger()
        val most = AtomicInteger()
        model(folder, "classes").session().use { session ->
            val wanted = (0 until 100).map { text(session.predict(Frame(it, AtomicInteger()).image())) }
            val camera = flow {
                for (value in 0 until 100) {
                    emit(Frame(value, open))
                    most.set(maxOf(most.get(), open.get()))
                    if (value % 10 == 0) delay(3) else yield()
                }
            }
            val seen = camera.predictEach(session) { it.image() }.map { delay(2); text(it) }.toList()
            that(seen.size in 1..99, "${seen.size} of 100 frames")
            that(seen.all { it in wanted }, "answers of frames")
            equal(seen.last(), wanted.last()) // the last frame is never dropped
            that(most.get() <= 3, "${most.get()} frames were open at once")
            equal(open.get(), 0)
        }
    }

    private suspend fun everyFrame(folder: String) {
        val open = AtomicInteger()
        model(folder, "classes").session().use { session ->
            val answered = AtomicInteger()
            val slow = flow {
                for (value in 0 until 20) {
                    emit(Frame(value, open))
                    eventually("an answer") { answered.get() > value }
                }
            }
            val seen =
                slow.predictEach(session) { it.image() }.onEach { answered.incrementAndGet() }.toList()
            equal(seen.size, 20)
            equal(open.get(), 0)
            val plain = flowOf(Image.of(Image.Format.RGB, 8, 8, ByteArray(192)))
            equal(plain.predictEach(session) { it }.toList().size, 1) // nothing to close
        }
    }

    private fun endless(open: AtomicInteger) = flow {
        for (value in generateSequence(0) { (it + 1) % 100 }) {
            emit(Frame(value, open))
            yield()
        }
    }

    /** A collector that has enough. */
    private suspend fun leaving(folder: String) {
        val open = AtomicInteger()
        model(folder, "classes").session().use { session ->
            for (count in 1..5) {
                val some = endless(open).predictEach(session) { it.image() }.take(count).toList()
                equal(some.size, count)
                equal(open.get(), 0)
            }
            that(session.predict(Frame(1, AtomicInteger()).image()) is Classification, "free")
        }
    }

    /** One that is cancelled, before, while and after a frame is read. */
    private suspend fun cancelled(folder: String) = coroutineScope {
        val open = AtomicInteger()
        model(folder, "classes").session().use { session ->
            for (pause in 0L until 30L) {
                val job = launch { endless(open).predictEach(session) { it.image() }.collect() }
                if (pause % 3 == 0L) yield() else delay(pause / 3)
                withTimeout(20_000) { job.cancelAndJoin() }
                equal(open.get(), 0)
                session.predict(Frame(1, AtomicInteger()).image()) // nobody has the session
            }
        }
    }

    private suspend fun failing(folder: String) {
        val open = AtomicInteger()
        val mine = IllegalStateException("mine")
        val session = model(folder, "classes").session()
        val camera = flow {
            emit(Frame(1, open))
            delay(20)
            throw mine
        }
        equal(fails<IllegalStateException> { camera.predictEach(session) { it.image() }.collect() }.message, "mine")
        equal(open.get(), 0)
        val wrong = endless(open).predictEach(session) { throw mine }
        equal(fails<IllegalStateException> { wrong.collect() }.message, "mine")
        equal(open.get(), 0)
        fails<IllegalStateException> {
            endless(open).predictEach(session) { it.image() }.collect { throw mine }
        }
        equal(open.get(), 0)
        session.close()
        fails<SamaraException> { endless(open).predictEach(session) { it.image() }.collect() }
        equal(open.get(), 0)
    }

    private class CameraFrame(value: Int, private val open: AtomicInteger) :
        android.media.Image(
            ImageFormat.YUV_420_888,
            8,
            8,
            Rect(0, 0, 8, 8),
            plane(value, 64),
            plane(128, 16),
            plane(128, 16),
        ) {
        init {
            open.incrementAndGet()
        }

        override fun close() {
            super.close()
            open.decrementAndGet()
        }
    }

    private fun plane(value: Int, size: Int): android.media.Image.Plane {
        val bytes = ByteBuffer.allocateDirect(size)
        for (i in 0 until size) bytes.put(i, value.toByte())
        return android.media.Image.Plane(bytes, if (size == 64) 8 else 4, 1)
    }

    /** A reader that a camera feeds from a thread of its own. */
    private suspend fun camera(folder: String) = coroutineScope {
        val open = AtomicInteger()
        val reader = ImageReader()
        model(folder, "classes").session().use { session ->
            val answers = AtomicInteger()
            val job = launch {
                reader.frames().predictFrames(session, rotation = 90, mirror = true).collect {
                    that(it is Classification, "$it")
                    answers.incrementAndGet()
                }
            }
            var left = false
            val feeder = Thread {
                while (!left) {
                    val frame = CameraFrame(77, open)
                    if (!reader.offer(frame)) frame.close()
                    Thread.sleep(1)
                }
            }
            feeder.start()
            eventually("answers") { answers.get() >= 20 }
            that(open.get() <= 4, "${open.get()} frames are open")
            withTimeout(20_000) { job.cancelAndJoin() }
            left = true
            feeder.join()
            equal(open.get(), 0)
            fails<SamaraException> {
                flowOf(CameraFrame(1, open)).predictFrames(session, rotation = 45).first()
            }
            equal(open.get(), 0)
        }
    }

    private suspend fun sound(folder: String) {
        val samples = ShortArray(9000) { (it * 7919 % 20011 - 10000).toShort() }
        fun portions() = samples.toList().chunked(700).map { Audio.of(it.toShortArray(), 16000) }.asFlow()
        model(folder, "speech").session().use { session ->
            val wanted = session.listen(Audio.of(samples, 16000), true).map { it.getValue("scores") }
            equal(portions().listen(session).map { it.getValue("scores") }.toList(), wanted)
            for (count in 1..3) { // a collector that leaves; the next one begins again
                equal(portions().listen(session).take(count).toList().size, count)
                equal(portions().listen(session).map { it.getValue("scores") }.toList(), wanted)
            }
            val labels = portions().predictEach(session).map { (it as Classification).index }.toList()
            println("each=" + labels.joinToString(""))
        }
        val session = model(folder, "classes").session()
        fails<SamaraException> { portions().listen(session).collect() }
        session.close()
    }
}
