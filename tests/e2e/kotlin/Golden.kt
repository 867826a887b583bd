// SPDX-License-Identifier: Apache-2.0
// Python's bytes of recorded runs, by suspend functions.
package kotlintests

import dev.samara.GoldenCases
import dev.samara.Model
import dev.samara.kotlin.awaitRun
import kotlinx.coroutines.runBlocking

object Golden {
    @JvmStatic
    fun main(arguments: Array<String>) = runBlocking {
        for (each in GoldenCases.read(arguments[0])) {
            Model.fromFile(each.model).use { model ->
                each.session(model).use { session ->
                    for (run in each.runs) run.check(each.name, session.awaitRun(run.tensors()))
                }
            }
            println("${each.name}=${each.runs.size}")
        }
    }
}
