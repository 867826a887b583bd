// SPDX-License-Identifier: Apache-2.0
// Texts of language models by suspend functions and flows.
package kotlintests

import dev.samara.CancelledException
import dev.samara.GeneratedText
import dev.samara.SamaraException
import dev.samara.Status
import dev.samara.TextEnd
import dev.samara.TextModel
import dev.samara.kotlin.awaitGenerate
import dev.samara.kotlin.awaitTextModel
import dev.samara.kotlin.stream
import dev.samara.kotlin.textModel
import dev.samara.kotlin.textOptions
import java.io.File
import java.util.concurrent.atomic.AtomicReference
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull

object Texts {
    private const val PROMPT = "A maple's winged seed flies far."

    private fun sampled(most: Int) = textOptions {
        temperature(0.9)
        topK(40)
        seed(4)
        maxTokens(most)
        ignoreEnd(true)
    }

    @JvmStatic
    fun main(arguments: Array<String>) {
        val folder = arguments[0]
        runBlocking {
            parts(folder)
            ordered(folder)
            leaving(folder)
            cancelled(folder)
            failing(folder)
            opening(folder)
        }
    }

    private fun text(folder: String, name: String): TextModel =
        model(folder, name).use { it.textModel { threads(1) } }

    private suspend fun parts(folder: String) {
        text(folder, "text").use { model ->
            val last = AtomicReference<GeneratedText>()
            val flow = model.stream(PROMPT, sampled(200)) { last.set(it) }
            val parts = flow.toList()
            println("parts=" + parts.joinToString(" ") { part -> part.toByteArray().joinToString("") { "%02x".format(it) } })
            equal(last.get().text, parts.joinToString(""))
            equal(last.get().end, TextEnd.MOST_TOKENS)
            equal(last.get().tokens.size, 200)
            equal(flow.toList(), parts) // the same again
            val heard = StringBuilder()
            equal(model.awaitGenerate(PROMPT, sampled(200)) { heard.append(it) }.text, heard.toString())
            equal(heard.toString(), parts.joinToString(""))
            equal(model.awaitGenerate(PROMPT, sampled(200), Dispatchers.IO).tokens.toList(), last.get().tokens.toList())
            equal(model.contextLength, 1000L)
            equal(model.tokenizer.decode(model.tokenizer.encode("\uD83C\uDF41")), "\uD83C\uDF41")
        }
    }

    private suspend fun ordered(folder: String) = coroutineScope {
        text(folder, "text").use { model ->
            val all = (0 until 20).map {
                async(start = CoroutineStart.UNDISPATCHED) { model.awaitGenerate(PROMPT, sampled(1 + it)) }
            }
            all.forEachIndexed { i, each -> equal(each.await().tokens.size, 1 + i) }
        }
    }

    /** A collector that has enough of a text that takes days. */
    private suspend fun leaving(folder: String) {
        text(folder, "endless").use { model ->
            val wanted = model.generate(PROMPT, sampled(20)).text
            for (count in 1..10) {
                val some = withTimeout(20_000) { model.stream(PROMPT, sampled(Int.MAX_VALUE)).take(count).toList() }
                equal(some.size, count)
                equal(model.generate(PROMPT, sampled(20)).text, wanted) // nobody has the model
            }
        }
    }

    private suspend fun cancelled(folder: String) = coroutineScope {
        text(folder, "endless").use { model ->
            val wanted = model.generate(PROMPT, sampled(20)).text
            for (pause in 0L until 30L) {
                val seen = AtomicReference<Throwable>()
                val job = launch(start = CoroutineStart.UNDISPATCHED) {
                    try {
                        if (pause % 2 == 0L) model.awaitGenerate("a", sampled(Int.MAX_VALUE))
                        else model.stream("a", sampled(Int.MAX_VALUE)).collect()
                    } catch (failure: Throwable) {
                        seen.set(failure)
                        throw failure
                    }
                }
                if (pause % 3 == 0L) delay(pause / 3)
                withTimeout(20_000) { job.cancelAndJoin() }
                that(seen.get() is CancellationException, "${seen.get()}")
                equal(model.generate(PROMPT, sampled(20)).text, wanted)
            }
            equal(withTimeoutOrNull(20) { model.awaitGenerate("a", sampled(Int.MAX_VALUE)) }, null)
            equal(model.awaitGenerate(PROMPT, sampled(20)).text, wanted)
        }
    }

    private suspend fun failing(folder: String) = coroutineScope {
        val model = text(folder, "endless")
        val mine = IllegalStateException("mine")
        equal(fails<IllegalStateException> { model.stream("a", sampled(Int.MAX_VALUE)).collect { throw mine } }.message, "mine")
        equal(fails<IllegalStateException> { model.awaitGenerate("a", sampled(9)) { throw mine } }.message, "mine")
        equal(fails<IllegalStateException> { model.stream("a", sampled(9)) { throw mine }.collect() }.message, "mine")
        fails<SamaraException> { model.stream("\uD83C", sampled(9)).collect() }
        fails<SamaraException> { model.stream("", sampled(9)).collect() }
        // A close, or another thread's cancel, is not the caller's.
        for (end in listOf(TextModel::cancel, TextModel::close)) {
            val seen = AtomicReference<Throwable>()
            val job = launch(Dispatchers.Default) {
                try {
                    model.stream("a", sampled(Int.MAX_VALUE)).collect()
                } catch (failure: SamaraException) {
                    seen.set(failure)
                }
            }
            delay(30)
            end(model)
            withTimeout(20_000) { job.join() }
            that(seen.get() is CancelledException, "${seen.get()}")
        }
        equal(fails<SamaraException> { model.awaitGenerate("a") }.status, Status.BAD_STATE)
    }

    private suspend fun opening(folder: String) = coroutineScope {
        awaitTextModel { TextModel.fromFile(File(folder, "text.samara")) }.use { equal(it.tokens.size, 0) }
        fails<SamaraException> { awaitTextModel { TextModel.fromFile("none.samara") } }
        val opened = AtomicReference<TextModel>()
        val opener = launch {
            val job = coroutineContext.job
            awaitTextModel { text(folder, "text").also { opened.set(it); job.cancel() } }
        }
        opener.join()
        fails<SamaraException> { opened.get().tokens }
    }
}
