# SPDX-License-Identifier: Apache-2.0
"""Reductions and normalizations: what the suite of cases does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const

from samara.exporter.types import ShapeError, UnsupportedError

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def test_a_symbolic_axis_is_reduced() -> None:
    x = T(_floats(3, 4), signature=[-1, 4])
    program = Case("MEAN", [x, const(np.array([0], np.int32))]).check()
    assert [n.op.name for n in program.main.nodes] == ["reduce_mean"]
    assert program.main.outputs[0].type.is_static


@pytest.mark.parametrize("op", ["SUM", "REDUCE_MAX"])
def test_no_axes_change_nothing(op: str) -> None:
    program = Case(op, [T(_floats(3, 4)), const(np.array([], np.int32))]).check()
    assert [n.op.name for n in program.main.nodes] == ["identity"]


def test_an_axis_out_of_range() -> None:
    Case("SUM", [T(_floats(3)), const(np.array([1], np.int32))]).refused(ShapeError, "axis 1")
    Case("CUMSUM", [T(_floats(3)), const(np.int32(-2))]).refused(ShapeError, "axis -2")


def test_axes_that_are_fed() -> None:
    Case("SUM", [T(_floats(3)), T(np.array([0], np.int32))]).refused(UnsupportedError, "the axes")


def test_beta_scales_before_a_softmax() -> None:
    names = [
        [
            n.op.name
            for n in Case("SOFTMAX", [T(_floats(3))], options={"beta": b}).check().main.nodes
        ]
        for b in (1.0, 0.5)
    ]
    assert names == [["softmax"], ["mul", "softmax"]]
