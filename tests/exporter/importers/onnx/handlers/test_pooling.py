# SPDX-License-Identifier: Apache-2.0
"""Pools against onnxruntime: padding, ceil_mode, dilations, 1 to 3 spatial dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError, UnsupportedError

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
        got, want = (import_onnx(c.model()).run(c.feeds())["y0"] for c in (new, old))
        np.testing.assert_array_equal(got, want)


def test_what_is_refused() -> None:
    x = normal(*SHAPES[2])
    with pytest.raises(UnsupportedError, match="Indices"):
        import_onnx(Case("MaxPool", [x], {"kernel_shape": [2, 2]}, outputs=2).model())
    with pytest.raises(ShapeError, match="kernel_shape"):
        import_onnx(Case("MaxPool", [x], {"kernel_shape": [2]}).model())
    with pytest.raises(ShapeError, match=r"strides \[2\]"):
        import_onnx(Case("MaxPool", [x], {"kernel_shape": [2, 2], "strides": [2]}).model())
    with pytest.raises(ShapeError, match="rank 3 to 5"):
        import_onnx(Case("GlobalMaxPool", [normal(2, 3)]).model())
