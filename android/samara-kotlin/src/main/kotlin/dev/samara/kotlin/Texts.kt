// SPDX-License-Identifier: Apache-2.0
// Suspending texts and flows of their parts.
package dev.samara.kotlin

import dev.samara.GeneratedText
import dev.samara.Model
import dev.samara.SessionOptions
import dev.samara.TextModel
import dev.samara.TextOptions
import java.util.function.Consumer
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.channelFlow

/**
 * Makes the text that follows a prompt in a thread of [dispatcher], as [TextModel.generate] does. [part] is
 * called there with each part as it is certain.
 *
 * Texts of one model are made in the order of the calls. Cancelling the coroutine stops the text. The call
 * returns only after the model has left it.
 */
public suspend fun TextModel.awaitGenerate(
    prompt: String,
    options: TextOptions = TextOptions(),
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
    part: ((String) -> Unit)? = null,
): GeneratedText {
    val parts = if (part == null) null else Consumer<String> { part(it) }
    return awaited(dispatcher) { generateAsync(prompt, options, parts, it) }
}

/**
 * Returns the parts of the text that follows a prompt, made in a thread of [dispatcher]: whole characters, and
 * nothing that may begin a stop. The model does not wait for the collector. Cancelling the collector stops
 * the text; what has run stays in the cache. [ended] is called in the flow's coroutine when the text has
 * ended, with its tokens and why it ended. Each collector gets a text of its own.
 */
public fun TextModel.stream(
    prompt: String,
    options: TextOptions = TextOptions(),
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
    ended: (GeneratedText) -> Unit = {},
): Flow<String> = channelFlow {
    ended(awaitGenerate(prompt, options, dispatcher) { trySend(it) })
}.buffer(Channel.UNLIMITED)

/**
 * Opens a text model in a thread of [dispatcher], because a file may have to be read:
 * `awaitTextModel { TextModel.fromFile(file) }`. Closes it if the coroutine was cancelled.
 */
public suspend fun awaitTextModel(
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
    open: () -> TextModel,
): TextModel = opened(dispatcher, open)

/** Creates a text model of the model: `model.textModel { threads(2) }`. */
public inline fun Model.textModel(options: SessionOptions.() -> Unit = {}): TextModel =
    TextModel(this, SessionOptions().apply(options))

/** Options of a text: `textOptions { temperature(0.8); seed(7) }`. */
public inline fun textOptions(options: TextOptions.() -> Unit): TextOptions = TextOptions().apply(options)
