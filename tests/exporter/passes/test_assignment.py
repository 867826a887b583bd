# SPDX-License-Identifier: Apache-2.0
"""Slice assignments written as scatter_nd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, ops, program

from samara.exporter.ir import Builder, Program, Value
from samara.exporter.passes import simplify
from samara.exporter.passes._assignment import assigned_box
from samara.exporter.types import as_dim

Array = np.ndarray[Any, Any]


def grid(*ranges: tuple[int, int]) -> Array:
    """The index of every element of a slice: int64[…, len(ranges)]."""
    axes = np.meshgrid(*(np.arange(*r) for r in ranges), indexing="ij")
    return np.stack(axes, -1).astype(np.int64)


def _assigned(shape: list[int], indices: Array, reduction: str = "none") -> Program:
    def build(b: Builder) -> Value:
        rest = shape[indices.shape[-1] :]
        u = b.input("u", "f32", [*indices.shape[:-1], *rest])
        x = b.op("neg", b.input("x", "f32", shape))
        value: Value = b.op("scatter_nd", x, b.const(indices), u, reduction=reduction, wrap=True)
        return b.op("neg", value)  # type: ignore[no-any-return]

    return program(build)


def _indices(p: Program) -> list[Array]:
    return [
        v.constant
        for n in p.main.nodes
        for v in n.inputs
        if v is not None and v.constant is not None
    ]


def test_axes_assigned_as_a_whole_need_no_indices() -> None:
    after = apply(simplify.PASS, _assigned([2, 9, 5, 7], grid((0, 2), (3, 8), (0, 5), (0, 7))))
    assert ops(after) == {"scatter_nd": 1, "neg": 2}
    (left,) = _indices(after)
    assert left.shape == (2, 5, 2)


@pytest.mark.parametrize(
    ("ranges", "left"),
    [
        (((0, 4), (0, 9), (0, 7)), {"neg": 1}),  # everything: only the updates remain
        (((0, 40), (2, 9), (3, 7)), {"neg": 2, "slice": 3, "concat": 2}),
        (((0, 40), (0, 9), (0, 3)), {"neg": 2, "slice": 1, "concat": 1}),
        (((0, 40), (0, 9), (-5, -1)), {"neg": 2, "slice": 2, "concat": 1}),
    ],
)
def test_many_indices_become_a_concat(
    ranges: tuple[tuple[int, int], ...], left: dict[str, int]
) -> None:
    shape = [ranges[0][1], 9, 7]
    assert ops(apply(simplify.PASS, _assigned(shape, grid(*ranges)))) == left


def test_what_is_no_slice_stays() -> None:
    whole = grid((0, 40), (0, 9), (0, 3))
    holes = whole.copy()
    holes[3, 2, 1, 0] = 5
    for indices, reduction in (
        (holes, "none"),
        (whole[::-1], "none"),
        (whole[:, :, ::2], "none"),
        (whole, "add"),
    ):
        after = apply(simplify.PASS, _assigned([40, 9, 7], indices, reduction))
        assert ops(after) == {"scatter_nd": 1, "neg": 2}
    few = apply(simplify.PASS, _assigned([40, 9], grid((1, 3), (0, 4))))
    assert ops(few) == {"scatter_nd": 1, "neg": 2}  # few indices, changed in place


def test_boxes() -> None:
    shape = (as_dim(4), as_dim(6))
    assert assigned_box(grid((1, 3), (0, 6)), shape) == [(1, 3), (0, 6)]
    assert assigned_box(grid((-3, -1), (0, 6)), shape) == [(1, 3), (0, 6)]
    assert assigned_box(grid((3, 5), (0, 6)), shape) is None  # out of range: the run must say so
    assert assigned_box(grid((-1, 1), (0, 6)), shape) is None
    assert assigned_box(grid((-3, -1), (0, 6)), shape, wrap=False) is None
    assert assigned_box(grid((1, 3)), shape) == [(1, 3)]
    assert assigned_box(np.zeros((0, 1), np.int64), shape) is None
