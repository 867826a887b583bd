// SPDX-License-Identifier: Apache-2.0
// Flows: frames of a camera in, answers out; sound in, answers out.
package dev.samara.kotlin

import android.media.ImageReader
import android.os.Handler
import dev.samara.Answer
import dev.samara.Audio
import dev.samara.Image
import dev.samara.Session
import dev.samara.Tensor
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/**
 * What the session says of the newest frame, each time that it is free; [picture] makes an [Image] of it.
 *
 * Frames that come while it runs replace each other, and nobody waits for it: a camera goes on. A frame
 * that is [AutoCloseable] is closed when it was read, when another one replaces it, and when the
 * collector is cancelled, which stops the run.
 */
public fun <F : Any> Flow<F>.predictEach(
    session: Session,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
    picture: (F) -> Image,
): Flow<Answer> = flow {
    newest { frame -> emit(closing(frame) { session.awaitPredict(picture(frame), dispatcher) }) }
}

/**
 * What the session says of the newest frame of a camera in YUV_420_888, upright after [rotation] degrees
 * clockwise: 0, 90, 180 or 270.
 */
public fun Flow<android.media.Image>.predictFrames(
    session: Session,
    rotation: Int = 0,
    mirror: Boolean = false,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Flow<Answer> =
    predictEach(session, dispatcher) {
        Image.fromMediaImage(it).rotated(rotation).mirrored(mirror)
    }

/**
 * The frames that a reader gets, the newest first: one that comes before the former was collected
 * replaces it, and is closed. Whoever collects a frame closes it; [predictFrames] does. handler: the
 * thread in which the reader says that it has one; by default that of the collector's looper.
 */
public fun ImageReader.frames(handler: Handler? = null): Flow<android.media.Image> = flow {
    val newest = conflated<android.media.Image>()
    setOnImageAvailableListener(
        { reader -> reader.acquireLatestImage()?.let { newest.trySendOrClose(it) } },
        handler,
    )
    try {
        for (frame in newest) emit(frame)
    } finally {
        setOnImageAvailableListener(null, null)
        newest.cancel()
    }
}

/**
 * The outputs of a run on each tensor that the portions of sound fill, such as those of a microphone.
 * What the last one does not fill is heard when the flow of portions ends. A portion is taken as it
 * comes: its array may be filled again when the next one is asked for.
 */
public fun Flow<Audio>.listen(
    session: Session,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Flow<Map<String, Tensor>> = hear(session, dispatcher) {
    session.awaitRun(dispatcher)
    session.outputs.associate { it.name to session.getOutput(it.name) }
}

/** What the outputs of each of these runs mean. */
@JvmName("predictEachSound")
public fun Flow<Audio>.predictEach(
    session: Session,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Flow<Answer> = hear(session, dispatcher) { session.awaitPredict(dispatcher) }

private fun <T> Flow<Audio>.hear(
    session: Session,
    dispatcher: CoroutineDispatcher,
    run: suspend () -> T,
): Flow<T> = flow {
    var ended = false
    try {
        collect { portion ->
            while (withContext(dispatcher) { session.pushAudio(portion) }) emit(run())
        }
        while (withContext(dispatcher) { session.endAudio() }) emit(run())
        ended = true
    } finally {
        if (!ended) session.forgetSound()
    }
}

/** The next sound begins again. A session that was closed, or that somebody else uses, has none. */
private fun Session.forgetSound() {
    try {
        do {
            val more = endAudio()
        } while (more)
    } catch (gone: dev.samara.SamaraException) {
        // The reason why the flow ended is what its collector gets.
    }
}

private fun <F : Any> conflated(): Channel<F> =
    Channel(Channel.CONFLATED) { (it as? AutoCloseable)?.close() }

/** Into a channel that keeps the newest; what comes after its end is closed. */
private fun <F : Any> Channel<F>.trySendOrClose(frame: F) {
    if (trySend(frame).isFailure) (frame as? AutoCloseable)?.close()
}

private suspend fun <F : Any> Flow<F>.newest(body: suspend (F) -> Unit) {
    val frames = this
    val newest = conflated<F>()
    coroutineScope {
        try {
            launch {
                frames.collect { newest.send(it) }
                newest.close()
            }
            for (frame in newest) body(frame)
        } finally {
            newest.cancel()
        }
    }
}

private inline fun <F : Any, T> closing(frame: F, body: () -> T): T =
    try {
        body()
    } finally {
        (frame as? AutoCloseable)?.close()
    }
