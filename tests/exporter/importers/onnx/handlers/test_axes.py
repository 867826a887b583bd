# SPDX-License-Identifier: Apache-2.0
"""Axes known at run time: the expressions agree with numpy for every axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from samara.exporter.importers.onnx.handlers.axes import (
    around,
    flags,
    from_front,
    named,
    split_shape,
    spread,
    with_ones,
    without,
    without_one,
)
from samara.exporter.types import Born, Dim, Read, as_dim, sym

SHAPE = (2, 3, 5)
DIMS = [sym("a"), as_dim(3), sym("c")]
VALUES = {"a": 2, "c": 5}
AXES = [Dim.atom(Read("p", 0)), Dim.atom(Read("q", 0))]


def at(dims: Sequence[Dim], **axes: int) -> list[int]:
    def read(atom: Read | Born) -> int:
        return axes[str(atom.key)]

    return [d.evaluate(VALUES, read) for d in dims]


@pytest.mark.parametrize("p", range(-3, 3))
def test_one_axis(p: int) -> None:
    axis, front = AXES[0], p % 3
    assert at([from_front(axis, 3)], p=p) == [front]
    assert at([named(axis, a, 3) for a in range(3)], p=p) == [int(a == front) for a in range(3)]
    before, after = math.prod(SHAPE[:front]), math.prod(SHAPE[front + 1 :])
    assert at(around(DIMS, axis), p=p) == [before, SHAPE[front], after]
    assert at(without_one(DIMS, axis), p=p) == [n for a, n in enumerate(SHAPE) if a != front]


@pytest.mark.parametrize(
    ("p", "q"), [(p, q) for p, q in itertools.product(range(-3, 3), repeat=2) if p % 3 != q % 3]
)
def test_two_axes(p: int, q: int) -> None:
    chosen = flags(AXES, 3)
    where = {p % 3, q % 3}
    assert at(chosen, p=p, q=q) == [int(a in where) for a in range(3)]
    pairs = at(split_shape(DIMS, chosen), p=p, q=q)
    assert pairs == [
        n for a, size in enumerate(SHAPE) for n in ((1, size) if a in where else (size, 1))
    ]
    assert at(without(DIMS, chosen, 1), p=p, q=q) == [
        n for a, n in enumerate(SHAPE) if a not in where
    ]
    ones = flags(AXES, 5)
    five = {p % 5, q % 5}
    if len(five) == 2:
        rest = iter(SHAPE)
        assert at(with_ones(DIMS, ones), p=p, q=q) == [
            1 if a in five else next(rest) for a in range(5)
        ]
    values = at(spread([as_dim(7), as_dim(8)], AXES, DIMS), p=p, q=q)
    assert [values[p % 3], values[q % 3]] == [7, 8]


def test_static_axes_leave_numbers() -> None:
    assert flags([as_dim(-1)], 3) == [0, 0, 1]
    assert split_shape(DIMS, [as_dim(0), as_dim(1), as_dim(0)]) == [DIMS[0], 1, 1, 3, DIMS[2], 1]
    assert around(DIMS, as_dim(1)) == (DIMS[0], as_dim(3), DIMS[2])
