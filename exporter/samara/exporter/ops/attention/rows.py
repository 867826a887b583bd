# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention and its gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.attention import grad as _grad
from samara.exporter.ops.facts import Eager, Kind, Tolerance
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.shape_rules import (
    FLOATS,
    require_broadcasts_to,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType, as_dim

Shape = tuple[Dim, ...]


def _scores_shape(q: TensorType, k: TensorType, layout: str) -> Shape:
    """The shape of the scores, [..., S, T] in both layouts: one matrix per head."""
    if layout == "bhsd":
        return (*q.shape[:-1], k.shape[-2])
    return (*q.shape[:-3], q.shape[-2], q.shape[-3], k.shape[-3])


def _check_operands(ctx: InferContext, mask_input: int) -> tuple[Dim, ...]:
    """The shape of y; checks q, k, v and the mask."""
    q, k, v = (ctx.required(i) for i in range(3))
    least = 2 if ctx.layout == "bhsd" else 3
    ctx.require(least <= q.rank <= 5, f"q has rank {q.rank}, expected {least} to 5")
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    ctx.require(k.rank == q.rank == v.rank, f"ranks of q, k, v are {q.rank}, {k.rank}, {v.rank}")
    # Axes of rows: all others but the last are batch and heads.
    rows = q.rank - least
    heads = q.rank - (3 if ctx.layout == "bhsd" else 2)
    ctx.require(
        ctx.groups == 1 or (ctx.groups > 1 and heads >= 0),
        f"q {q} has no groups of {ctx.groups} heads",
    )
    for axis in range(q.rank - 1):
        if axis != rows:
            share = ctx.groups if axis == heads else 1
            for name, t in (("k", k), ("v", v)):
                text = f"axis {axis} of q and {name} differ"
                if share != 1:
                    text = f"{name} {t} has no head for each {share} of q {q}"
                ctx.require_eq(q.shape[axis], t.shape[axis] * share, text)
    ctx.require_eq(q.shape[-1], k.shape[-1], "q and k must have rows of one length")
    ctx.require_eq(k.shape[rows], v.shape[rows], "k and v must have as many rows")
    ctx.require(ctx.window >= 0, f"window {ctx.window} is negative")
    mask = ctx.optional(mask_input)
    if mask is not None:
        require_broadcasts_to(ctx, mask.shape, _scores_shape(q, k, ctx.layout))
    return (*q.shape[:-1], v.shape[-1])


def _attention_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (TensorType(ctx.x.dtype, _check_operands(ctx, 3)),)


def _attention_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_shape(ctx, 3, _check_operands(ctx, 4), "the shape of the output")
    return tuple(TensorType(ctx.x.dtype, ctx.required(i).shape) for i in range(3))


def _turned(x: Array, layout: str) -> Array:
    """Rows before heads, or back."""
    return x.swapaxes(-3, -2) if layout == "bshd" else x


def _unseen(rows: int, keys: int, align: str, window: int) -> Array:
    """[S, T]: which keys a causal row does not see."""
    own = np.arange(rows)[:, None] + (keys - rows if align == "end" else 0)
    key = np.arange(keys)
    hidden = key > own
    return hidden | (key <= own - window) if window else hidden


def _weights(q: Array, k: Array, mask: Array | None, scale: float, unseen: Array | None) -> Array:
    """softmax(scale * q @ kᵀ + mask), 0 for the keys that are `unseen`."""
    scores = np.float32(scale) * np.matmul(q, k.swapaxes(-1, -2))
    if mask is not None:
        scores = scores + mask
    if unseen is not None:
        scores = np.where(unseen, -np.inf, scores)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights if unseen is None else np.where(unseen, 0, weights)


def _attention(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    *,
    scale: float,
    causal: bool,
    layout: str,
    align: str,
    window: int,
    groups: int,
) -> Array:
    a, b, c = (_turned(x.astype(np.float64), layout) for x in (q, k, v))
    b, c = (np.repeat(x, groups, -3) if groups != 1 else x for x in (b, c))
    unseen = _unseen(a.shape[-2], b.shape[-2], align, window) if causal else None
    y = np.matmul(_weights(a, b, mask, scale, unseen), c)
    return np.ascontiguousarray(_turned(y, layout)).astype(q.dtype)


def _attention_grad(
    q: Array,
    k: Array,
    v: Array,
    dy: Array,
    mask: Array | None = None,
    *,
    scale: float,
    causal: bool,
    layout: str,
    align: str,
    window: int,
    groups: int,
) -> tuple[Array, ...]:
    a, b, c, d = (_turned(x.astype(np.float64), layout) for x in (q, k, v, dy))
    b, c = (np.repeat(x, groups, -3) if groups != 1 else x for x in (b, c))
    unseen = _unseen(a.shape[-2], b.shape[-2], align, window) if causal else None
    weights = _weights(a, b, mask, scale, unseen)
    slopes = np.matmul(d, c.swapaxes(-1, -2))
    if unseen is not None:
        slopes = np.where(unseen, 0, slopes)
    slopes = weights * (slopes - (weights * slopes).sum(axis=-1, keepdims=True))
    if unseen is not None:  # a row that is NaN is so where it looks
        slopes = np.where(unseen, 0, slopes)
    dq = np.float32(scale) * np.matmul(slopes, b)
    dk = np.float32(scale) * np.matmul(slopes.swapaxes(-1, -2), a)
    dv = np.matmul(weights.swapaxes(-1, -2), d)
    if groups != 1:
        dk, dv = (
            x.reshape((*x.shape[:-3], x.shape[-3] // groups, groups, *x.shape[-2:])).sum(-3)
            for x in (dk, dv)
        )
    return tuple(np.ascontiguousarray(_turned(x, layout)).astype(q.dtype) for x in (dq, dk, dv))


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    q, k = inputs[0], inputs[1]
    if q is None or k is None:
        return as_dim(0), bytes_of(inputs, outputs)
    shape = _scores_shape(q, k, attrs["layout"])
    softmax = as_dim(12)
    for n in shape:
        softmax = softmax * n
    products = (q.numel() + outputs[0].numel()) * shape[-1] * 2
    return products + softmax, bytes_of(inputs, outputs)


def _grad_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    q, k, dy = inputs[0], inputs[1], inputs[3]
    if q is None or k is None or dy is None:
        return as_dim(0), bytes_of(inputs, outputs)
    shape = _scores_shape(q, k, attrs["layout"])
    softmax = as_dim(16)
    for n in shape:
        softmax = softmax * n
    products = (q.numel() * 3 + dy.numel() * 2) * shape[-1] * 2
    return products + softmax, bytes_of(inputs, outputs)


def _case(
    lead: tuple[int, ...],
    s: int,
    t: int,
    d: int,
    dv: int,
    mask: tuple[int, ...] | Array | None = None,
    dtype: str = "f32",
    back: bool = False,
    **attrs: Any,
) -> Case:
    """`lead` are batch and heads of q; `back`: of the gradient."""
    less = lead if "groups" not in attrs else (*lead[:-1], lead[-1] // attrs["groups"])
    shapes = [(*lead, s, d), (*less, t, d), (*less, t, dv), *([(*lead, s, dv)] if back else [])]
    if attrs.get("layout") == "bshd":
        shapes = [(*x[:-3], x[-2], x[-3], x[-1]) for x in shapes]
    inputs: list[Any] = [(dtype, x) for x in shapes]
    if mask is not None:
        inputs.append((dtype, mask) if isinstance(mask, tuple) else mask)
    return Case(tuple(inputs), {"scale": 0.25, **attrs})


# A padding mask, one that hides a whole row (NaN), and the finite one of some exporters.
_HIDDEN = np.zeros((3, 17), np.float32)
_HIDDEN[:, 11:] = -np.inf
_HIDDEN[1] = -np.inf
_LARGE = np.where(np.arange(33) < 20, 0, np.finfo(np.float32).min).astype(np.float32)

_ATTRS = (
    Attr("scale", "f32", doc="factor of q @ kᵀ, often 1 / sqrt(D)"),
    Attr(
        "causal",
        "bool",
        False,
        doc="row i sees only the keys 0 to i; other keys and their values are not read, or weigh 0",
    ),
    Attr(
        "layout",
        "enum",
        "bhsd",
        ("bhsd", "bshd"),
        "bshd: q, k, v and y have their rows before the heads, [..., S, H, D]",
    ),
    Attr(
        "align",
        "enum",
        "start",
        ("start", "end"),
        "end: if causal, row i sees the keys 0 to T - S + i",
        since="0.16.0",
    ),
    Attr(
        "window",
        "int",
        0,
        doc="if causal and not 0, a row sees the last `window` of its keys",
        since="0.16.0",
    ),
    Attr(
        "groups",
        "int",
        1,
        doc="heads of q that share one head of k and v, which have H / groups heads",
        since="0.16.0",
    ),
)

attention = define(
    OpSpec(
        name="attention",
        code=107,
        inputs=("q", "k", "v", "mask?"),
        outputs=("y",),
        infer=_attention_type,
        reference=in_f32(_attention),
        doc="y = softmax(scale * q @ kᵀ + mask) @ v: q is [..., S, D], k [..., T, D],"
        " v [..., T, Dv], y [..., S, Dv] with equal batch and head axes in front; mask broadcasts"
        " to [..., S, T]. A row of scores that is -inf throughout gives NaN, as softmax does; a row"
        " without keys gives 0",
        dtypes=FLOATS,
        check="attention",
        attrs=_ATTRS,
        cost=_cost,
        grad=_grad.attention,
        saves=("q", "k", "v", "mask"),
        cases=(
            _case((), 1, 1, 1, 1, scale=1.0),
            _case((), 3, 17, 8, 5),
            _case((2,), 7, 33, 16, 32),
            _case((2, 3), 33, 31, 9, 16),
            _case((1, 2), 50, 129, 64, 64, scale=0.125),
            _case((2, 1, 2), 1, 15, 7, 33),
            _case((1, 4), 2, 700, 3, 1),
            _case((2,), 100, 2, 2, 8, scale=-1.0),
            _case((3,), 0, 4, 5, 6),
            _case((2,), 3, 0, 5, 6),
            _case((2,), 3, 4, 0, 6),
            _case((2,), 3, 4, 5, 0),
            _case((0, 2), 3, 4, 5, 6),
            _case((2,), 5, 16, 8, 8, (5, 16)),
            _case((2, 3), 9, 17, 8, 7, (2, 1, 1, 17)),
            _case((2, 3), 50, 9, 8, 7, (3, 50, 9)),
            _case((2,), 4, 9, 8, 7, (2, 4, 1)),
            _case((2,), 4, 9, 8, 7, ()),
            _case((), 3, 17, 8, 5, _HIDDEN),
            _case((2,), 6, 33, 8, 5, _LARGE),
            _case((2,), 60, 60, 8, 16, causal=True),
            _case((), 5, 9, 8, 3, causal=True),
            _case((2,), 70, 20, 8, 3, (70, 20), causal=True),
            _case((2, 3), 33, 17, 8, 16, layout="bshd"),
            _case((3,), 50, 60, 16, 7, layout="bshd", causal=True),
            _case((2, 1, 2), 3, 9, 5, 8, (2, 1, 1, 1, 9), layout="bshd"),
            _case((2, 3), 9, 17, 8, 7, (2, 3, 9, 17), layout="bshd"),
            _case((2, 2), 5, 17, 8, 9, dtype="f16"),
            _case((2, 2), 5, 17, 8, 9, (1, 17), dtype="f16", layout="bshd"),
            _case((2, 3), 5, 17, 8, 7, causal=True, align="end"),
            _case((2,), 33, 90, 16, 5, causal=True, align="end", window=20),
            _case((), 70, 60, 8, 3, causal=True, align="end"),
            _case((), 70, 60, 8, 3, causal=True, window=1),
            _case((2,), 60, 150, 8, 3, (60, 150), causal=True, align="end", window=17),
            _case((2,), 60, 90, 8, 3, (60, 1), causal=True, align="end", window=40),
            _case((2, 6), 1, 40, 8, 8, groups=3),
            _case((2, 6), 9, 40, 8, 5, (6, 9, 40), groups=2, layout="bshd"),
            _case(
                (4,), 60, 75, 16, 8, groups=4, causal=True, align="end", window=30, layout="bshd"
            ),
            _case((2, 0), 3, 4, 5, 6, groups=2),
            _case((2, 4), 5, 17, 8, 9, dtype="f16", groups=2, causal=True, align="end"),
        ),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
        masks=True,
    )
)

attention_grad = define(
    OpSpec(
        name="attention_grad",
        code=215,
        since="0.2.0",
        inputs=("q", "k", "v", "dy", "mask?"),
        outputs=("dq", "dk", "dv"),
        infer=_attention_grad_type,
        reference=in_f32(_attention_grad),
        doc="The gradients of q, k and v where attention(q, k, v, mask) has the gradient dy",
        dtypes=FLOATS,
        check="attention grad",
        attrs=_ATTRS,
        cost=_grad_cost,
        flags=frozenset({"training"}),
        grad=_grad.again,
        cases=(
            _case((), 1, 1, 1, 1, back=True, scale=1.0),
            _case((), 3, 17, 8, 5, back=True),
            _case((2, 3), 33, 31, 9, 16, back=True),
            _case((1, 2), 150, 129, 16, 33, back=True, scale=0.125),
            _case((1, 4), 2, 700, 3, 1, back=True),
            _case((3,), 0, 4, 5, 6, back=True),
            _case((2,), 3, 0, 5, 6, back=True),
            _case((2,), 3, 4, 0, 6, back=True),
            _case((2,), 3, 4, 5, 0, back=True),
            _case((0, 2), 3, 4, 5, 6, back=True),
            _case((2, 3), 9, 17, 8, 7, (2, 1, 1, 17), back=True),
            _case((2,), 4, 9, 8, 7, (2, 4, 1), back=True),
            _case((), 3, 17, 8, 5, _HIDDEN, back=True),
            _case((2,), 70, 60, 8, 16, back=True, causal=True),
            _case((2,), 70, 20, 8, 3, (70, 20), back=True, causal=True),
            _case((2, 3), 33, 17, 8, 16, back=True, layout="bshd"),
            _case((3,), 50, 60, 16, 7, back=True, layout="bshd", causal=True),
            _case((2, 2), 5, 17, 8, 9, (1, 17), back=True, dtype="f16", layout="bshd"),
            _case((2, 3), 5, 17, 8, 7, back=True, causal=True, align="end"),
            _case((2,), 133, 190, 16, 5, back=True, causal=True, align="end", window=20),
            _case((), 70, 60, 8, 3, back=True, causal=True, align="end"),
            _case((), 70, 60, 8, 3, back=True, causal=True, window=3),
            _case((2, 6), 9, 40, 8, 5, (6, 9, 40), back=True, groups=2, layout="bshd"),
            _case((4,), 60, 75, 16, 8, back=True, groups=4, causal=True, align="end", window=30),
            _case((2, 4), 0, 4, 5, 6, back=True, groups=2),
            _case((2, 4), 5, 17, 8, 9, back=True, dtype="f16", groups=4),
        ),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
