# SPDX-License-Identifier: Apache-2.0
"""ReverseSequence and TensorScatter against onnxruntime and onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, ints, kinds, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError, ShapeError


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("tail", [(), (3,), (2, 3)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_reverse_sequence(batch_first: bool, tail: tuple[int, ...], symbolic: bool) -> None:
    shape = (4, 5, *tail) if batch_first else (5, 4, *tail)
    attrs = {"time_axis": int(batch_first), "batch_axis": int(not batch_first)}
    lengths = ints(5, 1, 3, 2)
    Case("ReverseSequence", [normal(*shape), lengths], attrs, 10, symbolic=symbolic).check_native()
    Case("ReverseSequence", [normal(*shape), lengths], attrs, 10, (1,)).check()


def test_reverse_sequence_by_default_and_of_whole_numbers() -> None:
    x = np.arange(12, dtype=np.int32).reshape(4, 3)
    Case("ReverseSequence", [x, ints(4, 2, 1)], {}, 10).check_native()


def test_reverse_sequence_refuses() -> None:
    Case("ReverseSequence", [normal(3, 3), ints(1, 1, 1)], {"batch_axis": 0}, 10).refused(
        ShapeError, "must be 0 and 1"
    )
    with pytest.raises(SamaraError, match="one length per sequence"):
        import_onnx(Case("ReverseSequence", [normal(3, 4), ints(1, 1, 1)], {}, 10).model())
    case = Case("ReverseSequence", [normal(3, 2), ints(4, 1)], {}, 10)
    with pytest.raises(SamaraError):  # longer than the sequence
        case.run()


def scattered(cache: Array, update: Array, at: Array, axis: int, circular: bool) -> Array:
    """The operator's own pseudocode."""
    out = cache.copy()
    for prefix in np.ndindex(cache.shape[:axis]):
        for s in range(update.shape[axis]):
            where = int(at[prefix[0]]) + s
            out[(*prefix, where % cache.shape[axis] if circular else where)] = update[(*prefix, s)]
    return out


@pytest.mark.parametrize("shape", [(3, 6, 5), (2, 3, 6, 4), (2, 6), (2, 2, 2, 6, 3)])
@pytest.mark.parametrize("axis", [-2, 1])
@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(shape: tuple[int, ...], axis: int, mode: str) -> None:
    if len(shape) == 2:
        axis = 1
    front = axis % len(shape)
    narrow = list(shape)
    narrow[front] = 2
    length = shape[front]
    cache, update = normal(*shape), normal(*narrow, seed=1)
    at = np.array([length - 2, 0, 1][: shape[0]]) + (1 if mode == "circular" else 0)
    attrs: dict[str, Any] = {"mode": mode, "axis": axis}
    case = Case("TensorScatter", [cache, update, at], attrs, 24, reference=True)
    program = case.check_native()
    want = scattered(cache, update, at, front, mode == "circular")
    np.testing.assert_array_equal(program.run(case.feeds())["y0"], want)


def test_tensor_scatter_without_indices_and_with_symbols() -> None:
    cache, update = normal(2, 3, 6, 4), normal(2, 3, 4, 4, seed=1)
    Case("TensorScatter", [cache, update], {}, 24, reference=True).check_native()
    case = Case("TensorScatter", [cache, update, ints(1, 2)], {}, 24, symbolic=True, reference=True)
    assert "scatter_nd" in kinds(case.check_native())


def test_tensor_scatter_refuses() -> None:
    cache, update = normal(2, 3, 6, 4), normal(2, 3, 4, 4)
    with pytest.raises(SamaraError, match="axis 1 of cache and update"):
        import_onnx(Case("TensorScatter", [cache, update[:, :2]], {}, 24).model())
    Case("TensorScatter", [cache, update, ints(3, 0)], {}, 24).fails(SamaraError)
