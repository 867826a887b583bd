# SPDX-License-Identifier: Apache-2.0
"""Pools against onnxruntime: padding, ceil_mode, dilations, 1 to 3 spatial dims."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case, native, normal, witness

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError, ShapeError

CLOSE: Any = {"rtol": 1e-5, "atol": 1e-6}
SHAPES = {1: (2, 3, 11), 2: (1, 3, 10, 11), 3: (1, 2, 6, 5, 7)}
GEOMETRY: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3, 2]},
    "pads": {"pads": [1, 0, 1, 1, 1, 0], "strides": [2, 2, 2]},
    "ceil": {"ceil_mode": 1, "strides": [2, 3, 2]},
    "ceil and pads": {"ceil_mode": 1, "strides": [2, 3, 3], "pads": [1, 1, 0, 0, 1, 1]},
    "same upper": {"auto_pad": "SAME_UPPER", "strides": [2, 3, 2]},
    "same lower": {"auto_pad": "SAME_LOWER", "strides": [2, 3, 2]},
    "valid": {"auto_pad": "VALID", "strides": [2, 2, 2]},
    "dilations": {"dilations": [2, 1, 2]},
}


def geometry(name: str, spatial: int) -> dict[str, Any]:
    """The row, cut to the number of spatial dims."""
    out = {}
    for key, value in GEOMETRY[name].items():
        if key == "pads":
            out[key] = [*value[:spatial], *value[3 : 3 + spatial]]
        else:
            out[key] = value[:spatial] if isinstance(value, list) else value
    return out


@pytest.mark.parametrize("name", GEOMETRY)
@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_pool(name: str, spatial: int, op: str, symbolic: bool) -> None:
    attrs = {"kernel_shape": [3, 2, 3][:spatial], **geometry(name, spatial)}
    if op == "LpPool" and ("dilations" in attrs or "ceil_mode" in attrs):
        return  # onnxruntime rounds windows of these down
    Case(op, [normal(*SHAPES[spatial])], attrs, 19, symbolic=symbolic, **CLOSE).check()


@pytest.mark.parametrize("name", ["pads", "same upper", "ceil and pads"])
def test_the_average_may_count_padding(name: str) -> None:
    attrs = {"kernel_shape": [3, 2], "count_include_pad": 1, **geometry(name, 2)}
    Case("AveragePool", [normal(*SHAPES[2])], attrs, 19, **CLOSE).check()


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool(p: int) -> None:
    Case("LpPool", [normal(*SHAPES[2])], {"kernel_shape": [3, 2], "p": p}, **CLOSE).check()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_max_pool_of_bytes(dtype: type) -> None:
    x: Any = np.random.default_rng(0).integers(0, 100, SHAPES[2]).astype(dtype)
    Case("MaxPool", [x], {"kernel_shape": [3, 2]}).check()


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("symbolic", [False, True])
def test_global(op: str, spatial: int, symbolic: bool) -> None:
    Case(op, [normal(*SHAPES[spatial])], symbolic=symbolic, rtol=1e-4, atol=1e-5).check()


@pytest.mark.parametrize("p", [1, 3])
def test_global_lp(p: int) -> None:
    Case("GlobalLpPool", [normal(*SHAPES[2])], {"p": p}, rtol=1e-4, atol=1e-5).check()


def test_opset_6() -> None:
    attrs = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    for op in ("MaxPool", "AveragePool"):
        new, old = (Case(op, [normal(*SHAPES[2])], attrs, opset) for opset in (19, 6))
        got, want = (c.run()["y0"] for c in (new, old))
        np.testing.assert_array_equal(got, want)


def test_what_is_refused() -> None:
    x = normal(*SHAPES[2])
    Case("MaxPool", [x], {"kernel_shape": [2]}).refused(ShapeError, "kernel_shape")
    with pytest.raises(ShapeError, match=r"strides \[2\]"):
        import_onnx(Case("MaxPool", [x], {"kernel_shape": [2, 2], "strides": [2]}).model())
    Case("GlobalMaxPool", [normal(2, 3)]).refused(ShapeError, "rank 3 to 5")


# ---- indices ----


@pytest.mark.parametrize("name", GEOMETRY)
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_indices(name: str, spatial: int) -> None:
    """Row-major places in the whole input, of the first of equal elements."""
    attrs = {"kernel_shape": [3, 2, 3][:spatial], **geometry(name, spatial)}
    x = normal(*SHAPES[spatial])
    x[..., ::2] = np.float32(1.5)
    for symbolic in (False, True):
        Case("MaxPool", [x], attrs, 12, outputs=2, symbolic=symbolic).check_native()


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_indices_by_columns(spatial: int) -> None:
    attrs = {"kernel_shape": [2, 3, 2][:spatial], "strides": [2] * spatial, "storage_order": 1}
    case = Case("MaxPool", [normal(*SHAPES[spatial])], attrs, 12, outputs=2, symbolic=spatial == 2)
    case.check_native()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_indices_of_bytes(dtype: type) -> None:
    x: Any = np.random.default_rng(0).integers(0, 100, SHAPES[2]).astype(dtype)
    Case("MaxPool", [x], {"kernel_shape": [3, 2]}, 12, outputs=2).check_native()


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("symbolic", [False, True])
def test_max_unpool(spatial: int, symbolic: bool) -> None:
    kernel, strides = [2, 3, 2][:spatial], [2, 3, 3][:spatial]
    pooled = Case("MaxPool", [normal(2, 3, *[8, 9, 10][:spatial])],
                  {"kernel_shape": kernel, "strides": strides}, 12, outputs=2)  # fmt: skip
    y, places = witness(pooled.model(), pooled.feeds()).values()
    # The smallest image that has these windows may be smaller than the pooled one.
    sizes = ((n - 1) * s + k for n, s, k in zip(y.shape[2:], strides, kernel, strict=True))
    inside = np.random.default_rng(1).permutation(2 * 3 * math.prod(sizes))[: places.size]
    attrs = {"kernel_shape": kernel, "strides": strides}
    case = Case("MaxUnpool", [y, inside.reshape(places.shape)], attrs, 11, symbolic=symbolic)
    case.check_native()


@pytest.mark.parametrize("constants", [(), (2,)])
def test_max_unpool_into_a_larger_output(constants: tuple[int, ...]) -> None:
    x, places = normal(2, 2, 3, 3), np.arange(36, dtype=np.int64)[::-1].reshape(2, 2, 3, 3) * 2
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 1, 1, 0]}
    shape = np.array([2, 2, 7, 5], np.int64)
    Case("MaxUnpool", [x, places, shape], attrs, 22, constants, reference=True).check_native()
    for wrong in ([2, 2, 4, 5], [2, 3, 7, 5], [2, 2, 7]):
        other = Case("MaxUnpool", [x, places, np.array(wrong, np.int64)], attrs, 22, constants)
        with pytest.raises(SamaraError, match="output_shape"):
            native(import_onnx(other.model()), other.feeds())


@pytest.mark.parametrize("place", [16, -1, -17, 2**40])
def test_places_that_are_not_there(place: int) -> None:
    """Indices are checked while running."""
    places = np.array([0, 3, place, 5], np.int64).reshape(1, 1, 2, 2)
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    case = Case("MaxUnpool", [normal(1, 1, 2, 2), places], attrs, 22)
    program = import_onnx(case.model())
    with pytest.raises(SamaraError, match="out of range"):
        program.run(case.feeds())
    with pytest.raises(SamaraError, match="scatter_elements"):
        native(program, case.feeds())


# ---- corners that onnxruntime lacks ----


@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
@pytest.mark.parametrize("name", ["ceil", "dilations", "pads"])
def test_by_definition(op: str, name: str) -> None:
    if (op, name) == ("LpPool", "ceil"):
        return  # onnx.reference scales the norm of a window that is cut off, the definition does not
    attrs = {"kernel_shape": [3, 2], **geometry(name, 2)}
    if op == "AveragePool":
        attrs["count_include_pad"] = 1
    Case(op, [normal(*SHAPES[2])], attrs, 22, reference=True, **CLOSE).check_native()
