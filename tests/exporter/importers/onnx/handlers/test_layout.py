# SPDX-License-Identifier: Apache-2.0
"""Geometry of windows: auto_pad and ceil_mode as expressions of symbolic sizes."""

from __future__ import annotations

from typing import Any

import onnx.helper as oh
import pytest

from samara.exporter.importers.onnx.branches import convert_graph
from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import (
    ceil_extension,
    channels_first,
    channels_last,
    spatial_rank,
    window_pads,
)
from samara.exporter.importers.onnx.scope import ImportState, Scope
from samara.exporter.ir import ProgramBuilder
from samara.exporter.types import Dim, ShapeError, as_dim, sym


def context(rank: int = 4, **attrs: Any) -> NodeContext:
    node = oh.make_node("MaxPool", ["x"], ["y"], **attrs)
    builder = ProgramBuilder().function("main")
    scope = Scope(ImportState({"": 21}, convert_graph), builder, [node], ["y"])
    scope.bind("x", builder.input("x", "f32", list(range(2, 2 + rank))))
    return NodeContext(scope, node)


def at(dims: list[Dim], size: int) -> list[int]:
    return [d.evaluate({"n": size}) for d in dims]


@pytest.mark.parametrize("size", [1, 4, 5, 9])
@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_padding(size: int, kernel: int, stride: int, dilation: int) -> None:
    """As many windows as strides fit in, the padding split in halves."""
    geometry = ([kernel], [stride], [dilation])
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    upper = at(window_pads(context(auto_pad="SAME_UPPER"), (sym("n"),), *geometry), size)
    lower = at(window_pads(context(auto_pad="SAME_LOWER"), (sym("n"),), *geometry), size)
    assert upper == [total // 2, total - total // 2]
    assert lower == upper[::-1]


def test_stated_padding() -> None:
    assert window_pads(context(pads=[1, 2]), (sym("n"),), [3], [1], [1]) == [1, 2]
    assert window_pads(context(), (sym("n"),), [3], [1], [1]) == [0, 0]
    assert window_pads(context(auto_pad="VALID"), (sym("n"),), [3], [1], [1]) == [0, 0]
    with pytest.raises(ShapeError, match="pads must have 2"):
        window_pads(context(pads=[1]), (sym("n"),), [3], [1], [1])
    with pytest.raises(ShapeError, match="auto_pad 'SOME'"):
        window_pads(context(auto_pad="SOME"), (sym("n"),), [3], [1], [1])


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("pads", [(0, 0), (1, 1), (0, 1)])
@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (3, 2), (1, 3), (3, 3)])
def test_ceil_mode(size: int, pads: tuple[int, int], kernel: int, stride: int) -> None:
    """Windows are as many as start inside the input or its first padding."""
    if size + sum(pads) < kernel:
        return
    padded = size + sum(pads)
    windows = -(-(padded - kernel) // stride) + 1
    if (windows - 1) * stride >= size + pads[0]:
        windows -= 1
    want = max((windows - 1) * stride + kernel - padded, 0)
    got = ceil_extension((sym("n"),), [as_dim(p) for p in pads], [kernel], [stride], [1])
    assert at(got, size) == [want]


def test_transposes() -> None:
    n = context()
    last = channels_last(n, n.value(0))
    assert last.type.static_shape() == (2, 4, 5, 3)
    first = channels_first(n, last)
    assert first.type.static_shape() == (2, 3, 4, 5)
    assert first.name == "y"


def test_spatial_rank() -> None:
    assert [spatial_rank(n, n.value(0)) for n in (context(3), context(4), context(5))] == [1, 2, 3]
    for rank in (2, 6):
        n = context(rank)
        with pytest.raises(ShapeError, match="rank 3 to 5"):
            spatial_rank(n, n.value(0))
