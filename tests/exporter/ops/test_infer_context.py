# SPDX-License-Identifier: Apache-2.0
"""What a shape rule sees: relations that are proven, refuted or guarded, and axes."""

from __future__ import annotations

import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import Dim, ShapeError, Sym, TensorType


def test_relations_are_proven_refuted_or_guarded() -> None:
    n = Dim.atom(Sym("n"))
    ctx = InferContext(ops.add, [], {}, node="sum")
    ctx.require_eq(n * 2, n + n, "same")
    ctx.require_ge(n + 1, 1, "more")
    assert ctx.guards == []
    with pytest.raises(ShapeError, match=r"same \(got n and n \+ 1\)") as caught:
        ctx.require_eq(n, n + 1, "same")
    assert (caught.value.op, caught.value.node) == ("add", "sum")
    with pytest.raises(ShapeError, match="needs at least"):
        ctx.require_ge(n, n + 1, "more")
    ctx.require_eq(n, 4, "four")
    ctx.require_ge(n, 4, "four")
    ctx.require_ge(n, 4, "four")
    assert [(g.relation, g.a, g.b, g.node) for g in ctx.guards] == [
        ("eq", n, Dim.const(4), "sum"),
        ("le", Dim.const(4), n, "sum"),
    ]


def test_axes() -> None:
    ctx = InferContext(ops.softmax, [TensorType.of("f32", (2, 3))], {"axis": -1})
    assert (ctx.axis_of(-1), ctx.axis_of(1), ctx.axis) == (1, 1, -1)
    with pytest.raises(ShapeError, match="axis 2 is out of range for rank 2"):
        ctx.axis_of(2)
    with pytest.raises(AttributeError, match="softmax has no attribute 'axes'"):
        _ = ctx.axes


def test_an_attribute_takes_no_methods_place() -> None:
    """`dims` has an attribute called `scalar`, as a method of every context is."""
    ctx = InferContext(
        ops.dims, [], {"scalar": True, "items": (1,)}, scalars=lambda _: Dim.const(7)
    )
    assert ctx.scalar(0) == 7
    assert ctx.attrs["scalar"] is True
    assert ctx.items == (1,)
