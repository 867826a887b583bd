# SPDX-License-Identifier: Apache-2.0
"""Results of control operators, and their types from those of their bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import (
    Body,
    InferContext,
    OpSpec,
    custom_attributes,
    custom_keys,
    named_values,
)
from samara.exporter.types import (
    Born,
    Dim,
    SamaraError,
    ShapeError,
    Sym,
    TensorType,
    UnsupportedError,
    dmax,
)

N, K = Dim.atom(Sym("n")), Dim.atom(Sym("k"))
BOOL, I64 = TensorType.of("bool", ()), TensorType.of("i64", ())


def f32(*shape: Any) -> TensorType:
    return TensorType.of("f32", shape)


def infer(
    op: OpSpec,
    types: list[TensorType | None],
    bodies: Mapping[str, Any],
    scalars: Mapping[int, Dim] | None = None,
    **attrs: Any,
) -> tuple[tuple[TensorType, ...], InferContext]:
    known: Mapping[int, Dim] = {} if scalars is None else scalars
    ctx: InferContext = InferContext(
        op,
        types,
        op.complete(attrs),
        born=lambda o, a: Dim.atom(Born("node", o, a)),
        functions=lambda name: bodies[name],
        scalars=known.get,
    )
    return op.infer(ctx), ctx


def born(output: int, axis: int) -> Dim:
    return Dim.atom(Born("node", output, axis))


def test_branches_are_merged() -> None:
    bodies = {
        "same": ((f32(N, 2),), (f32(N + 1),)),
        "more": ((f32(N, 2),), (f32(N * 2),)),
        "rank": ((f32(N, 2),), (f32(N, 2),)),
    }
    args: list[TensorType | None] = [BOOL, f32(K, 2)]
    types, ctx = infer(ops.if_, args, bodies, then="same", orelse="same")
    assert types == (f32(K + 1),)
    assert ctx.bounds == {}
    types, ctx = infer(ops.if_, args, bodies, then="same", orelse="more")
    assert types == (f32(born(0, 0)),)
    assert ctx.bounds == {(0, 0): dmax(K + 1, K * 2)}
    with pytest.raises(ShapeError, match="in one branch"):
        infer(ops.if_, args, bodies, then="same", orelse="rank")


def test_arguments_must_fit() -> None:
    bodies = {"square": ((f32(N, N),), (f32(N),)), "double": ((f32(N * 2),), (f32(N * 2),))}
    _, ctx = infer(ops.call, [f32(K, 3)], bodies, body="square")
    assert [(g.relation, g.a, g.b) for g in ctx.guards] == [("eq", Dim.const(3), K)]
    with pytest.raises(ShapeError, match="takes 1 inputs"):
        infer(ops.call, [f32(3, 3), f32(3)], bodies, body="square")
    with pytest.raises(ShapeError, match="expected f32"):
        infer(ops.call, [TensorType.of("i32", (3, 3))], bodies, body="square")


def test_sizes_from_data_inside_are_born_outside() -> None:
    inner = Dim.atom(Born("inner", 0, 0, upper=N * 4))
    types, ctx = infer(ops.call, [f32(K)], {"f": ((f32(N),), (f32(inner),))}, body="f")
    assert types == (f32(born(0, 0)),)
    assert ctx.bounds == {(0, 0): K * 4}


def test_loop_types() -> None:
    bodies = {"body": ((I64, BOOL, f32(N), f32(3)), (BOOL, f32(N), f32(N, 3)))}
    args: list[TensorType | None] = [I64, None, f32(K), f32(3)]
    types, ctx = infer(ops.loop, args, bodies, {0: Dim.const(5)}, body="body", carried=1)
    assert types == (f32(K), f32(born(1, 0), K, 3))
    assert ctx.bounds == {(1, 0): Dim.const(5)}
    grown = {"body": ((I64, BOOL, f32(N)), (BOOL, f32(N + 1), f32(N)))}
    types, ctx = infer(ops.loop, [None, None, f32(K)], grown, body="body", carried=1)
    assert types == (f32(born(0, 0)), f32(born(1, 0), born(1, 1)))
    assert ctx.bounds == {}
    wrong = {"body": ((I64, BOOL, f32(4)), (BOOL, f32(5)))}
    with pytest.raises(ShapeError, match="changes from 4 to 5"):
        infer(ops.loop, [None, None, f32(4)], wrong, body="body", carried=1)


def test_loop_runs() -> None:
    body = Body(lambda i, go, x: (np.array(x < 20), x * 2, i), ((I64, BOOL, I64), (BOOL, I64, I64)))
    two, stacked = ops.loop(np.array(9), None, np.array(3), body=body, carried=1)
    assert (two.item(), stacked.tolist()) == (48, [0, 1, 2, 3])
    never, none = ops.loop(None, np.array(False), np.array(3), body=body, carried=1)
    assert (never.item(), none.shape, none.dtype) == (3, (0,), np.int64)


def test_trap_and_custom() -> None:
    with pytest.raises(SamaraError, match="out of road"):
        ops.trap(message="out of road", dtypes=(), ranks=(), shape=())
    types, _ = infer(ops.trap, [], {}, message="m", dtypes=(1, 7), ranks=(2, 0), shape=(N, 3))
    assert types == (f32(N, 3), I64)
    types, _ = infer(ops.custom, [f32(2)], {}, name="a::b", dtypes=(1,), ranks=(1,))
    assert types == (f32(born(0, 0)),)
    with pytest.raises(ShapeError, match="expected 2"):
        infer(ops.custom, [f32(2)], {}, name="a::b", dtypes=(1,), ranks=(2,), shape=(3,))


def test_custom_attributes_travel() -> None:
    given = {"n": 3, "scales": (0.5, 2.0), "mode": "fast:x", "axes": (1, 2), "none": ()}
    packed = custom_keys(given)
    assert custom_attributes(**packed) == given
    assert custom_attributes("", (), ()) == {}
    assert dict(named_values(given)) == given
    with pytest.raises(UnsupportedError):
        custom_keys({"bad": "a\x1fb"})
