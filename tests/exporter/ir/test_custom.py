# SPDX-License-Identifier: Apache-2.0
"""What a Program says of the custom operators that it needs."""

from __future__ import annotations

from samara.exporter.ir import Program, ProgramBuilder, from_bytes, required_ops, to_bytes
from samara.exporter.ops import custom_keys, register_custom


def _program() -> Program:
    program = ProgramBuilder()
    b = program.function("main")
    x = b.input("x", "f32", [3])
    for i, name in enumerate(("b::two", "a::one", "b::two")):
        stated = {"dtypes": (1,), "ranks": (1,), "shape": (3,), **custom_keys({})}
        (x,) = b.op("custom", x, outputs=[f"y{i}"], attributes={"name": name, **stated})
    b.finish([x])
    return program.finish(["main"])


def test_required_operators() -> None:
    register_custom("a::one", lambda x: x)
    program = _program()
    for p in (program, from_bytes(to_bytes(program)).program):
        one, two = required_ops(p)
        assert (one.name, one.nodes, one.reference, one.library) == ("a::one", ("y1",), True, None)
        assert (two.name, two.nodes, two.reference) == ("b::two", ("y0", "y2"), False)
        assert one.missing == "a library"
        assert two.missing == "a reference and a library"


def test_most_programs_need_none() -> None:
    program = ProgramBuilder()
    b = program.function("main")
    b.finish([b.op("relu", b.input("x", "f32", [3]))])
    assert required_ops(program.finish(["main"])) == ()
