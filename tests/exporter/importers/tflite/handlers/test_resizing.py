# SPDX-License-Identifier: Apache-2.0
"""Resizing: what the suite of cases does not say."""

from __future__ import annotations

import numpy as np
from tests.exporter.importers.tflite.models import Case, T, const

from samara.exporter.types import ShapeError

X = np.random.default_rng(0).normal(size=(1, 4, 4, 2)).astype(np.float32)


def test_a_symbolic_size_of_the_input() -> None:
    x = T(X, signature=[-1, -1, -1, 2])
    program = Case("RESIZE_BILINEAR", [x, const(np.array([6, 7], np.int32))]).check()
    assert [n.op.name for n in program.main.nodes] == ["resize"]


def test_what_breaks_the_rules() -> None:
    Case("RESIZE_BILINEAR", [T(X[0]), const(np.array([6, 7], np.int32))]).refused(
        ShapeError, "expected rank 4"
    )
    Case("RESIZE_NEAREST_NEIGHBOR", [T(X), const(np.array([6], np.int32))]).refused(
        ShapeError, "has 1 elements"
    )
