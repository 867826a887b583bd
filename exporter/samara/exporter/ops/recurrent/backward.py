# SPDX-License-Identifier: Apache-2.0
"""The backward operators of LSTM and GRU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.facts import Eager, Kind, Tolerance
from samara.exporter.ops.numeric import Array, in_f32, sigmoid
from samara.exporter.ops.recurrent import grad as _grad
from samara.exporter.ops.recurrent.rows import GRU_ATTRS, LSTM_ATTRS
from samara.exporter.ops.shape_rules import (
    FLOATS,
    require_dtype,
    require_rank,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType, as_dim


def _grad_type(ctx: InferContext, gates: int) -> TensorType:
    """The type of a state; checks inputs 0 to 5."""
    require_rank(ctx, 0, 4)
    others = [i for i in range(1, len(ctx.inputs)) if i != 3]
    require_same_dtype(ctx, 0, *others)
    h = as_dim(ctx.hidden)
    ctx.require_ge(h, 1, "hidden must be at least 1")
    _, steps, n, _ = ctx.x.shape
    d = as_dim(2 if ctx.direction == "bidirectional" else 1)
    require_shape(ctx, 0, (d, steps, n, h * 4), "[directions, steps, batch, 4 * hidden]")
    require_shape(ctx, 1, (d, steps, n, h), "[directions, steps, batch, hidden]")
    require_shape(ctx, 2, (d, h * gates, h), f"[directions, {gates} * hidden, hidden]")
    if ctx.optional(3) is not None:
        require_dtype(ctx, 3, DType.I32)
        require_shape(ctx, 3, (n,), "[batch]")
    require_shape(ctx, 4, (steps, d, n, h), "[steps, directions, batch, hidden]")
    require_shape(ctx, 5, (d, n, h), "[directions, batch, hidden]")
    return TensorType(ctx.x.dtype, (d, n, h))


def _lstm_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    state = _grad_type(ctx, 4)
    require_shape(ctx, 6, state.shape, "[directions, batch, hidden]")
    require_shape(ctx, 7, (state.shape[0], as_dim(ctx.hidden) * 3), "[directions, 3 * hidden]")
    return TensorType(ctx.x.dtype, ctx.x.shape), state, state


def _gru_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    state = _grad_type(ctx, 3)
    gates = TensorType(ctx.x.dtype, (*ctx.x.shape[:3], as_dim(ctx.hidden) * 3))
    return gates, gates, state


class _Ends:
    """Gates that `clip` limited have no gradient."""

    def __init__(self, clip: float, dtype: Any) -> None:
        self.cut = clip > 0
        end = np.array([-np.float32(clip), np.float32(clip)], dtype)
        self._sigmoid = sigmoid(end).astype(np.float64)
        self._tanh = np.tanh(end).astype(np.float64)

    def sigmoid(self, d: Array, s: Array) -> Array:
        """The gradient before the sigmoid that gave `s`."""
        return self._through(d * s * (1 - s), s, self._sigmoid)

    def tanh(self, d: Array, t: Array) -> Array:
        """The gradient before the tanh that gave `t`."""
        return self._through(d * (1 - t * t), t, self._tanh)

    def _through(self, d: Array, gate: Array, ends: Array) -> Array:
        return np.where((gate <= ends[0]) | (gate >= ends[1]), 0, d) if self.cut else d


class _Walk:
    """The steps of one direction from last to first, in float64."""

    def __init__(
        self,
        d: int,
        direction: str,
        gates: Array,
        before: Array,
        r: Array,
        lengths: Array | None,
        dy: Array | None,
        dy_h: Array | None,
    ) -> None:
        total, n = gates.shape[1:3]
        reverse = direction == "reverse" or d == 1
        self.steps = range(total) if reverse else range(total - 1, -1, -1)
        self.gates, self.before = gates[d].astype(np.float64), before[d].astype(np.float64)
        self.r = r[d].astype(np.float64)
        self.ends = np.full(n, total) if lengths is None else lengths
        self.dh = self.start(d, dy_h)
        self._dy = None if dy is None else dy[:, d].astype(np.float64)

    def start(self, d: int, given: Array | None) -> Array:
        """The gradient of a last state."""
        if given is None:
            return np.zeros(self.before.shape[1:], np.float64)
        return np.asarray(given[d].astype(np.float64))

    def live(self, t: int) -> Array:
        """[N, 1]: which rows have step t."""
        return np.asarray((t < self.ends)[:, None])

    def dh_at(self, t: int) -> Array:
        """The gradient of h after step t."""
        return self.dh if self._dy is None else self.dh + self._dy[t]


def _lstm_grad(
    gates: Array,
    before: Array,
    r: Array,
    lengths: Array | None = None,
    dy: Array | None = None,
    dy_h: Array | None = None,
    dy_c: Array | None = None,
    p: Array | None = None,
    *,
    hidden: int,
    direction: str,
    clip: float,
    input_forget: bool,
) -> tuple[Array, ...]:
    ends = _Ends(clip, gates.dtype)
    made = np.zeros(gates.shape, np.float64)
    states = []
    for d in range(gates.shape[0]):
        walk = _Walk(d, direction, gates, before, r, lengths, dy, dy_h)
        dc = walk.start(d, dy_c)
        p_i, p_o, p_f = np.zeros((3, hidden)) if p is None else p[d].reshape(3, hidden)
        for t in walk.steps:
            i, o, f, g = np.split(walk.gates[t], 4, axis=1)
            old, dh, live = walk.before[t], walk.dh_at(t), walk.live(t)
            after = np.tanh(f * old + i * g)
            go = ends.sigmoid(dh * after, o)
            state = dc + dh * o * (1 - after * after) + go * p_o
            di, df = state * g, state * old
            if input_forget:
                di, gf = di - df, np.zeros_like(df)
            else:
                gf = ends.sigmoid(df, f)
            gi, gg = ends.sigmoid(di, i), ends.tanh(state * i, g)
            made[d, t] = np.where(live, np.concatenate([gi, go, gf, gg], axis=1), 0)
            dc = np.where(live, state * f + gi * p_i + gf * p_f, dc)
            walk.dh = np.where(live, made[d, t] @ walk.r, walk.dh)
        states.append((walk.dh, dc))
    dh0, dc0 = (np.stack(s) for s in zip(*states, strict=True))
    return made.astype(gates.dtype), dh0.astype(gates.dtype), dc0.astype(gates.dtype)


def _gru_grad(
    gates: Array,
    before: Array,
    r: Array,
    lengths: Array | None = None,
    dy: Array | None = None,
    dy_h: Array | None = None,
    *,
    hidden: int,
    direction: str,
    clip: float,
    linear_before_reset: bool,
) -> tuple[Array, ...]:
    ends = _Ends(clip, gates.dtype)
    of_x = np.zeros((*gates.shape[:3], 3 * hidden), np.float64)
    of_h = np.zeros_like(of_x)
    states = []
    for d in range(gates.shape[0]):
        walk = _Walk(d, direction, gates, before, r, lengths, dy, dy_h)
        r_zr, r_h = walk.r[: 2 * hidden], walk.r[2 * hidden :]
        for t in walk.steps:
            z, reset, new, inner = np.split(walk.gates[t], 4, axis=1)
            old, dh, live = walk.before[t], walk.dh_at(t), walk.live(t)
            gz = ends.sigmoid(dh * (old - new), z)
            gn = ends.tanh(dh * (1 - z), new)
            last = gn
            earlier = dh * z
            if linear_before_reset:
                gr = ends.sigmoid(gn * inner, reset)
                last = gn * reset
                earlier = earlier + last @ r_h
            else:
                met = gn @ r_h
                gr = ends.sigmoid(met * old, reset)
                earlier = earlier + met * reset
            pair = np.concatenate([gz, gr], axis=1)
            of_x[d, t] = np.where(live, np.concatenate([pair, gn], axis=1), 0)
            of_h[d, t] = np.where(live, np.concatenate([pair, last], axis=1), 0)
            walk.dh = np.where(live, earlier + pair @ r_zr, walk.dh)
        states.append(walk.dh)
    return tuple(a.astype(gates.dtype) for a in (of_x, of_h, np.stack(states)))


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    gates, r = inputs[0], inputs[2]
    if gates is None or r is None:
        return as_dim(0), as_dim(0)
    return gates.shape[1] * gates.shape[2] * r.numel() * 2, bytes_of(inputs, outputs)


def _case(
    gates: int,
    t: int,
    n: int,
    h: int,
    *,
    dtype: str = "f32",
    lengths: tuple[int, ...] | None = None,
    last: bool = False,
    dy: bool = True,
    peepholes: bool = False,
    **attrs: Any,
) -> Case:
    """`last`: the last states have gradients."""
    d = 2 if attrs.get("direction") == "bidirectional" else 1
    state = (dtype, (d, n, h)) if last else None
    rows: list[Any] = [(dtype, (d, t, n, 4 * h)), (dtype, (d, t, n, h)), (dtype, (d, gates * h, h))]
    rows += [None if lengths is None else np.array(lengths, np.int32)]
    rows += [(dtype, (t, d, n, h)) if dy else None, state]
    if gates == 4:
        rows += [state, (dtype, (d, 3 * h)) if peepholes else None]
    while rows[-1] is None:
        rows.pop()
    return Case(tuple(rows), {"hidden": h, **attrs}, -1.0, 1.0)


def _cases(gates: int, **more: Any) -> tuple[Case, ...]:
    return (
        _case(gates, 1, 1, 1, **more),
        _case(gates, 3, 2, 8, last=True, **more),
        _case(gates, 2, 1, 16, last=True, dy=False, **more),
        _case(gates, 3, 2, 7, direction="reverse", **more),
        _case(gates, 3, 2, 5, direction="bidirectional", last=True, **more),
        _case(gates, 4, 3, 3, lengths=(4, 1, 0), last=True, **more),
        _case(gates, 4, 3, 3, lengths=(2, 4, 3), direction="bidirectional", **more),
        _case(gates, 3, 2, 3, clip=0.75, **more),
        _case(gates, 2, 1, 17, **more),
        _case(gates, 0, 2, 4, last=True, **more),
        _case(gates, 3, 2, 9, dtype="f16", **more),
    )


lstm_grad = define(
    OpSpec(
        name="lstm_grad",
        code=216,
        since="0.2.0",
        inputs=("gates", "c", "r", "lengths?", "dy?", "dy_h?", "dy_c?", "p?"),
        outputs=("dgates", "dh0", "dc0"),
        infer=_lstm_grad_type,
        reference=in_f32(_lstm_grad),
        doc="The gradients of lstm_train along the steps, from its results gates and c: of the gates before"
        " activation, [D, T, N, 4H], and of the first states. A gate that clip"
        " cut off has none",
        dtypes=FLOATS,
        check=(
            "gates [D T N 4hidden] c [D T N hidden] r [D 4hidden hidden] lengths [N]"
            " dy [T D N hidden] dy_h [D N hidden] dy_c [D N hidden] p [D 3hidden]"
            " -> dgates [D T N 4hidden] dh0 [D N hidden] dc0 [D N hidden]"
        ),
        attrs=LSTM_ATTRS,
        cost=_cost,
        flags=frozenset({"training"}),
        grad=_grad.lstm_again,
        cases=(
            *_cases(4),
            _case(4, 3, 2, 5, input_forget=True),
            _case(4, 3, 2, 5, last=True, peepholes=True),
        ),
        kind=Kind.RECURRENT,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
gru_grad = define(
    OpSpec(
        name="gru_grad",
        code=217,
        since="0.2.0",
        inputs=("gates", "h", "r", "lengths?", "dy?", "dy_h?"),
        outputs=("dgates", "dinner", "dh0"),
        infer=_gru_grad_type,
        reference=in_f32(_gru_grad),
        doc="The gradients of gru_train along the steps, from its results gates and h: of the gates before"
        " activation for x w and its bias, [D, T, N, 3H], the same for r's product and its bias, and of the"
        " first state. A gate that clip cut off has"
        " none",
        dtypes=FLOATS,
        check=(
            "gates [D T N 4hidden] h [D T N hidden] r [D 3hidden hidden] lengths [N]"
            " dy [T D N hidden] dy_h [D N hidden]"
            " -> dgates [D T N 3hidden] dinner [D T N 3hidden] dh0 [D N hidden]"
        ),
        attrs=GRU_ATTRS,
        cost=_cost,
        flags=frozenset({"training"}),
        grad=_grad.gru_again,
        cases=(*_cases(3), *_cases(3, linear_before_reset=True)[1:8]),
        kind=Kind.RECURRENT,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
