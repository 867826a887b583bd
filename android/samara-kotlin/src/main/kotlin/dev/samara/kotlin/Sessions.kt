// SPDX-License-Identifier: Apache-2.0
// Suspending runs, and Kotlin shorthands for the Java API.
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

/**
 * Runs on named inputs in a thread of [dispatcher] and returns all outputs, as [Session.run] does.
 *
 * Runs of one session execute in the order of the calls. Cancelling the coroutine stops the run. The call
 * returns only after the run has ended, so the caller may then reuse or release the values in [inputs].
 */
public suspend fun Session.awaitRun(
    inputs: Map<String, Any>,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Map<String, Tensor> = awaited(dispatcher) { runAsync(inputs, it) }

/** Runs on the inputs that were set, in a thread of [dispatcher]. */
public suspend fun Session.awaitRun(dispatcher: CoroutineDispatcher = Dispatchers.Default) {
    awaited(dispatcher) { runAsync(it) }
}

/** Runs on a picture as [awaitRun] does and returns the answer, as [Session.predict] does. */
public suspend fun Session.awaitPredict(
    image: Image,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Answer = awaited(dispatcher) { predictAsync(image, it) }

/** Runs on named inputs as [awaitRun] does and returns the answer. */
public suspend fun Session.awaitPredict(
    inputs: Map<String, Any>,
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
): Answer = awaited(dispatcher) { predictAsync(inputs, it) }

/** Runs on the inputs that were set, as [awaitRun] does, and returns the answer. */
public suspend fun Session.awaitPredict(dispatcher: CoroutineDispatcher = Dispatchers.Default): Answer =
    awaited(dispatcher) { predictAsync(it) }

/**
 * Opens a model in a thread of [dispatcher], because a file may have to be read:
 * `awaitModel { Model.fromAsset(context, "faces.samara") }`. Closes the model if the coroutine was cancelled.
 */
public suspend fun awaitModel(
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
    open: () -> Model,
): Model = opened(dispatcher, open)

/** Creates a session of the model: `model.session { threads(2); keep("conv1") }`. */
public inline fun Model.session(options: SessionOptions.() -> Unit = {}): Session =
    Session(this, SessionOptions().apply(options))

/** The inputs of the session's function. */
public val Session.inputs: List<TensorInfo> get() = function.inputs

/** The outputs of the session's function. */
public val Session.outputs: List<TensorInfo> get() = function.outputs

/** Copies a value into an input: `session["image"] = pixels`. */
public operator fun Session.set(input: String, value: Any) {
    setInput(input, value)
}

/** Copies an output of the last run: `session["scores"]`. */
public operator fun Session.get(output: String): Tensor = getOutput(output)

/** Makes a tensor of float32: `floatArrayOf(1f, 2f).toTensor(1, 2)`. Without a shape it has one axis. */
public fun FloatArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

/** Makes a tensor of int32. */
public fun IntArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

/** Makes a tensor of int64. */
public fun LongArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

/** Makes a tensor of bytes for an input of int8, uint8 or bool. */
public fun ByteArray.toTensor(vararg shape: Long): Tensor = Tensor.of(this, *given(shape, size))

private fun given(shape: LongArray, size: Int) = if (shape.isEmpty()) longArrayOf(size.toLong()) else shape
