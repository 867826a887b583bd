# SPDX-License-Identifier: Apache-2.0
"""Operators that choose elements by index: what the suite of cases does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import Case, T, const

from samara.exporter.types import ShapeError

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def test_a_symbolic_number_of_indices() -> None:
    indices = T(np.array([2, 0, 1], np.int32), signature=[-1])
    program = Case("GATHER", [T(_floats(4, 2)), indices], options={"axis": 0}).check()
    assert [n.op.name for n in program.main.nodes] == ["gather"]
    assert program.main.outputs[0].type.shape[0] == program.main.inputs[1].type.shape[0]


def test_the_number_of_found_elements_is_known_while_running() -> None:
    x = T(np.array([0, 1, 1, 0], np.int32))
    program = Case("WHERE", [x], [T(kind="INT64", shape=())], steps=0).check()
    assert not program.main.outputs[0].type.is_static


def test_batches_that_do_not_fit() -> None:
    indices = T(np.zeros((2, 1), np.int32))
    Case("GATHER", [T(_floats(2, 3)), indices], options={"axis": 0, "batch_dims": 1}).refused(
        ShapeError, "batch_dims 1 does not fit axis 0"
    )


def test_unique_elements_of_a_matrix() -> None:
    outputs = [T(kind="FLOAT32", shape=()), T(kind="INT32", shape=())]
    Case("UNIQUE", [T(_floats(2, 2))], outputs).refused(ShapeError, "needs a vector")


def test_segments_that_nothing_belongs_to() -> None:
    ids, count = const(np.array([3, 1, 3], np.int32)), const(np.int32(5))
    Case("UNSORTED_SEGMENT_MAX", [T(_floats(3, 2)), ids, count]).check()
