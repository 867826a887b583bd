# SPDX-License-Identifier: Apache-2.0
"""Renaming inputs and outputs keeps the program, whatever the names of its dims and tensors."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program, ProgramBuilder, from_bytes, rename, to_bytes, verify
from samara.exporter.ir.merge import merge
from samara.exporter.types import ShapeError


def sized() -> Program:
    """Sizes depend on the shape of `x`, on the data of `k`, and on a node."""
    maker = ProgramBuilder()
    b = maker.function("main")
    x, k = b.input("x", "f32", ["x.0"]), b.input("k", "i64", [1])
    h = b.op("relu", x, name="h")
    long = b.read(k, 0, 8)
    tiled = b.op("tile", h, repeats=(long,), name="tiled")
    places = b.op("nonzero", tiled, outputs=["places"])
    b.finish([tiled, b.op("add", places, places, outputs=["sum"]), x], ["tiled", "sum", "same"])
    made = maker.finish(["main"])
    verify(made)
    return made


FEEDS = {"x": np.array([1, -2, 3], np.float32), "k": np.array([2])}


@pytest.mark.parametrize(
    "names",
    [
        {"x": "image"},
        {"x": "k", "k": "x"},
        {"k": "h", "tiled": "places", "sum": "tiled"},
        {"same": "x", "tiled": "k"},
        {"x": "same", "k": "sum", "tiled": "h"},
    ],
)
def test_the_program_is_the_same(names: dict[str, str]) -> None:
    program = sized()
    made = rename(program, names)
    verify(made)
    got = made.run({names.get(k, k): v for k, v in FEEDS.items()})
    want = program.run(FEEDS)
    assert list(got) == [names.get(n, n) for n in want]
    for name, array in want.items():
        np.testing.assert_array_equal(got[names.get(name, name)], array)
    again = from_bytes(to_bytes(made)).program.run({names.get(k, k): v for k, v in FEEDS.items()})
    assert list(again) == list(got)


def test_a_dim_that_is_called_after_the_input_follows() -> None:
    made = rename(sized(), {"x": "image", "same": "copy"})
    assert str(made.main.inputs[0].type) == "f32[image.0]"
    assert [v.name for v in made.main.inputs] == ["image", "k"]
    assert made.main.output_names == ("tiled", "sum", "copy")


def test_nothing_to_rename() -> None:
    program = sized()
    assert rename(program, {}) is program


@pytest.mark.parametrize(
    ("names", "said", "fix"),
    [
        ({"imag": "x2"}, "no input or output 'imag' to rename", "the inputs and outputs are 'x'"),
        ({"tild": "x2"}, "no input or output 'tild' to rename", "did you mean 'tiled'?"),
        ({"h": "x2"}, "no input or output 'h' to rename", ""),
        ({"x": "k"}, "'k' would be the name of the inputs 'x' and 'k'", "its own name"),
        ({"x": "z", "k": "z"}, "'z' would be the name of the inputs 'x' and 'k'", ""),
        ({"sum": "same"}, "'same' would be the name of the outputs 'sum' and 'same'", ""),
        ({"x": ""}, "'' is no new name for 'x'", ""),
    ],
)
def test_names_that_cannot_be(names: dict[str, str], said: str, fix: str) -> None:
    with pytest.raises(ShapeError) as caught:
        rename(sized(), names)
    assert said in str(caught.value)
    assert fix in str(caught.value)


def test_state_is_no_name_to_rename() -> None:
    from tests.exporter.importers.onnx.models import parse

    model = parse(
        "g (float[2] x, float[2] s) => (float[2] y, float[2] t) { t = Add(x, s)  y = Neg(t) }"
    )
    program = import_onnx(model, state={"t": "s"}, rename={"y": "z"})
    assert program.main.output_names == ("z", "t")
    for name in ("s", "t"):
        with pytest.raises(ShapeError, match="to rename"):
            rename(program, {name: "other"})
    with pytest.raises(ShapeError, match="would be the name"):
        rename(program, {"x": "s"})


def test_entries_are_renamed_where_they_have_the_name() -> None:
    other = ProgramBuilder()
    b = other.function("main")
    b.finish([b.op("exp", b.input("z", "f32", [2]))], ["sum"])
    made = rename(merge({"a": sized(), "b": other.finish(["main"])}), {"sum": "total", "z": "w"})
    assert made.functions["a"].output_names == ("tiled", "total", "same")
    assert made.functions["b"].output_names == ("total",)
    assert [v.name for v in made.functions["b"].inputs] == ["w"]
