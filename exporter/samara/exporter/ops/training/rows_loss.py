# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy against class indices, and its backward operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.facts import Eager, Ends, Kind
from samara.exporter.ops.norm import grad as rules
from samara.exporter.ops.numeric import Array, IndexDataError, in_f32
from samara.exporter.ops.shape_rules import (
    FLOATS,
    INDICES,
    require_dtype,
    require_rank,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType

_ATTRS = (
    Attr(
        "label_smoothing",
        "f32",
        0.0,
        doc="share of the loss that is spread evenly over all classes",
    ),
    Attr("ignore_index", "int", -100, doc="target of rows without loss"),
)


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    sizes = [t.numel() * 12 for t in (*inputs, *outputs) if t is not None and t.rank == 2]
    return sizes[0], bytes_of(inputs, outputs)


def _check(ctx: InferContext, x: int, target: int, weight: int) -> None:
    require_rank(ctx, x, 2)
    rows, classes = ctx.required(x).shape
    ctx.require_ge(classes, 1, "there must be a class")
    require_dtype(ctx, target, *INDICES)
    require_same_dtype(ctx, *(i for i in range(len(ctx.inputs)) if i != target))
    for i in range(weight):
        if i != x:
            require_shape(ctx, i, (rows,), "one value per row")
    require_shape(ctx, weight, (classes,), "one value per class")


def _targets(target: Array, classes: int, ignore_index: int) -> tuple[Array, Array]:
    """Rows that count, and their classes (0 for others); DataError if one is out of range."""
    kept = np.asarray(target != ignore_index)
    bad = kept & ((target < 0) | (target >= classes))
    if np.any(bad):
        at = int(np.flatnonzero(bad)[0])
        raise IndexDataError(
            f"target {target[at]} at position {at} is out of range for {classes} classes",
            op="cross_entropy",
        )
    return kept, np.where(kept, target, 0).astype(np.int64)


def _cross_entropy_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _check(ctx, 0, 1, 2)
    rows = TensorType(ctx.x.dtype, ctx.x.shape[:1])
    return (rows, rows, rows)


def _cross_entropy(
    x: Array,
    target: Array,
    weight: Array | None = None,
    *,
    label_smoothing: float,
    ignore_index: int,
) -> tuple[Array, ...]:
    rows, classes = x.shape
    kept, place = _targets(target, classes, ignore_index)
    wide = x.astype(np.float64)
    best = wide.max(axis=1, keepdims=True)
    log_sum = best + np.log(np.exp(wide - best).sum(axis=1, keepdims=True))
    far = log_sum - wide
    w = np.ones(classes) if weight is None else weight.astype(np.float64)
    share = np.where(kept, w[place], 0)
    smoothing = np.float64(np.float32(label_smoothing))
    loss = (1 - smoothing) * share * far[np.arange(rows), place]
    if smoothing:
        loss = loss + smoothing / classes * (w * far).sum(axis=1)
    return tuple(v.astype(x.dtype) for v in (np.where(kept, loss, 0), log_sum[:, 0], share))


_X = (np.arange(20, dtype=np.float32).reshape(4, 5) * 7) % 4 - 2
_T = np.array([4, 0, 2, 2])
_HUGE = np.array([[100, -100, 3e38], [90, 0, -1], [-np.inf, 0, -1]], np.float32)


def _targets_of(rows: int, classes: int, dtype: Any = np.int64) -> Array:
    return ((np.arange(rows) * 7 + 3) % classes).astype(dtype)


cross_entropy = define(
    OpSpec(
        name="cross_entropy",
        code=213,
        since="0.2.0",
        inputs=("x", "target", "weight?"),
        outputs=("loss", "log_sum", "share"),
        attrs=_ATTRS,
        infer=_cross_entropy_type,
        reference=in_f32(_cross_entropy),
        grad=rules.cross_entropy,
        saves=("x", "target", "weight", "log_sum"),
        doc="of each row of logits x [N, C] with smoothing s = `label_smoothing` and t its target:"
        " log_sum = ln sum of e**x; share = weight[t] (1 without weights);"
        " loss = (1 - s) * share * (log_sum - x[t]) + s / C * sum of weight * (log_sum - x)."
        " Loss and share are 0 where t is `ignore_index`; their quotient of sums is the mean."
        " Any other target outside [0, C) is an error",
        dtypes=FLOATS,
        check="x [N C] target [N] weight [C] -> loss [N] log_sum [N] share [N]",
        cost=_cost,
        flags=frozenset({"training"}),
        cases=(
            Case((("f32", (1, 1)), _targets_of(1, 1))),
            Case((("f32", (7, 10)), _targets_of(7, 10)), low=-9, high=9),
            Case((("f32", (3, 33)), _targets_of(3, 33, np.int32))),
            Case((("f32", (0, 4)), _targets_of(0, 4))),
            Case((_X, _T, ("f32", (5,))), {"ignore_index": 2}, 0.1, 2),
            Case((_X, _T, ("f32", (5,))), {"label_smoothing": 0.1}, 0.1, 2),
            Case((_X, np.array([-100, 0, 1, -100])), {"label_smoothing": 0.5}),
            Case((("f32", (900, 12)), _targets_of(900, 12))),
            Case((("f32", (2, 9000)), _targets_of(2, 9000)), {"label_smoothing": 0.1}),
            Case((("f16", (4, 17)), _targets_of(4, 17), ("f16", (17,)))),
            Case((_HUGE, np.array([0, 0, 1]))),
        ),
        kind=Kind.LOSS,
        eager=Eager.KERNEL,
        ends=Ends.ALWAYS,
    )
)


def _cross_entropy_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _check(ctx, 1, 2, 4)
    return (ctx.required(1),)


def _cross_entropy_grad(
    dloss: Array,
    x: Array,
    target: Array,
    log_sum: Array,
    weight: Array | None = None,
    *,
    label_smoothing: float,
    ignore_index: int,
) -> Array:
    rows, classes = x.shape
    kept, place = _targets(target, classes, ignore_index)
    w = np.ones(classes) if weight is None else weight.astype(np.float64)
    smoothing = np.float64(np.float32(label_smoothing))
    own, part = (1 - smoothing) * w[place], smoothing / classes
    p = np.exp(x.astype(np.float64) - log_sum[:, None])
    dx = p * (own + part * w.sum())[:, None] - part * w
    dx[np.arange(rows), place] -= own
    return np.asarray(np.where(kept[:, None], dx * dloss[:, None], 0).astype(x.dtype))


def _rows_of(n: int, dtype: str = "f32") -> Any:
    return np.linspace(1.5, 3, n).astype("f4" if dtype == "f32" else "f2")


cross_entropy_grad = define(
    OpSpec(
        name="cross_entropy_grad",
        code=214,
        since="0.2.0",
        inputs=("dloss", "x", "target", "log_sum", "weight?"),
        outputs=("dx",),
        attrs=_ATTRS,
        infer=_cross_entropy_grad_type,
        reference=in_f32(_cross_entropy_grad),
        grad=rules.cross_entropy_grad,
        saves=("dloss", "x", "target", "log_sum", "weight"),
        doc="the gradient of the loss of cross_entropy(x, target, weight) for x, with p ="
        " e**(x - log_sum): dx = dloss * (p * (a + b * sum of weight) - b * weight - a * [c = t]),"
        " a = (1 - s) * weight[t], b = s / C; 0 where the target is ignored",
        dtypes=FLOATS,
        check="dloss [N] x [N C] target [N] log_sum [N] weight [C] -> dx [N C]",
        cost=_cost,
        flags=frozenset({"training", "serial_prologue"}),
        cases=(
            Case((("f32", (1,)), ("f32", (1, 1)), _targets_of(1, 1), _rows_of(1))),
            Case((("f32", (7,)), ("f32", (7, 10)), _targets_of(7, 10), _rows_of(7))),
            Case((("f32", (3,)), ("f32", (3, 33)), _targets_of(3, 33, np.int32), _rows_of(3))),
            Case((("f32", (0,)), ("f32", (0, 4)), _targets_of(0, 4), _rows_of(0))),
            Case(
                (("f32", (4,)), _X, _T, _rows_of(4), ("f32", (5,))),
                {"ignore_index": 2, "label_smoothing": 0.25},
                0.1,
                2,
            ),
            Case((("f32", (4,)), _X, _T, _rows_of(4), ("f32", (5,))), {}, 0.1, 2),
            Case((("f32", (4,)), _X, _T - 100 * (_T == 0), _rows_of(4)), {"label_smoothing": 0.5}),
            Case((("f32", (900,)), ("f32", (900, 12)), _targets_of(900, 12), _rows_of(900))),
            Case((("f16", (4,)), ("f16", (4, 17)), _targets_of(4, 17), _rows_of(4, "f16"))),
        ),
        kind=Kind.LOSS,
        eager=Eager.KERNEL,
    )
)
