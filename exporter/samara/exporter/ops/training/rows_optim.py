# SPDX-License-Identifier: Apache-2.0
"""One step of an optimiser: new parameters and new state from a gradient, with PyTorch's formulas.

The learning rate and the number of the step are tensors, so that a schedule needs no new graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.facts import Eager, Kind
from samara.exporter.ops.numeric import Array, wide
from samara.exporter.ops.shape_rules import name_of, require_dtype, require_rank, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType

_DECAY = Attr("weight_decay", "f32", 0.0, doc="times the parameter, added to the gradient")
_MAXIMIZE = Attr("maximize", "bool", False, doc="go up the gradient")


def _require_like(ctx: InferContext, *indices: int) -> None:
    """These inputs have the type of the parameter."""
    for i in indices:
        require_dtype(ctx, i, ctx.x.dtype)
        require_shape(ctx, i, ctx.x.shape, "the shape of p")


def _require_scalar(ctx: InferContext, *indices: int) -> None:
    for i in indices:
        require_dtype(ctx, i, DType.F32)
        require_rank(ctx, i, 0)


def _require_state(ctx: InferContext, index: int, used: bool, when: str) -> None:
    """Check that a state is given if and only if it is used."""
    if (ctx.optional(index) is not None) is not used:
        wants = "needs" if used else "takes no"
        raise ctx.error(f"{ctx.op.name} {wants} {name_of(ctx, index)} {when}")
    if used:
        _require_like(ctx, index)


def _decayed(p: Array, g: Array, weight_decay: float, maximize: bool) -> Array:
    """The gradient of the step with weight decay, in float64."""
    d = -wide(g) if maximize else wide(g)
    return d + weight_decay * wide(p) if weight_decay else d


def _like(p: Array, *results: Array) -> tuple[Array, ...]:
    return tuple(np.asarray(r).astype(p.dtype) for r in results)


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    return outputs[0].numel() * (6 * len(outputs)), bytes_of(inputs, outputs)


# ---- sgd ----


def _sgd_type(ctx: InferContext) -> tuple[TensorType, ...]:
    moves = ctx.momentum != 0
    _require_like(ctx, 1)
    _require_scalar(ctx, 2)
    _require_state(ctx, 3, moves, f"where momentum is {ctx.momentum:g}")
    if ctx.optional(4) is not None:
        _require_scalar(ctx, 4)
    elif ctx.dampening != 0:
        raise ctx.error("dampening needs step: the first step is not dampened")
    if ctx.nesterov and (not moves or ctx.dampening != 0):
        raise ctx.error("nesterov needs momentum, and no dampening")
    return (ctx.x,) * (2 if moves else 1)


def _sgd(
    p: Array,
    g: Array,
    lr: Array,
    buffer: Array | None = None,
    step: Array | None = None,
    *,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    d = _decayed(p, g, weight_decay, maximize)
    if buffer is None:
        return _like(p, wide(p) - float(lr) * d)
    fresh = step is not None and step == 1
    b = d if fresh else momentum * wide(buffer) + (1 - dampening) * d
    return _like(p, wide(p) - float(lr) * (d + momentum * b if nesterov else b), b)


def _tensors(n: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(("f32", shape) for _ in range(n))


def _scalar(value: float) -> Array:
    return np.array(value, np.float32)


_LR = _scalar(0.05)

sgd = define(
    OpSpec(
        name="sgd",
        code=230,
        since="0.2.0",
        inputs=("p", "g", "lr", "buffer?", "step?"),
        outputs=("p_new", "buffer_new*"),
        infer=_sgd_type,
        reference=_sgd,
        doc="p_new = p - lr d of d = g + weight_decay p; with momentum"
        " buffer_new = momentum buffer + (1 - dampening) d takes the place of d, or"
        " d + momentum buffer_new (nesterov); where step is 1, buffer_new = d",
        dtypes=("f32",),
        check="same",
        attrs=(
            Attr("momentum", "f32", 0.0, doc="0: there is no buffer"),
            Attr("dampening", "f32", 0.0, doc="needs step"),
            _DECAY,
            Attr("nesterov", "bool", False, doc="look ahead along the buffer"),
            _MAXIMIZE,
        ),
        cost=_cost,
        flags=frozenset({"inplace", "training"}),
        grad=NO_GRAD,
        cases=(
            *(Case((*_tensors(2, s), _LR)) for s in ((), (0,), (7,), (3, 33), (2, 3, 17))),
            Case((*_tensors(2, (2, 5)), _LR), {"weight_decay": 0.1, "maximize": True}),
            Case((*_tensors(2, (19,)), _LR, ("f32", (19,))), {"momentum": 0.9}),
            Case(
                (*_tensors(2, (3, 8)), _LR, ("f32", (3, 8))),
                {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
            ),
            *(
                Case(
                    (*_tensors(2, (9,)), _LR, ("f32", (9,)), _scalar(step)),
                    {"momentum": 0.5, "dampening": 0.25, "maximize": step == 2},
                )
                for step in (1, 2)
            ),
        ),
        kind=Kind.UPDATE,
        eager=Eager.KERNEL,
    )
)


# ---- adam ----


def _adam_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _require_like(ctx, 1, 2, 3)
    _require_scalar(ctx, 4, 5)
    return (ctx.x,) * 3


def _adam(
    p: Array,
    g: Array,
    m: Array,
    v: Array,
    lr: Array,
    step: Array,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    rate, t = float(lr), np.float64(step)
    d = _decayed(p, g, 0.0 if decoupled else weight_decay, maximize)
    m_new = beta1 * wide(m) + (1 - beta1) * d
    v_new = beta2 * wide(v) + (1 - beta2) * d * d
    root = np.sqrt(v_new) / np.sqrt(1 - beta2**t) + epsilon
    kept = wide(p) * (1 - rate * weight_decay) if decoupled else wide(p)
    return _like(p, kept - rate / (1 - beta1**t) * m_new / root, m_new, v_new)


def _wave(shape: tuple[int, ...], low: float, high: float, turn: int) -> Array:
    """Numbers between low and high, in arbitrary order."""
    ramp = (np.arange(int(np.prod(shape))) * turn % 37) / 36
    return np.asarray((low + (high - low) * ramp).astype(np.float32).reshape(shape))


def _adam_case(shape: tuple[int, ...], step: float, **attrs: Any) -> Case:
    # Signs are set here, so that all other numbers can be positive moments of squares.
    signed = [_wave(shape, -2, 2, turn) for turn in (5, 7, 11)]
    return Case((*signed, ("f32", shape), _LR, _scalar(step)), attrs, 0.1, 2.0)


adam = define(
    OpSpec(
        name="adam",
        code=231,
        since="0.2.0",
        inputs=("p", "g", "m", "v", "lr", "step"),
        outputs=("p_new", "m_new", "v_new"),
        infer=_adam_type,
        reference=_adam,
        doc="with d = g + weight_decay p: m_new = beta1 m + (1 - beta1) d,"
        " v_new = beta2 v + (1 - beta2) d**2, p_new = p - lr / (1 - beta1**step) m_new /"
        " (sqrt(v_new / (1 - beta2**step)) + epsilon); powers are taken in float64",
        dtypes=("f32",),
        check="same",
        attrs=(
            Attr("beta1", "f32", 0.9, doc="decay of the first moment"),
            Attr("beta2", "f32", 0.999, doc="decay of the second moment"),
            Attr("epsilon", "f32", 1e-8, doc="added to the root"),
            _DECAY,
            Attr("decoupled", "bool", False, doc="AdamW: p (1 - lr weight_decay) for p, d = g"),
            _MAXIMIZE,
        ),
        cost=_cost,
        flags=frozenset({"inplace", "training"}),
        grad=NO_GRAD,
        cases=(
            *(_adam_case(s, 3) for s in ((), (0,), (7,), (3, 11), (2, 1, 17))),
            _adam_case((2, 5), 1, weight_decay=0.1, maximize=True),
            _adam_case((19,), 100, weight_decay=0.1, decoupled=True),
            _adam_case((8,), 2, beta1=0.5, beta2=0.75, epsilon=1e-3),
            _adam_case((5,), 2, beta1=0.0),
        ),
        kind=Kind.UPDATE,
        eager=Eager.KERNEL,
    )
)


# ---- rmsprop ----


def _rmsprop_type(ctx: InferContext) -> tuple[TensorType, ...]:
    moves = ctx.momentum != 0
    _require_like(ctx, 1, 2)
    _require_scalar(ctx, 3)
    _require_state(ctx, 4, ctx.centered, f"where centered is {ctx.centered}")
    _require_state(ctx, 5, moves, f"where momentum is {ctx.momentum:g}")
    return (ctx.x,) * (2 + int(ctx.centered) + int(moves))


def _rmsprop(
    p: Array,
    g: Array,
    average: Array,
    lr: Array,
    mean: Array | None = None,
    buffer: Array | None = None,
    *,
    alpha: float,
    epsilon: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    d = _decayed(p, g, weight_decay, maximize)
    square = alpha * wide(average) + (1 - alpha) * d * d
    states = [square]
    if mean is not None:
        centre = alpha * wide(mean) + (1 - alpha) * d
        states.append(centre)
        # A variance; rounding alone could take it below 0.
        square = np.maximum(square - centre * centre, 0)
    move = d / (np.sqrt(square) + epsilon)
    if buffer is not None:
        move = momentum * wide(buffer) + move
        states.append(move)
    return _like(p, wide(p) - float(lr) * move, *states)


def _rmsprop_case(shape: tuple[int, ...], **attrs: Any) -> Case:
    mean = ("f32", shape) if attrs.get("centered") else None
    buffer = ("f32", shape) if attrs.get("momentum") else None
    signed = [_wave(shape, -0.6, 0.6, turn) for turn in (5, 7)]
    # The numbers are much larger than their squares, so that a variance loses no digits.
    return Case((*signed, ("f32", shape), _LR, mean, buffer), attrs, 0.5, 0.6)


rmsprop = define(
    OpSpec(
        name="rmsprop",
        code=232,
        since="0.2.0",
        inputs=("p", "g", "average", "lr", "mean?", "buffer?"),
        outputs=("p_new", "average_new", "state_new*"),
        infer=_rmsprop_type,
        reference=_rmsprop,
        doc="with d = g + weight_decay p: average_new = alpha average + (1 - alpha) d**2,"
        " q = d / (sqrt(average_new) + epsilon), p_new = p - lr q; centered: the root is of"
        " average_new - mean_new**2, mean_new = alpha mean + (1 - alpha) d; with momentum"
        " buffer_new = momentum buffer + q takes the place of q;"
        " state_new: mean_new, buffer_new, as far as they are there",
        dtypes=("f32",),
        check="same",
        attrs=(
            Attr("alpha", "f32", 0.99, doc="decay of the averages"),
            Attr("epsilon", "f32", 1e-8, doc="added to the root"),
            _DECAY,
            Attr("momentum", "f32", 0.0, doc="0: there is no buffer"),
            Attr("centered", "bool", False, doc="divide by the deviation from the mean"),
            _MAXIMIZE,
        ),
        cost=_cost,
        flags=frozenset({"inplace", "training"}),
        grad=NO_GRAD,
        cases=(
            *(_rmsprop_case(s) for s in ((), (0,), (7,), (3, 11), (2, 1, 17))),
            _rmsprop_case((2, 5), weight_decay=0.1, maximize=True, alpha=0.5),
            _rmsprop_case((19,), momentum=0.9, epsilon=1e-3),
            _rmsprop_case((8,), centered=True),
            _rmsprop_case((9,), centered=True, momentum=0.5),
        ),
        kind=Kind.UPDATE,
        eager=Eager.KERNEL,
    )
)
