// SPDX-License-Identifier: Apache-2.0
// Runs that suspend, and shorter words for what Java says.
package dev.samara.kotlin

import dev.samara.Answer
import dev.samara.Image
import dev.samara.Model
import dev.samara.Session
import dev.samara.SessionOptions
import dev.samara.Tensor
import dev.samara.TensorInfo
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext

/**
 * Runs on inputs by name and returns all outputs, as [Session.run] does, in a thread of [dispatcher].
 *
 * Runs of a session follow each other in the order of the calls. Cancelling the coroutine stops the run;
 * the call returns when the session has left it, so that what [inputs] hold may be given back then.
 */
public suspend fun Session.awaitRun(
    inputs: Map<String, Any>,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Map<String, Tensor> = awaited(dispatcher) { runAsync(inputs, it) }

/** Runs on the inputs that were set, in a thread of [dispatcher]. */
public suspend fun Session.awaitRun(dispatcher: CoroutineDispatcher = Dispatchers.Default) {
    awaited(dispatcher) { runAsync(it) }
}

/** What the outputs mean, of a picture, as [Session.predict] says it; as [awaitRun] runs. */
public suspend fun Session.awaitPredict(
    image: Image,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Answer = awaited(dispatcher) { predictAsync(image, it) }

/** What the outputs mean, of inputs by name. */
public suspend fun Session.awaitPredict(
    inputs: Map<String, Any>,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Answer = awaited(dispatcher) { predictAsync(inputs, it) }

/** What the outputs mean, of the inputs that were set. */
public suspend fun Session.awaitPredict(dispatcher: CoroutineDispatcher = Dispatchers.Default): Answer =
    awaited(dispatcher) { predictAsync(it) }

/**
 * Opens a model in a thread of [dispatcher], since a file may have to be read:
 * `awaitModel { Model.fromAsset(context, "faces.samara") }`. Closes it where the coroutine was cancelled.
 */
public suspend fun awaitModel(
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
    open: () -> Model,
): Model {
    var opened: Model? = null
    try {
        return withContext(dispatcher) { open().also { opened = it } }
    } catch (failure: Throwable) {
        opened?.close()
        throw failure
    }
}

/** A session of the model: `model.session { threads(2); keep("conv1") }`. */
public inline fun Model.session(options: SessionOptions.() -> Unit = {}): Session =
    Session(this, SessionOptions().apply(options))

/** What the session's function takes. */
public val Session.inputs: List<TensorInfo> get() = function.inputs

/** What the session's function returns. */
public val Session.outputs: List<TensorInfo> get() = function.outputs

/** Copies a value into an input: `session["image"] = pixels`. */
public operator fun Session.set(input: String, value: Any) {
    setInput(input, value)
}

/** An output of the last run in an array of its own: `session["scores"]`. */
public operator fun Session.get(output: String): Tensor = getOutput(output)

/** A tensor of these values: `floatArrayOf(1f, 2f).toTensor(1, 2)`; without a shape, of one axis. */
public fun FloatArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

/** A tensor of int32. */
public fun IntArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

/** A tensor of int64. */
public fun LongArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

/** A tensor of bytes: int8, uint8 or bool, as the input has them. */
public fun ByteArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

private fun given(shape: LongArray, size: Int) = if (shape.isEmpty()) longArrayOf(size.toLong()) else shape
