# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter, one-hot, nonzero and their kin against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, ints, kinds, normal, scalar

from samara.exporter.types import DType, SamaraError, ShapeError, as_dim, sym

X = normal(3, 4, 5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize(
    "indices", [ints(2, -1, 0), ints(1), scalar(-2, np.int64), ints(0, 1, 2, 1).reshape(2, 2)]
)
@pytest.mark.parametrize("constant", [False, True])
def test_gather(axis: int | None, indices: Array, constant: bool) -> None:
    attrs = {} if axis is None else {"axis": axis}
    Case("Gather", [X, indices], attrs, constants=(1,) if constant else ()).check()


def test_one_known_position_is_a_slice() -> None:
    inputs = [X, scalar(-1, np.int64)]
    program = Case("Gather", inputs, {"axis": 1}, constants=(1,), symbolic=True).check()
    assert kinds(program) == ["slice", "reshape"]


def test_a_known_position_out_of_range() -> None:
    Case("Gather", [X, ints(7)], constants=(1,)).refused(ShapeError, "out of range")
    Case("Gather", [X, ints(7)]).fails(SamaraError)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(axis: int) -> None:
    Case("GatherElements", [X, np.array([[[0, 1, -1, 2, 0]]], np.int64)], {"axis": axis}).check()


@pytest.mark.parametrize(
    ("indices", "batch"),
    [
        (ints(0, 1, 2, 3).reshape(2, 2), 0),
        (ints(0, 1, 2).reshape(3, 1), 1),
        (ints(2).reshape(1, 1), 0),
    ],
)
def test_gather_nd(indices: Array, batch: int) -> None:
    Case("GatherND", [X, indices], {"batch_dims": batch}).check()


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, -1])
def test_scatter_elements(reduction: str, axis: int) -> None:
    indices = np.array([[[2, 0, 1, -1, 0]]], np.int64)
    attrs = {"axis": axis} if reduction == "none" else {"axis": axis, "reduction": reduction}
    Case("ScatterElements", [X, indices, normal(1, 1, 5, seed=1)], attrs, opset=18).check()


def test_the_old_name_of_scatter() -> None:
    inputs = [X, ints(1, 0, 2, 0, 1).reshape(1, 1, 5), normal(1, 1, 5)]
    Case("Scatter", inputs, {"axis": 1}, opset=9).check()


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_nd(reduction: str) -> None:
    attrs = {} if reduction == "none" else {"reduction": reduction}
    indices = ints(2, 0).reshape(2, 1)
    Case("ScatterND", [X, indices, normal(2, 4, 5, seed=1)], attrs, opset=18).check()


def test_nonzero() -> None:
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    program = Case("NonZero", [x]).check()
    assert not program.main.outputs[0].type.is_static
    Case("NonZero", [np.zeros((2, 2), np.float32)]).check()


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("constants", [(1, 2), (2,), ()])
def test_one_hot(axis: int, constants: tuple[int, ...]) -> None:
    values = np.array([-1.0, 2.0], np.float32)
    inputs = [ints(0, 2, -1), scalar(4, np.int64), values]
    Case("OneHot", inputs, {"axis": axis}, constants=constants).check()


def test_one_hot_of_floats() -> None:
    inputs = [np.array([0.0, 2.0], np.float32), scalar(3), np.array([0.0, 1.0], np.float32)]
    Case("OneHot", inputs, constants=(1, 2)).check()


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis: int | None) -> None:
    attrs = {} if axis is None else {"axis": axis}
    Case("Compress", [X, np.array([True, False, True])], attrs).check()


@pytest.mark.parametrize("k", [0, 1, -2])
@pytest.mark.parametrize("dtype", [None, 1, 7])
def test_eye_like(k: int, dtype: int | None) -> None:
    attrs = {"k": k} if dtype is None else {"k": k, "dtype": dtype}
    Case("EyeLike", [normal(3, 4)], attrs).check()


def test_a_symbolic_axis_is_gathered() -> None:
    program = Case("Gather", [X, ints(0, -1)], {"axis": 1}, symbolic=True).check()
    out = program.main.outputs[0].type
    assert out.dtype is DType.F32
    assert out.shape == (sym("d0_0"), as_dim(2), sym("d0_2"))
