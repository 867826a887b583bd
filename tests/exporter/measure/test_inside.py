# SPDX-License-Identifier: Apache-2.0
"""Functions inside a function: their paths, how many nodes hold them, and the sizes of their symbols."""

from __future__ import annotations

from samara.exporter.ir import Program, ProgramBuilder
from samara.exporter.measure.inside import functions_inside
from samara.exporter.testing import steered_program


def test_paths_and_sizes() -> None:
    found = functions_inside(steered_program(), "main", {"n": 7})
    assert {name: f.path for name, f in found.items()} == {
        "main": "",
        "main/fast": "choose/then",
        "main/fast/body": "choose/then/repeat/body",
        "main/slow": "choose/else",
    }
    assert {f.holders for f in found.values()} == {1}
    assert {f.sizes["n"] for f in found.values()} == {7}
    assert found["main"].place("choose") == "choose"
    assert found["main/slow"].place("magnitude") == "choose/else/magnitude"


def calls(second: int | str) -> Program:
    """`half` is called on [n] and on [second], and calls `last`."""
    program = ProgramBuilder()
    last = program.function("last")
    last.finish([last.op("abs", last.input("x", "f32", ["k"]))])
    half = program.function("half")
    half.finish(half.op("call", half.input("x", "f32", ["m"]), body="last", name="inner"))
    main = program.function("main")
    a, b = main.input("a", "f32", ["n"]), main.input("b", "f32", [second])
    results = [
        *main.op("call", a, body="half", name="one"),
        *main.op("call", b, body="half", name="two"),
        *main.op("call", b, body="last", name="three"),
    ]
    main.finish(results)
    return program.finish(["main"])


def test_a_function_with_several_holders() -> None:
    same = functions_inside(calls("n"), "main", {"n": 4})
    assert list(same) == ["main", "half", "last"]
    half = same["half"]
    assert (half.path, half.holders, half.sizes) == ("one/body", 2, {"m": 4})
    assert (same["last"].path, same["last"].holders) == ("three/body", 2)
    assert same["last"].sizes == {"k": 4}
    other = functions_inside(calls(5), "main", {"n": 4})
    assert other["half"].sizes == {}
    assert other["last"].sizes == {}


def test_what_a_loop_grows_has_no_size() -> None:
    main = ProgramBuilder().function("main")
    trips = main.input("trips", "i64", [])
    x, y = main.input("x", "f32", ["n"]), main.input("y", "f32", ["m"])
    body = main.child("body")
    body.input("i", "i64", [])
    go = body.input("go", "bool", [])
    grows, stays = body.input("grows", "f32", ["k"]), body.input("stays", "f32", ["s"])
    longer = body.op("concat", grows, grows, axis=0)
    made = main.loop(trips, None, [x, y], (body, [go, longer, body.op("abs", stays)]))
    main.finish(list(made))
    program = main.program.finish(["main"])
    [_, inside] = functions_inside(program, "main", {"n": 2, "m": 3}).values()
    assert inside.sizes == {"s": 3}
