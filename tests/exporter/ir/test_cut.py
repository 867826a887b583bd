# SPDX-License-Identifier: Apache-2.0
"""Cutting a program between any tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Program, ProgramBuilder, Variable, only_reached, verify
from samara.exporter.types import ShapeError, TensorType


def _program() -> Program:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", "h"])
    y = b.input("y", "f32", ["n", "h"])
    a = b.op("mul", x, 2.0, outputs=["a"])
    c = b.op("max_pool", b.op("reshape", a, shape=(*a.type.shape, 1)), kernel=(2,), strides=(2,),
             dilations=(1,), pads=(0, 0), outputs=["c"])  # fmt: skip
    d = b.op("reshape", c, shape=c.type.shape[:2], outputs=["d"])
    e = b.op("add", a, y, outputs=["e"])
    b.finish([d, e], ["first", "second"])
    return pb.finish(["main"])


FEEDS: dict[str, Any] = {
    "x": np.arange(8, dtype=np.float32).reshape(2, 4),
    "y": np.ones((2, 4), np.float32),
}


def test_an_output_alone() -> None:
    program = _program()
    piece = program.cut(outputs=["first"])
    verify(piece)
    assert [v.name for v in piece.main.inputs] == ["x"]
    assert piece.main.output_names == ("first",)
    expected = program.run(FEEDS)["first"]
    assert np.array_equal(piece.run({"x": FEEDS["x"]})["first"], expected)


def test_inner_tensors_by_their_names() -> None:
    program = _program()
    whole = program.run(FEEDS, keep=["a", "c"])
    piece = program.cut(inputs=["a"], outputs=["e", "c"])
    verify(piece)
    assert [v.name for v in piece.main.inputs] == ["y", "a"]
    out = piece.run({"a": whole["a"], "y": FEEDS["y"]})
    assert np.array_equal(out["e"], whole["second"])
    assert np.array_equal(out["c"], whole["c"])


def test_derived_dims_get_symbols_of_their_own() -> None:
    program = _program()
    whole = program.run(FEEDS, keep=["c"])
    piece = program.cut(inputs=["c"], outputs=["first"])
    verify(piece)
    (c,) = piece.main.inputs
    assert str(c.type) == "f32[n, c.1, 1]"
    assert np.array_equal(piece.run({"c": whole["c"]})["first"], whole["first"])


def test_all_outputs_with_a_new_input() -> None:
    program = _program()
    whole = program.run(FEEDS, keep=["c"])
    piece = program.cut(inputs=["c"])
    verify(piece)
    out = piece.run({**FEEDS, "c": whole["c"]})
    assert np.array_equal(out["first"], whole["first"])
    assert np.array_equal(out["second"], whole["second"])
    # The size of c must still match that of x.
    with pytest.raises(ShapeError, match="input 'c', axis 1"):
        piece.run({**FEEDS, "c": whole["c"][:, :1]})


def test_an_input_can_be_an_output() -> None:
    piece = _program().cut(inputs=["a"], outputs=["a"])
    verify(piece)
    assert piece.main.nodes == ()
    assert piece.run({"a": FEEDS["x"]})["a"] is not None


def test_unknown_names_list_near_ones() -> None:
    with pytest.raises(
        ShapeError, match=r"there is no tensor 'frist'\n  fix: did you mean 'first'"
    ):
        _program().cut(outputs=["frist"])
    with pytest.raises(ShapeError, match="there is no tensor 'zz'"):
        _program().cut(inputs=["zz"])


def test_a_dim_without_source_is_explained() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", "m"])
    s = b.op("reduce_sum", x, axes=(1,), outputs=["s"])
    b.op("neg", s)
    out = b.op("expand", b.op("reshape", s, shape=(*s.type.shape, 1)), shape=x.type.shape)
    b.finish([out], ["out"])
    program = pb.finish(["main"])
    with pytest.raises(ShapeError, match="needs the dim m") as caught:
        program.cut(inputs=["s"])
    assert "'x'" in str(caught.value.fix)
    piece = program.cut(inputs=["s", "x"])
    verify(piece)
    assert [v.name for v in piece.main.inputs] == ["x", "s"]


def test_one_output_of_several() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [4])
    p, q = b.op("split", x, axis=0, sizes=(2, 2), outputs=["p", "q"])
    b.finish([b.op("add", p, q, outputs=["r"])], ["out"])
    program = pb.finish(["main"])
    for name in ("p", "q"):
        piece = program.cut(inputs=[name])
        verify(piece)
        data = np.arange(4, dtype=np.float32)
        out = piece.run({"x": data, name: np.zeros(2, np.float32)})
        kept = data[2:] if name == "p" else data[:2]
        assert np.array_equal(out["out"], kept)


def test_bodies_and_variables_that_nobody_reaches_go() -> None:
    program = _program()
    variable = Variable("v", TensorType.of("f32", [1]), np.zeros(1, np.float32))
    other = replace(program.main, name="other")
    fuller = replace(
        program, functions={**program.functions, "other": other}, variables=(variable,)
    )
    lean = only_reached(fuller)
    assert list(lean.functions) == ["main"]
    assert lean.variables == ()
