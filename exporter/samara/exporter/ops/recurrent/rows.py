# SPDX-License-Identifier: Apache-2.0
"""LSTM and GRU over whole sequences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from samara.exporter.ops.facts import HALF_WEIGHTS, QUANTIZED_WEIGHTS, Eager, Kind, Tolerance
from samara.exporter.ops.linear.rows_dynamic import dynamically_quantized
from samara.exporter.ops.numeric import Array, in_f32, sigmoid
from samara.exporter.ops.quantization.arithmetic import wrapped
from samara.exporter.ops.recurrent import grad as _grad
from samara.exporter.ops.shape_rules import (
    FLOATS,
    require_dtype,
    require_rank,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, Quant, TensorType, as_dim

DIRECTIONS = ("forward", "reverse", "bidirectional")

_ATTRS = (
    Attr("hidden", "int", doc="size H of the state"),
    Attr("direction", "enum", "forward", DIRECTIONS),
    Attr(
        "clip",
        "f32",
        0.0,
        doc="gates are clamped to [-clip, clip] before activation; 0: no clamp",
    ),
)


def _require_dtypes(ctx: InferContext, floats: Mapping[int, str]) -> None:
    """All have x's dtype. Beside float32 x, w and r may also be both float16 or both qs8 (one scale, or one per row
    of the gates), except in training.
    """
    kind = ctx.required(1).dtype
    light = kind is DType.F16 and ctx.x.dtype is DType.F32
    if (kind is not DType.QS8 and not light) or "training" in ctx.op.flags:
        require_same_dtype(ctx, 0, 1, 2, 3, *floats)
        return
    require_same_dtype(ctx, 0, 3, *floats)
    if light:
        require_same_dtype(ctx, 1, 2)
        return
    require_dtype(ctx, 0, DType.F32)
    for index in (1, 2):
        require_dtype(ctx, index, DType.QS8)
        quant = ctx.required(index).quant
        if quant is None or quant.block is not None or quant.axis not in (None, 1):
            raise ctx.error(
                f"input {index} must have one scale, or one per index of axis 1",
                "quantize weights per tensor or per row of the gates",
            )


def _recurrent_type(ctx: InferContext, gates: int, floats: Mapping[int, str]) -> TensorType:
    """The type of y; checks inputs 0 to 4 and the states that `floats` lists."""
    require_rank(ctx, 0, 3)
    _require_dtypes(ctx, floats)
    h = as_dim(ctx.hidden)
    ctx.require_ge(h, 1, "hidden must be at least 1")
    steps, n, size = ctx.x.shape
    d = as_dim(2 if ctx.direction == "bidirectional" else 1)
    require_shape(ctx, 1, (d, h * gates, size), f"[directions, {gates} * hidden, input]")
    require_shape(ctx, 2, (d, h * gates, h), f"[directions, {gates} * hidden, hidden]")
    require_shape(ctx, 3, (d, h * (2 * gates)), f"[directions, {2 * gates} * hidden]")
    if ctx.optional(4) is not None:
        require_dtype(ctx, 4, DType.I32)
        require_shape(ctx, 4, (n,), "[batch]")
    for index, kind in floats.items():
        shape = (d, n, h) if kind == "state" else (d, 3 * h)
        require_shape(ctx, index, shape, "[directions, batch, hidden]" if kind == "state" else "")
    return TensorType(ctx.x.dtype, (steps, d, n, h))


def _lstm_type(ctx: InferContext) -> tuple[TensorType, ...]:
    y = _recurrent_type(ctx, 4, {5: "state", 6: "state", 7: "peepholes"})
    state = TensorType(y.dtype, y.shape[1:])
    return y, state, state


def _gru_type(ctx: InferContext) -> tuple[TensorType, ...]:
    y = _recurrent_type(ctx, 3, {5: "state"})
    return y, TensorType(y.dtype, y.shape[1:])


def _kept_types(y: TensorType, states: int) -> tuple[TensorType, ...]:
    """The values that training keeps: the gates [D, T, N, 4H], then each state before each step."""
    steps, d, n, h = y.shape
    before = TensorType(y.dtype, (d, steps, n, h))
    return TensorType(y.dtype, (d, steps, n, h * 4)), *(before,) * states


def _lstm_train_type(ctx: InferContext) -> tuple[TensorType, ...]:
    found = _lstm_type(ctx)
    return *found, *_kept_types(found[0], 2)


def _gru_train_type(ctx: InferContext) -> tuple[TensorType, ...]:
    found = _gru_type(ctx)
    return *found, *_kept_types(found[0], 1)


# One step: (input part of the gates [N, G*H], state parts [N, H] each) -> new state parts, and
# the activated gates [N, 4*H] that a gradient needs.
Step = Callable[[Array, tuple[Array, ...]], tuple[tuple[Array, ...], Array]]


class _Scanned(NamedTuple):
    """One direction: y [T, N, H], the last states, the gates and the states before each step."""

    y: Array
    last: tuple[Array, ...]
    gates: Array
    before: tuple[Array, ...]


def _scan(
    gates: Array, states: tuple[Array, ...], lengths: Array | None, reverse: bool, step: Step
) -> _Scanned:
    """Run one direction over gates [T, N, G*H].

    Steps at or beyond a row's length leave its state and give zeros.
    """
    total, n = gates.shape[:2]
    shape = (total, n, states[0].shape[-1])
    y = np.zeros(shape, gates.dtype)
    kept = np.zeros((total, n, 4 * shape[-1]), gates.dtype)
    before = tuple(np.zeros(shape, gates.dtype) for _ in states)
    ends = np.full(n, total) if lengths is None else np.clip(lengths, 0, total)
    for t in reversed(range(total)) if reverse else range(total):
        live = (t < ends)[:, None]
        for array, state in zip(before, states, strict=True):
            array[t] = state
        new, activated = step(gates[t], states)
        states = tuple(np.where(live, a, b) for a, b in zip(new, states, strict=True))
        y[t] = np.where(live, states[0], 0)
        kept[t] = np.where(live, activated, 0)
    return _Scanned(y, states, kept, before)


def _stacked(parts: Sequence[_Scanned]) -> tuple[Array, ...]:
    """y, the last states, gates and states before of all directions."""
    y = np.stack([part.y for part in parts], axis=1)
    rows = zip(*((*p.last, p.gates, *p.before) for p in parts), strict=True)
    return y, *map(np.stack, rows)


def _clipped(x: Array, clip: float) -> Array:
    return np.clip(x, -np.float32(clip), np.float32(clip)) if clip > 0 else x


def _directions(count: int, direction: str) -> list[bool]:
    """Whether each direction runs backwards."""
    return [direction == "reverse", True][:count]


class _Rows:
    """Quantized weights [G * H, K] of a direction as the right operand of `x @ w.T`: each row of x is quantized
    separately, sums are int32.
    """

    __array_ufunc__ = None  # numpy leaves `x @ rows` to __rmatmul__

    def __init__(self, q: Array, zeros: Array, scales: Array) -> None:
        self.q, self.zeros, self.scales = q, zeros, scales

    @property
    def T(self) -> _Rows:
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return self.q.shape

    def __getitem__(self, rows: slice) -> _Rows:
        return _Rows(self.q[rows], self.zeros[rows], self.scales[rows])

    def __rmatmul__(self, x: Array) -> Array:
        q, scale = dynamically_quantized(x, (x.ndim - 1,))
        whole = self.q.astype(np.float64) - self.zeros[:, None]
        total = wrapped(q.astype(np.float64) @ whole.T)
        return np.asarray(total.astype(np.float32) * (scale * self.scales))


Weights = Array | _Rows


def _of_rows(w: Array, quant: Quant) -> list[_Rows]:
    """Directions of weights [D, G * H, K]."""
    rows = w.shape[1]
    zeros = np.broadcast_to(quant.zero_point_array(), (rows,))
    scales = np.broadcast_to(quant.scale_array(), (rows,))
    return [_Rows(part, zeros, scales) for part in w]


def _widened(w: Array, quant: Quant) -> Array:
    """Weights [D, G * H, K] in float32."""
    steps = w.astype(np.int32) - quant.zero_point_array().astype(np.int32).reshape(-1, 1)
    return np.asarray(steps.astype(np.float32) * quant.scale_array().reshape(-1, 1))


def _lighter(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The reference; float16 w and r beside float32 x are widened."""

    @functools.wraps(reference)
    def run(x: Array, w: Array, r: Array, *more: Array | None, **attrs: Any) -> Any:
        if x.dtype == np.float32 and w.dtype == np.float16:
            w, r = w.astype(np.float32), r.astype(np.float32)
        return reference(x, w, r, *more, **attrs)

    return run


def _quantizable(reference: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The reference for quantized w and r."""

    def run(
        x: Array,
        w: Array,
        r: Array,
        *more: Array | None,
        q_in: Sequence[Quant | None] = (),
        **attrs: Any,
    ) -> tuple[Array, ...]:
        dynamic = attrs.pop("dynamic", True)
        if len(q_in) > 2 and q_in[1] is not None and q_in[2] is not None:
            made = _of_rows if dynamic else _widened
            return reference(x, made(w, q_in[1]), made(r, q_in[2]), *more, **attrs)
        return reference(x, w, r, *more, **attrs)

    return run


def _input_gates(x: Array, w: Weights, bias: Array | None, wide: int) -> Array:
    """x @ w.T plus the parts of the bias that no reset gate multiplies."""
    gates = np.asarray(x @ w.T)
    return gates if bias is None else gates + bias[:wide]


def _lstm_train(
    x: Array,
    w: Array,
    r: Array,
    bias: Array | None = None,
    lengths: Array | None = None,
    h0: Array | None = None,
    c0: Array | None = None,
    p: Array | None = None,
    *,
    hidden: int,
    direction: str,
    clip: float,
    input_forget: bool,
) -> tuple[Array, ...]:
    parts = []
    for d, reverse in enumerate(_directions(len(w), direction)):
        zeros = np.zeros((x.shape[1], hidden), x.dtype)
        start = (zeros if h0 is None else h0[d], zeros if c0 is None else c0[d])
        gates = _input_gates(x, w[d], None if bias is None else bias[d], 4 * hidden)
        if bias is not None:
            gates = gates + bias[d, 4 * hidden :]
        step = _lstm_step(r[d], None if p is None else p[d].reshape(3, hidden), clip, input_forget)
        parts.append(_scan(gates, start, lengths, reverse, step))
    return _stacked(parts)


def _lstm(*inputs: Array | None, **attrs: Any) -> tuple[Array, ...]:
    return _lstm_train(*inputs, **attrs)[:3]  # type: ignore[arg-type]


def _lstm_step(r: Weights, p: Array | None, clip: float, input_forget: bool) -> Step:
    def step(gates: Array, states: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        h, c = states
        i, o, f, g = np.split(gates + h @ r.T, 4, axis=1)
        if p is not None:
            i, f = i + p[0] * c, f + p[2] * c
        i = sigmoid(_clipped(i, clip))
        f = np.float32(1) - i if input_forget else sigmoid(_clipped(f, clip))
        g = np.tanh(_clipped(g, clip))
        c = f * c + i * g
        if p is not None:
            o = o + p[1] * c
        o = sigmoid(_clipped(o, clip))
        return (o * np.tanh(c), c), np.concatenate([i, o, f, g], axis=1)

    return step


def _gru_train(
    x: Array,
    w: Array,
    r: Array,
    bias: Array | None = None,
    lengths: Array | None = None,
    h0: Array | None = None,
    *,
    hidden: int,
    direction: str,
    clip: float,
    linear_before_reset: bool,
) -> tuple[Array, ...]:
    parts = []
    for d, reverse in enumerate(_directions(len(w), direction)):
        start = np.zeros((x.shape[1], hidden), x.dtype) if h0 is None else h0[d]
        gates = _input_gates(x, w[d], None if bias is None else bias[d], 3 * hidden)
        inner = np.zeros(3 * hidden, x.dtype) if bias is None else bias[d, 3 * hidden :]
        step = _gru_step(r[d], inner, clip, linear_before_reset)
        parts.append(_scan(gates, (start,), lengths, reverse, step))
    return _stacked(parts)


def _gru(*inputs: Array | None, **attrs: Any) -> tuple[Array, ...]:
    return _gru_train(*inputs, **attrs)[:2]  # type: ignore[arg-type]


def _gru_step(r: Weights, inner: Array, clip: float, linear_before_reset: bool) -> Step:
    hidden = r.shape[1]
    r_zr, r_h = r[: 2 * hidden], r[2 * hidden :]
    b_zr, b_h = inner[: 2 * hidden], inner[2 * hidden :]

    def step(gates: Array, states: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        (h,) = states
        pair = sigmoid(_clipped(gates[:, : 2 * hidden] + h @ r_zr.T + b_zr, clip))
        z, reset = np.split(pair, 2, axis=1)
        if linear_before_reset:
            kept = h @ r_h.T + b_h
            state = reset * kept
        else:
            kept = reset * h
            state = kept @ r_h.T + b_h
        new = np.tanh(_clipped(gates[:, 2 * hidden :] + state, clip))
        activated = np.concatenate([z, reset, new, kept], axis=1)
        return ((np.float32(1) - z) * new + z * h,), activated

    return step


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    x, w, r = inputs[0], inputs[1], inputs[2]
    if x is None or w is None or r is None:
        return as_dim(0), as_dim(0)
    return x.shape[0] * x.shape[1] * (w.numel() + r.numel()) * 2, bytes_of(inputs, outputs)


def _case(
    gates: int,
    t: int,
    n: int,
    size: int,
    h: int,
    *,
    dtype: str = "f32",
    weights: Quant | Literal["rows", "f16"] | None = None,
    bias: bool = True,
    lengths: tuple[int, ...] | None = None,
    states: bool = False,
    peepholes: bool = False,
    **attrs: Any,
) -> Case:
    d = 2 if attrs.get("direction") == "bidirectional" else 1
    rows: list[Any] = [(dtype, (t, n, size)), (dtype, (d, gates * h, size))]
    rows += [(dtype, (d, gates * h, h)), (dtype, (d, 2 * gates * h)) if bias else None]
    if weights == "f16":
        rows[1:3] = [("f16", shape) for _, shape in rows[1:3]]
    elif weights is not None:
        scales = [0.004 + 0.001 * (i % 5) for i in range(gates * h)]
        quant = Quant.per_axis(scales, 1) if weights == "rows" else weights
        rows[1:3] = [("qs8", shape, quant) for _, shape in rows[1:3]]
    rows += [None if lengths is None else np.array(lengths, np.int32)]
    rows += [(dtype, (d, n, h)) if states else None] * (2 if gates == 4 else 1)
    rows += [(dtype, (d, 3 * h))] if peepholes else []
    while rows[-1] is None:
        rows.pop()
    return Case(tuple(rows), {"hidden": h, **attrs}, -1.0, 1.0)


def _cases(gates: int) -> tuple[Case, ...]:
    return (
        _case(gates, 1, 1, 1, 1),
        _case(gates, 3, 2, 5, 8, bias=False),
        _case(gates, 4, 1, 7, 16, states=True),
        _case(gates, 3, 2, 4, 7, direction="reverse"),
        _case(gates, 3, 2, 4, 5, direction="bidirectional", states=True),
        _case(gates, 4, 3, 2, 3, lengths=(4, 1, 0)),
        _case(gates, 4, 3, 2, 3, lengths=(2, 4, 3), direction="bidirectional", states=True),
        _case(gates, 3, 2, 4, 3, clip=0.25),
        _case(gates, 2, 1, 33, 17),
        _case(gates, 0, 2, 3, 4, states=True),
        _case(gates, 3, 2, 4, 8, dtype="f16"),
    )


def _quantized_cases(gates: int) -> tuple[Case, ...]:
    """Cases of the forms that only run, not of training."""
    tensor = Quant.per_tensor(0.006, 3)
    either: Quant | Literal["rows"] = "rows" if gates == 4 else tensor
    return (
        _case(gates, 1, 1, 1, 1, weights=tensor),
        _case(gates, 3, 2, 5, 17, weights="f16"),
        _case(gates, 2, 1, 4, 5, weights="f16", direction="bidirectional", states=True),
        _case(gates, 3, 2, 5, 8, weights="rows", bias=False),
        _case(gates, 3, 2, 4, 7, weights="rows", direction="bidirectional", states=True),
        _case(gates, 4, 3, 2, 3, weights=tensor, lengths=(2, 4, 0)),
        _case(gates, 2, 1, 33, 17, weights="rows", clip=0.25),
        _case(gates, 2, 1, 3, 4, dynamic=False),  # of no effect on floats
        _case(gates, 3, 2, 4, 17, weights=either, direction="bidirectional", dynamic=False),
    )


_INPUTS = ("x", "w", "r", "bias?", "lengths?", "h0?")
_LSTM_INPUTS = (*_INPUTS, "c0?", "p?")
LSTM_ATTRS = (*_ATTRS, Attr("input_forget", "bool", False, doc="the forget gate is 1 - i"))
GRU_ATTRS = (
    *_ATTRS,
    Attr("linear_before_reset", "bool", False, doc="the reset gate multiplies r h + bias"),
)
_DYNAMIC = Attr(
    "dynamic",
    "bool",
    True,
    since="0.13.0",
    doc="with w and r in qs8, rows of x and h are quantized too; false: w and r are dequantized",
)
_LSTM_CASES = (
    *_cases(4),
    _case(4, 3, 2, 4, 5, input_forget=True),
    _case(4, 3, 2, 4, 5, peepholes=True),
)
_GRU_CASES = (*_cases(3), _case(3, 3, 2, 4, 5, linear_before_reset=True))
_TRAINING = frozenset({"training"})
_LSTM_DIMS = (
    "x [T N I] w [D 4hidden I] r [D 4hidden hidden] bias [D 8hidden] lengths [N]"
    " h0 [D N hidden] c0 [D N hidden] p [D 3hidden]"
    " -> y [T D N hidden] y_h [D N hidden] y_c [D N hidden]"
)
_GRU_DIMS = (
    "x [T N I] w [D 3hidden I] r [D 3hidden hidden] bias [D 6hidden] lengths [N]"
    " h0 [D N hidden] -> y [T D N hidden] y_h [D N hidden]"
)

lstm = define(
    OpSpec(
        name="lstm",
        code=160,
        inputs=_LSTM_INPUTS,
        outputs=("y", "y_h", "y_c"),
        infer=_lstm_type,
        reference=_lighter(in_f32(_quantizable(_lstm))),
        doc="x [T, N, I], w [D, 4H, I], r [D, 4H, H], bias [D, 8H] (w's, then r's), lengths int32"
        " [N], h0, c0 [D, N, H], peepholes p [D, 3H] (i, o, f) -> y [T, D, N, H], y_h, y_c"
        " [D, N, H]; gates in the order i, o, f, c; beyond a row's length y is 0 and the state"
        " stays; w and r may be f16, or qs8 (rows of x and h are then quantized as in matmul_dynamic if"
        " dynamic)",
        dtypes=FLOATS,
        check=_LSTM_DIMS,
        attrs=(*LSTM_ATTRS, _DYNAMIC),
        cost=_cost,
        grad=_grad.lstm,
        saves=("x", "w", "r", "bias", "lengths", "h0", "c0", "p"),
        cases=(
            *_LSTM_CASES,
            *_quantized_cases(4),
            _case(4, 3, 2, 4, 5, weights="rows", peepholes=True),
        ),
        kind=Kind.RECURRENT,
        int8_sums=True,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
        newer=(QUANTIZED_WEIGHTS, HALF_WEIGHTS),
    )
)
gru = define(
    OpSpec(
        name="gru",
        code=161,
        inputs=_INPUTS,
        outputs=("y", "y_h"),
        infer=_gru_type,
        reference=_lighter(in_f32(_quantizable(_gru))),
        doc="x [T, N, I], w [D, 3H, I], r [D, 3H, H], bias [D, 6H] (w's, then r's), lengths int32"
        " [N], h0 [D, N, H] -> y [T, D, N, H], y_h [D, N, H]; gates in the order z, r, h; beyond a"
        " row's length y is 0 and the state stays; w and r may be f16 or qs8, as in lstm",
        dtypes=FLOATS,
        check=_GRU_DIMS,
        attrs=(*GRU_ATTRS, _DYNAMIC),
        cost=_cost,
        grad=_grad.gru,
        saves=("x", "w", "r", "bias", "lengths", "h0"),
        cases=(
            *_GRU_CASES,
            *_quantized_cases(3),
            _case(3, 3, 2, 4, 5, weights="rows", linear_before_reset=True),
        ),
        kind=Kind.RECURRENT,
        int8_sums=True,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
        newer=(QUANTIZED_WEIGHTS, HALF_WEIGHTS),
    )
)
lstm_train = define(
    OpSpec(
        name="lstm_train",
        code=218,
        since="0.2.0",
        inputs=_LSTM_INPUTS,
        outputs=("y", "y_h", "y_c", "gates", "h", "c"),
        infer=_lstm_train_type,
        reference=in_f32(_lstm_train),
        doc="lstm, and the values for its gradient: the activated gates [D, T, N, 4H], 0 beyond a row's length,"
        " and the states h and c [D, T, N, H] before each step",
        dtypes=FLOATS,
        check=_LSTM_DIMS + " gates [D T N 4hidden] h [D T N hidden] c [D T N hidden]",
        attrs=LSTM_ATTRS,
        cost=_cost,
        flags=_TRAINING,
        grad=_grad.lstm_train,
        saves=("x", "w", "r", "lengths", "p", "gates", "h", "c"),
        cases=_LSTM_CASES,
        kind=Kind.RECURRENT,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
gru_train = define(
    OpSpec(
        name="gru_train",
        code=219,
        since="0.2.0",
        inputs=_INPUTS,
        outputs=("y", "y_h", "gates", "h"),
        infer=_gru_train_type,
        reference=in_f32(_gru_train),
        doc="gru, and the values for its gradient: z, r, the new state and the value that r multiplies (r's"
        " product with h, plus bias; without linear_before_reset r h) as gates [D, T, N, 4H], 0 beyond a row's"
        " length, and the state h [D, T, N, H] before each step",
        dtypes=FLOATS,
        check=_GRU_DIMS + " gates [D T N 4hidden] h [D T N hidden]",
        attrs=GRU_ATTRS,
        cost=_cost,
        flags=_TRAINING,
        grad=_grad.gru_train,
        saves=("x", "w", "r", "lengths", "gates", "h"),
        cases=_GRU_CASES,
        kind=Kind.RECURRENT,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
