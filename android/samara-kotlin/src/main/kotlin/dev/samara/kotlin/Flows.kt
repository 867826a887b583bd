// SPDX-License-Identifier: Apache-2.0
// Flows that turn camera frames or sound into answers.
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
 * Returns the session's answers about the newest frame; [picture] makes an [Image] of a frame.
 *
 * While the session runs, a new frame replaces the one that waits, so the camera is never held up. A frame
 * that is [AutoCloseable] is closed once it was read, replaced, or the collector was cancelled. Cancelling
 * the collector stops the run.
 */
public fun <F : Any> Flow<F>.predictEach(
    session: Session,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
    picture: (F) -> Image,
): Flow<Answer> = flow {
    newest { frame -> emit(closing(frame) { session.awaitPredict(picture(frame), dispatcher) }) }
}

/**
 * Returns the session's answers about the newest frame of a camera in YUV_420_888. [rotation] is the angle
 * that makes a frame upright, in degrees clockwise: 0, 90, 180 or 270.
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
 * Returns the newest frames of a reader. A frame that was not collected is closed when the next one
 * replaces it. The collector closes the frames that it gets; [predictFrames] does so. [handler] selects the
 * thread of the reader's callbacks; default: the thread of the collector's looper.
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
 * Collects chunks of sound, such as those of a microphone, runs whenever they fill the model's input, and
 * returns the outputs of each run. The rest of the sound is run when the flow of chunks ends. A chunk is
 * read before the next one is requested, so its array may be reused then.
 */
public fun Flow<Audio>.listen(
    session: Session,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Flow<Map<String, Tensor>> = hear(session, dispatcher) {
    session.awaitRun(dispatcher)
    session.outputs.associate { it.name to session.getOutput(it.name) }
}

/** Like [listen], but returns the answer of each run. */
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

/** Drops the sound that the session holds. Ignores a session that is closed or in use. */
private fun Session.forgetSound() {
    try {
        do {
            val more = endAudio()
        } while (more)
    } catch (gone: dev.samara.SamaraException) {
        // The collector gets the failure that ended the flow, not this one.
    }
}

private fun <F : Any> conflated(): Channel<F> =
    Channel(Channel.CONFLATED) { (it as? AutoCloseable)?.close() }

/** Sends a frame into a conflated channel. Closes the frame if the channel has ended. */
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
