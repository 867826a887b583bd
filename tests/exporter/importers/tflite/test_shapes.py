# SPDX-License-Identifier: Apache-2.0
"""Shape arithmetic: chains of operators over sizes become expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, built, const

from samara import import_tflite

I = T(kind="INT32", shape=(1,))


def _ints(*values: int) -> T:
    return const(np.array(values, np.int32))


def _reshaped(tensors: Sequence[T], ops: Sequence[Op], last: int) -> Any:
    """A net that reshapes x [n, 4] by tensor `last`; its Program."""
    x = T(np.arange(12, dtype=np.float32).reshape(3, 4), signature=(-1, 4), name="x")
    y = T(kind="FLOAT32", shape=(1, 1))
    count = len(tensors) + 2
    chain = [Op("SHAPE", [0], [1], {"out_type": "INT32"}), *ops]
    reshape = Op("RESHAPE", [0, last], [count])
    graph = Graph([x, T(kind="INT32", shape=(2,)), *tensors, y], [*chain, reshape], [0], [count])
    return import_tflite(built(graph))


def test_shape_slice_pack_reshape() -> None:
    begin, end, step = _ints(0), _ints(1), _ints(1)
    ops = [
        Op("STRIDED_SLICE", [1, 2, 3, 4], [5], {"shrink_axis_mask": 1}),
        Op("PACK", [5, 6, 7], [8], {"values_count": 3, "axis": 0}),
    ]
    scalar = T(kind="INT32", shape=())
    two = const(np.array(2, np.int32))
    program = _reshaped([begin, end, step, scalar, two, two, T(kind="INT32", shape=(3,))], ops, 8)
    assert [n.op.name for n in program.main.nodes] == ["reshape"]
    assert program.run({"x": np.ones((5, 4), np.float32)})["t9"].shape == (5, 2, 2)


@pytest.mark.parametrize(
    ("ops", "tensors", "want"),
    [
        ([Op("CONCATENATION", [1, 2], [3], {"axis": 0})], [_ints(1), I], [3, 4, 1]),
        ([Op("GATHER", [1, 2], [3], {"axis": 0})], [_ints(1, 0), I], [4, 3]),
        ([Op("SLICE", [1, 2, 3], [4])], [_ints(0), _ints(2), I], [3, 4]),
        ([Op("MUL", [1, 2], [3])], [_ints(4, 1), I], [12, 4]),
        ([Op("REDUCE_PROD", [1, 2], [3], {"keep_dims": True})], [_ints(0), I], [12]),
        ([Op("MAXIMUM", [1, 2], [3])], [_ints(1, 1), I], [3, 4]),
        ([Op("CAST", [1], [2])], [I], [3, 4]),
        ([Op("BROADCAST_ARGS", [1, 2], [3])], [_ints(1), I], [3, 4]),
    ],
)
def test_arithmetic(ops: Sequence[Op], tensors: Sequence[T], want: Sequence[int]) -> None:
    program = _reshaped(tensors, ops, len(tensors) + 1) if np.prod(want) == 12 else None
    if program is None:  # not a shape of x: as the result of a fill
        x = T(np.zeros((3, 4), np.float32), signature=(-1, 4), name="x")
        count = len(tensors) + 2
        chain = [Op("SHAPE", [0], [1]), *ops, Op("FILL", [count - 1, count], [count + 1])]
        one = const(np.array(1, np.float32))
        y = T(kind="FLOAT32", shape=(1,))
        graph = Graph([x, T(kind="INT32", shape=(2,)), *tensors, one, y], chain, [0], [count + 1])
        program = import_tflite(built(graph))
    assert all(n.op.name in ("reshape", "expand") for n in program.main.nodes)
    (got,) = program.run({"x": np.zeros((3, 4), np.float32)}).values()
    assert list(got.shape) == list(want)
