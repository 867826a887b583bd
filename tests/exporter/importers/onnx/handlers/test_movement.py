# SPDX-License-Identifier: Apache-2.0
"""Operators that move data against onnxruntime; axes, shapes and bounds in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import (
    Array,
    Case,
    check,
    ints,
    kinds,
    normal,
    parse,
    scalar,
)

from samara.exporter.types import Read, SamaraError, ShapeError, sym

X = normal(2, 3, 4)
BOTH = pytest.mark.parametrize("constant", [False, True])


def which(constant: bool, *indices: int) -> tuple[int, ...]:
    return indices if constant else ()


# ---- shapes


@pytest.mark.parametrize(
    "shape", [(6, 4), (-1,), (0, -1), (2, 0, 4), (4, -1, 2), (1, 24, 1), (2, 3, 4, 1)]
)
@BOTH
def test_reshape(shape: tuple[int, ...], constant: bool) -> None:
    Case("Reshape", [X, ints(*shape)], constants=which(constant, 1)).check()


def test_a_symbolic_input_reshapes() -> None:
    Case("Reshape", [X, ints(0, -1)], constants=(1,), symbolic=True).check()
    Case("Reshape", [X, ints(0, -1)], symbolic=True).check()


def test_allowzero() -> None:
    for constants in ((), (1,)):
        Case("Reshape", [normal(0, 3), ints(3, 0)], {"allowzero": 1}, constants=constants).check()


@pytest.mark.parametrize(
    ("shape", "message"),
    [((-1, -1), "more than one"), ((5, 5), "elements"), ((2, 3, 4, 0), "copies a dim")],
)
def test_shapes_that_cannot_be(shape: tuple[int, ...], message: str) -> None:
    Case("Reshape", [X, ints(*shape)], constants=(1,)).refused(ShapeError, message)


def test_a_shape_read_too_late_is_an_error_of_the_run() -> None:
    Case("Reshape", [X, ints(5, 5)]).fails(SamaraError)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -2])
@pytest.mark.parametrize("symbolic", [False, True])
def test_flatten(axis: int, symbolic: bool) -> None:
    Case("Flatten", [X], {"axis": axis}, symbolic=symbolic).check()


SPARSE = normal(1, 3, 1, 2)


@pytest.mark.parametrize("axes", [(0,), (2,), (0, 2), (-2,), (2, 0), (-4, 2)])
@pytest.mark.parametrize("opset", [6, 11, 13])
@BOTH
def test_squeeze(axes: tuple[int, ...], opset: int, constant: bool) -> None:
    if opset < 13:
        attrs = {"axes": [a % 4 for a in axes] if opset < 11 else axes}
        Case("Squeeze", [SPARSE], attrs, max(opset, 7)).check()
    else:
        Case("Squeeze", [SPARSE, ints(*axes)], {}, opset, which(constant, 1)).check()


def test_squeeze_of_whatever_is_1() -> None:
    Case("Squeeze", [SPARSE]).check()
    Case("Squeeze", [SPARSE], symbolic=True).fails(SamaraError, "must not be 1 at run time")


def test_squeezing_what_is_not_1() -> None:
    Case("Squeeze", [SPARSE, ints(1)], constants=(1,)).refused(ShapeError, "is not 1")


@pytest.mark.parametrize("axes", [(0,), (3,), (-1,), (0, 2), (2, 0), (4, -5)])
@pytest.mark.parametrize("opset", [11, 13])
@BOTH
def test_unsqueeze(axes: tuple[int, ...], opset: int, constant: bool) -> None:
    if opset < 13:
        Case("Unsqueeze", [X], {"axes": axes}, opset=opset).check()
    else:
        Case("Unsqueeze", [X, ints(*axes)], opset=opset, constants=which(constant, 1)).check()


@pytest.mark.parametrize(("axes", "message"), [((0, 0), "repeat"), ((7,), "out of range")])
def test_wrong_axes(axes: tuple[int, ...], message: str) -> None:
    Case("Unsqueeze", [X, ints(*axes)], constants=(1,)).refused(ShapeError, message)


@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 1, 3, 4), (1,), (3, 1), (2, 1, 4)])
@BOTH
def test_expand(shape: tuple[int, ...], constant: bool) -> None:
    x = normal(3, 1) if len(shape) != 3 or shape[1] == 3 else normal(1, 1, 4)
    Case("Expand", [x, ints(*shape)], constants=which(constant, 1)).check()


def test_expanding_what_does_not_broadcast() -> None:
    Case("Expand", [X, ints(5)], constants=(1,)).refused(ShapeError, "does not broadcast")


@BOTH
def test_tile(constant: bool) -> None:
    Case("Tile", [X, ints(1, 2, 3)], constants=which(constant, 1)).check()


# ---- order


@pytest.mark.parametrize("perm", [None, (1, 2, 0), (0, 2, 1)])
def test_transpose(perm: tuple[int, ...] | None) -> None:
    Case("Transpose", [X], {} if perm is None else {"perm": perm}).check()


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_depth_to_space(mode: str, symbolic: bool) -> None:
    x = normal(2, 12, 2, 3)
    Case("DepthToSpace", [x], {"blocksize": 2, "mode": mode}, symbolic=symbolic).check()


def test_space_to_depth() -> None:
    Case("SpaceToDepth", [normal(2, 3, 4, 6)], {"blocksize": 2}).check()


def test_space_to_depth_needs_an_image() -> None:
    Case("SpaceToDepth", [normal(3, 4, 6)], {"blocksize": 2}).refused(ShapeError, "rank 4")


# ---- parts


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    Case("Concat", [X, X, X], {"axis": axis}).check()
    Case("Concat", [X], {"axis": axis}).check()


@pytest.mark.parametrize(
    ("opset", "attrs", "sizes"),
    [
        (6, {"split": [1, 3]}, None),
        (11, {}, None),
        (13, {}, (1, 3)),
        (13, {}, None),
        (18, {"num_outputs": 2}, None),
    ],
)
@BOTH
def test_split(
    opset: int, attrs: dict[str, Any], sizes: tuple[int, ...] | None, constant: bool
) -> None:
    inputs: list[Array | None] = [X] if sizes is None else [X, ints(*sizes)]
    Case("Split", inputs, {"axis": 2, **attrs}, max(opset, 7), which(constant, 1), 2).check()


def test_a_split_that_leaves_less_at_the_end() -> None:
    Case("Split", [normal(7)], {"num_outputs": 3}, outputs=3, opset=18).check()


def test_wrong_splits() -> None:
    for attrs, inputs in (({"num_outputs": 3}, [X]), ({}, [X, ints(1, 1, 1)])):
        case = Case("Split", inputs, attrs, outputs=2, constants=(1,), opset=18)
        case.refused(ShapeError, "outputs")


SLICES = [
    ((0,), (2,), (1,), None), ((-2,), (100,), (2,), None), ((1, 0), (3, 2), (2, 1), None), ((0,), (-1,), (-1,), None),
    ((5,), (1,), (2,), (-2,)), ((-1,), (-100,), (2,), (-1,)), ((100,), (-(2**62),), (1,), (-1,)),
    ((2,), (1,), (2,), None),
    ((0, 3), (3, 0), (1, 2), (2, -1)), ((0,), (2**63 - 1,), (0,), None),
]  # fmt: skip


@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
@pytest.mark.parametrize("constants", [(), (1, 2, 3, 4), (3, 4), (1, 2, 4), (1, 2, 3)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_slice(
    starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...], steps: tuple[int, ...] | None,
    constants: tuple[int, ...], symbolic: bool,
) -> None:  # fmt: skip
    if symbolic and constants != (1, 2, 3, 4):
        return
    inputs: list[Array | None] = [X, ints(*starts), ints(*ends), ints(*axes)]
    if steps is not None:
        inputs.append(ints(*steps))
    Case("Slice", inputs, constants=constants, symbolic=symbolic).check()


def test_slice_without_axes() -> None:
    Case("Slice", [X, ints(0, 1), ints(2, 3)], constants=(1, 2)).check()
    Case("Slice", [X, ints(0, 1), ints(2, 3)]).check()


@pytest.mark.parametrize("axes", [None, (1, 2), (-1, 0)])
def test_slice_of_opset_9(axes: tuple[int, ...] | None) -> None:
    attrs = {"starts": [0, -3], "ends": [-1, 100]}
    attrs |= {} if axes is None else {"axes": [a % 3 for a in axes]}
    Case("Slice", [X], attrs, opset=9).check()


@pytest.mark.parametrize(
    ("steps", "ends", "message"),
    [((0,), (2,), "step of 0"), ((1, 1), (2,), "1 ends"), ((1,), (2, 3), "2 ends")],
)
def test_wrong_slices(steps: tuple[int, ...], ends: tuple[int, ...], message: str) -> None:
    case = Case("Slice", [X, ints(0), ints(*ends), ints(0), ints(*steps)], constants=(1, 2, 3, 4))
    case.refused(ShapeError, message)


def test_a_start_known_at_run_time_is_read() -> None:
    program = Case("Slice", [X, ints(1), ints(3), ints(2)], constants=(2, 3)).check()
    shape = program.main.outputs[0].type.shape
    assert any(isinstance(a, Read) for d in shape for a in d.all_atoms())


# ---- padding


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(0, 1, 2, 0, 2, 1), (0, 0, 0, 0, 0, 0), (0, -1, 1, 0, 0, -1)])
@BOTH
def test_pad(mode: str, pads: tuple[int, ...], constant: bool) -> None:
    if mode != "constant" and min(pads) < 0:
        return
    Case("Pad", [X, ints(*pads)], {"mode": mode}, constants=which(constant, 1)).check()


@pytest.mark.parametrize("opset", [6, 11, 13, 18])
@pytest.mark.parametrize("value", [0.0, -1.5])
def test_pad_with_a_value(opset: int, value: float) -> None:
    if opset < 11:
        Case("Pad", [X], {"pads": [0, 1, 0, 0, 0, 2], "value": value}, opset=7).check()
        return
    for constants in ((1, 2), ()):
        Case("Pad", [X, ints(0, 1, 0, 0, 0, 2), scalar(value)], {}, opset, constants).check()


@pytest.mark.parametrize("constants", [(1, 3), (1,), ()])
def test_pad_along_axes(constants: tuple[int, ...]) -> None:
    Case("Pad", [X, ints(1, 2, 3, 0), None, ints(2, -3)], opset=18, constants=constants).check()


def test_wrong_pads() -> None:
    Case("Pad", [X, ints(1, 2, 3)], constants=(1,)).refused(ShapeError, "3 pads")


# ---- triangles


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 0, 2])
@BOTH
def test_trilu(upper: int, k: int | None, constant: bool) -> None:
    inputs: list[Array | None] = [X] if k is None else [X, scalar(k, np.int64)]
    Case("Trilu", inputs, {"upper": upper}, constants=which(constant, 1)).check()


# ---- shapes that are computed


def test_a_computed_shape_leaves_no_trace() -> None:
    model = parse("""g (float[n, 3, h] x) => (float[n, k] y) {
        s = Shape(x)  zero = Constant<value_ints = [0]>()  rest = Constant<value_ints = [-1]>()
        n = Gather(s, zero)  t = Concat<axis = 0>(n, rest)  y = Reshape(x, t) }""")
    program = check(model, {"x": normal(2, 3, 4)}, {"x": normal(5, 3, 1)})
    assert kinds(program) == ["reshape"]
    assert program.main.outputs[0].type.shape == (sym("n"), sym("h") * 3)
