# SPDX-License-Identifier: Apache-2.0
"""Reductions against onnxruntime, with axes as attributes, constants and run-time inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, ints, kinds, normal, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError, ShapeError, UnsupportedError

CLOSE: Any = {"rtol": 1e-5, "atol": 1e-5}
X = normal(3, 4, 2) + 0.1
REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, (0,), (-1,), (0, 2), (2, -3), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [None, 0])
@pytest.mark.parametrize("form", ["attribute", "constant", "run time"])
def test_reduce(op: str, axes: tuple[int, ...] | None, keepdims: int | None, form: str) -> None:
    x = np.abs(X) if op == "LogSum" else X
    attrs: dict[str, Any] = {} if keepdims is None else {"keepdims": keepdims}
    inputs: list[Array | None] = [x]
    if axes is not None and form == "attribute":
        attrs["axes"] = [a % 3 for a in axes]
    elif axes is not None:
        inputs.append(ints(*axes))
    opset = 11 if form == "attribute" else 18
    Case(f"Reduce{op}", inputs, attrs, opset, (1,) if form == "constant" else (), **CLOSE).check()


@pytest.mark.parametrize("op", REDUCTIONS)
def test_no_axes_may_mean_nothing(op: str) -> None:
    if op in ("L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        return  # what "nothing" is differs between implementations
    Case(f"Reduce{op}", [X], {"noop_with_empty_axes": 1}, 18).check()
    Case(f"Reduce{op}", [X, ints()], {}, 18, (1,), **CLOSE).check()
    Case(f"Reduce{op}", [X, ints()], {}, 18, **CLOSE).check()


@pytest.mark.parametrize("op", ["Sum", "Max", "LogSumExp"])
@pytest.mark.parametrize("constants", [(), (1,)])
def test_of_nothing(op: str, constants: tuple[int, ...]) -> None:
    case = Case(f"Reduce{op}", [normal(2, 0, 3), ints(1)], {}, 20, constants, symbolic=True)
    got = case.run()["y0"]
    want = np.full((2, 1, 3), 0 if op == "Sum" else -np.inf, np.float32)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_of_bools(op: str) -> None:
    Case(f"Reduce{op}", [X > 0, ints(1)], {}, 20, (1,), reference=True).check()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Prod"])
def test_of_integers(op: str, dtype: type) -> None:
    Case(f"Reduce{op}", [np.arange(12).reshape(3, 4).astype(dtype), ints(1)], {}, 18, (1,)).check()


def test_log_sum_exp_does_not_overflow() -> None:
    rows = [[1000.0, 1000.0], [-1000.0, -1000.0], [-np.inf, -np.inf], [np.inf, 0.0]]
    x = np.array(rows, np.float32)
    case = Case("ReduceLogSumExp", [x, ints(1)], {"keepdims": 0}, 18, (1,))
    got = case.run()["y0"]
    np.testing.assert_allclose(got, [1000.6931, -999.30685, -np.inf, np.inf], rtol=1e-6)


def test_axes_at_run_time() -> None:
    """One axis costs a reshape to [before, axis, after]; several split every axis in two."""
    one = Case("ReduceSum", [X, ints(-2)], {}, 13, **CLOSE).check()
    assert kinds(one) == ["reshape", "reduce_sum", "reshape"]
    with pytest.raises(UnsupportedError, match="make the axes constants"):
        import_onnx(Case("ReduceSum", [normal(1, 1, 1, 1, 2), ints(0, 1)], {}, 13).model())
    Case("ReduceSum", [X, ints(5)], {}, 13).fails(SamaraError, "axis must be in")


def test_axes_out_of_range() -> None:
    for op in ("ReduceSum", "ArgMax", "TopK", "CumSum"):
        attrs = {"axis": 5} if op in ("ArgMax", "TopK") else {}
        inputs = [X] if op == "ArgMax" else [X, ints(5)]
        Case(op, inputs, attrs, 13, (1,)).refused(ShapeError, "axis 5 is out of range")


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [None, 1, -1])
@pytest.mark.parametrize("keepdims", [None, 0])
@pytest.mark.parametrize("last", [0, 1])
def test_arg(op: str, axis: int | None, keepdims: int | None, last: int) -> None:
    x = np.round(X)  # with ties
    attrs = {"select_last_index": last}
    attrs |= {} if axis is None else {"axis": axis}
    attrs |= {} if keepdims is None else {"keepdims": keepdims}
    Case(op, [x], attrs, 13).check()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("constants", [(), (1,)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_cumsum(
    axis: int, exclusive: int, reverse: int, constants: tuple[int, ...], symbolic: bool
) -> None:
    attrs = {"exclusive": exclusive, "reverse": reverse}
    how: Any = {"symbolic": symbolic and bool(constants), **CLOSE}
    Case("CumSum", [X, scalar(axis, np.int64)], attrs, 14, constants, **how).check()


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("constants", [(1,), ()])
def test_cumprod(axis: int, exclusive: int, reverse: int, constants: tuple[int, ...]) -> None:
    attrs = {"exclusive": exclusive, "reverse": reverse}
    inputs = [X, scalar(axis, np.int64)]
    Case("CumProd", inputs, attrs, 26, constants, reference=True, **CLOSE).check_native()


SUMS = (np.float64, np.int32, np.int64, np.uint32, np.uint64)


def _values(dtype: type) -> Array:
    """What does not fit a narrower dtype, or one of another sign."""
    if np.dtype(dtype).kind == "f":
        return np.linspace(-2, 2, 24).reshape(2, 3, 4).astype(dtype)
    info = np.iinfo(dtype)
    values = [3, 5, info.max, 2, info.max // 2 + 1, info.min, 7, 1] * 3
    return np.array(values, dtype).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
def test_running_in_wide_dtypes(op: str, dtype: type) -> None:
    inputs = [_values(dtype), scalar(1, np.int64)]
    with np.errstate(over="ignore"):
        Case(op, inputs, {}, 26, (1,), reference=True, rtol=1e-14).check_native()


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("op", ["Sum", "Prod", "Max", "Min"])
@pytest.mark.parametrize("axes", [(0, 2), (1,), (-1,)])
def test_reductions_in_wide_dtypes(op: str, dtype: type, axes: tuple[int, ...]) -> None:
    inputs = [_values(dtype), ints(*axes)]
    with np.errstate(over="ignore"):
        Case(f"Reduce{op}", inputs, {}, 20, (1,), reference=True, rtol=1e-13).check_native()


@pytest.mark.parametrize("op", ["Mean", "L1", "L2", "LogSumExp", "SumSquare"])
def test_reductions_of_doubles(op: str) -> None:
    inputs = [_values(np.float64), ints(1)]
    Case(f"Reduce{op}", inputs, {}, 18, (1,), reference=True, rtol=1e-13).check_native()


@pytest.mark.parametrize("dtype", [*SUMS, np.int16, np.uint16])
def test_choices_in_wide_dtypes(dtype: type) -> None:
    x = _values(dtype)
    inputs = [x, ints(3)]
    for largest in (0, 1):
        Case("TopK", inputs, {"largest": largest}, 24, (1,), 2, reference=True).check_native()
    for op in ("ArgMax", "ArgMin"):
        Case(op, [x], {"axis": -1, "select_last_index": 1}, reference=True).check_native()


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("form", ["attribute", "constant", "run time"])
def test_top_k(axis: int | None, largest: int, form: str) -> None:
    attrs = {} if axis is None else {"axis": axis}
    if form == "attribute":
        if largest:
            Case("TopK", [X], {"k": 2, **attrs}, 9, outputs=2).check()
        return
    attrs["largest"] = largest
    Case("TopK", [X, ints(2)], attrs, 13, (1,) if form == "constant" else (), outputs=2).check()


@pytest.mark.parametrize("keepdims", [0, 1])
def test_integers_are_cut_off(keepdims: int) -> None:
    """What needs a root or a logarithm is computed in float64."""
    x = np.array([[3, 4, 0], [1 << 20, 1, 7]], np.int32)
    attrs = {"keepdims": keepdims}
    Case("ReduceL2", [x, ints(1)], attrs, 18, (1,), reference=True).check_native()
    for op in ("ReduceLogSum", "ReduceLogSumExp"):
        got = Case(op, [x, ints(1)], attrs, 18, (1,)).run()["y0"]
        wide = x.astype(np.float64)
        total = np.log(wide.sum(1))
        if op == "ReduceLogSumExp":
            total = np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1)) + wide.max(1)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got.ravel(), total.astype(np.int32))
