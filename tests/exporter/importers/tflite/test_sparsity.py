# SPDX-License-Identifier: Apache-2.0
"""Sparse constants, with and without blocks, and what is wrong with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.importers.tflite.model import Tensor
from samara.exporter.importers.tflite.sparsity import densified
from samara.exporter.types import DType, ModelFormatError


def _axis(size: int = 0, segments: Any = None, indices: Any = None) -> dict[str, Any]:
    if segments is None:
        return {"format": 0, "dense_size": size, "array_segments": None, "array_indices": None}
    return {
        "format": 1,
        "dense_size": 0,
        "array_segments": (1, {"values": segments}),
        "array_indices": (1, {"values": indices}),
    }


def _tensor(shape: tuple[int, ...], data: Any, order: Any, blocks: Any, axes: Any) -> Tensor:
    raw = np.frombuffer(np.asarray(data, np.float32).tobytes(), np.uint8)
    sparsity = {"traversal_order": order, "block_map": blocks, "dim_metadata": axes}
    return Tensor(0, "w", "FLOAT32", shape, shape, True, None, False, raw, sparsity, False)


ROWS = np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 4, 0]], np.float32)


def test_compressed_rows() -> None:
    axes = [_axis(3), _axis(segments=[0, 2, 2, 4], indices=[0, 3, 1, 2])]
    made = densified(_tensor((3, 4), [1, 2, 3, 4], [0, 1], [], axes), DType.F32)
    np.testing.assert_array_equal(made, ROWS)


def test_compressed_columns() -> None:
    axes = [_axis(4), _axis(segments=[0, 1, 2, 3, 4], indices=[0, 2, 2, 0])]
    made = densified(_tensor((3, 4), [1, 3, 4, 2], [1, 0], [], axes), DType.F32)
    np.testing.assert_array_equal(made, ROWS)


def test_blocks() -> None:
    """Blocks of 2 by 2 of a matrix 4 by 4: the first and the last."""
    dense = np.zeros((4, 4), np.float32)
    dense[:2, :2] = [[1, 2], [3, 4]]
    dense[2:, 2:] = [[5, 6], [7, 8]]
    axes = [_axis(2), _axis(segments=[0, 1, 2], indices=[0, 1]), _axis(2), _axis(2)]
    made = densified(_tensor((4, 4), range(1, 9), [0, 1, 2, 3], [0, 1], axes), DType.F32)
    np.testing.assert_array_equal(made, dense)


@pytest.mark.parametrize(
    ("order", "blocks", "axes", "message"),
    [
        ([0, 0], [], [_axis(3), _axis(4)], "do not fit its shape"),
        ([0, 1, 2], [5], [_axis(3), _axis(4), _axis(2)], "a block has an axis"),
        ([0, 1, 2], [0], [_axis(3), _axis(4), _axis(2)], "does not divide"),
        ([0, 1], [], [_axis(3), _axis(segments=[0, 2], indices=[0, 1])], "segments"),
        (
            [0, 1],
            [],
            [_axis(3), _axis(segments=[0, 1, 2, 4], indices=[0, 9, 1, 2])],
            "out of range",
        ),
        ([0, 1], [], [_axis(3), _axis(segments=[0, 1, 1, 1], indices=[0])], "stores 4 elements"),
    ],
)
def test_what_is_wrong(order: Any, blocks: Any, axes: Any, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        densified(_tensor((3, 4), [1, 2, 3, 4], order, blocks, axes), DType.F32)
