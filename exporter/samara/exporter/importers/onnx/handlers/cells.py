# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells as loops: RNN, and LSTM and GRU with activations that the operators lack.

The products with the input are one matrix product before the loop; a step multiplies only the state.
Equations and attributes are those of ONNX's operators RNN, LSTM and GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.scan import inside, scalar, with_shape
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

# Activations with alpha, or beta, and the defaults.
_ALPHA = {"affine": 1.0, "leakyrelu": 0.01, "thresholdedrelu": 1.0, "scaledtanh": 1.0,
          "hardsigmoid": 0.2, "elu": 1.0}  # fmt: skip
_BETA = {"affine": 0.0, "scaledtanh": 1.0, "hardsigmoid": 0.5}
_PLAIN = {"relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "softplus": "softplus"}
ACTIVATIONS = frozenset({*_ALPHA, *_PLAIN, "softsign"})


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation function by its name in lower case."""

    name: str
    alpha: float
    beta: float

    def __call__(self, n: NodeContext, x: Value) -> Value:
        return _activated(n, self, x)


def _activated(n: NodeContext, f: Activation, x: Value) -> Value:
    y: Value
    match f.name:
        case "affine":
            y = n.emit("add", n.emit("mul", x, f.alpha), f.beta)
        case "scaledtanh":
            y = n.emit("mul", n.emit("tanh", n.emit("mul", x, f.beta)), f.alpha)
        case "thresholdedrelu":
            kind = x.type.dtype.numpy
            limit, zero = n.const(np.asarray(f.alpha, kind)), n.const(np.zeros((), kind))
            y = n.emit("where", n.emit("lt", limit, x), x, zero)
        case "softsign":
            y = n.emit("div", x, n.emit("add", n.emit("abs", x), 1.0))
        case "hardsigmoid":
            y = n.emit("hard_sigmoid", x, alpha=f.alpha, beta=f.beta)
        case "leakyrelu":
            y = n.emit("leaky_relu", x, alpha=f.alpha)
        case "elu":
            y = n.emit("elu", x, alpha=f.alpha)
        case _:
            y = n.emit(_PLAIN[f.name], x)
    return y


def activations(n: NodeContext, defaults: Sequence[str]) -> list[list[Activation]]:
    """The activation functions of each direction, in the order of the cell's gates.

    The values of `activation_alpha` and `activation_beta` are assigned in order to the functions that take
    them; if a list is as long as `activations`, each function has its own value.
    """
    directions = 2 if n.attr("direction", "forward") == "bidirectional" else 1
    names = [str(a).lower() for a in n.attr("activations", list(defaults) * directions)]
    if len(names) != len(defaults) * directions:
        raise n.wrong(f"{len(names)} activations, expected {len(defaults) * directions}")
    unknown = sorted(set(names) - ACTIVATIONS)
    if unknown:
        raise n.unsupported(
            f"activation {unknown[0]!r}", f"use one of {', '.join(sorted(ACTIVATIONS))}"
        )
    alpha = _numbers(n, "activation_alpha", names, _ALPHA)
    beta = _numbers(n, "activation_beta", names, _BETA)
    made = [Activation(*row) for row in zip(names, alpha, beta, strict=True)]
    return [made[i : i + len(defaults)] for i in range(0, len(made), len(defaults))]


def _numbers(
    n: NodeContext, attribute: str, names: Sequence[str], defaults: dict[str, float]
) -> list[float]:
    given = [float(v) for v in n.attr(attribute, [])]
    takers = [i for i, name in enumerate(names) if name in defaults]
    out = [defaults.get(name, 0.0) for name in names]
    if len(given) == len(names):
        takers = list(range(len(names)))
    for i, v in zip(takers, given, strict=False):
        out[i] = v
    return out


# Computes the states after a step from the gates' inputs [N, G * H] and the states before the step [N, H].
Step = Callable[[NodeContext, Value, list[Value]], list[Value]]


@dataclass(frozen=True, slots=True)
class Sequences:
    """The operands of a recurrence over x [T, N, I]; states [D, N, H] or None."""

    x: Value
    w: Value
    r: Value
    bias: Value | None
    lengths: Value | None
    states: Sequence[Value | None]


def recurrence(
    n: NodeContext, given: Sequences, steps: Sequence[Step], extra: Sequence[Value | None]
) -> list[Value]:
    """Y [T, D, N, H] and the last states [D, N, H] of cells, with one step function per direction.

    extra: an addend to the input's part of the gates of each direction, [G * H], or None.
    """
    parts = [_direction(n, given, d, step, extra[d]) for d, step in enumerate(steps)]
    joined = []
    for k in range(len(parts[0])):
        axis = 0 if k else 1
        one = [n.emit("reshape", p[k], shape=_with_one(p[k], axis)) for p in parts]
        joined.append(one[0] if len(one) == 1 else n.emit("concat", *one, axis=axis))
    return joined


def _with_one(y: Value, axis: int) -> list[object]:
    return [*y.type.shape[:axis], 1, *y.type.shape[axis:]]


def picked(n: NodeContext, x: Value, d: int) -> Value:
    """x[d]."""
    rank = x.type.rank
    row = n.emit(
        "slice",
        x,
        begin=[d, *[0] * (rank - 1)],
        end=[d + 1, *x.type.shape[1:]],
        step=[1] * rank,
    )
    made: Value = n.emit("reshape", row, shape=x.type.shape[1:])
    return made


def _direction(
    n: NodeContext, given: Sequences, d: int, step: Step, extra: Value | None
) -> list[Value]:
    """[Y [T, N, H], last states [N, H]…] of one direction."""
    back = d == 1 or n.attr("direction", "forward") == "reverse"
    t, batch, size = given.x.type.shape
    rows = n.emit("reshape", given.x, shape=(t * batch, size))
    gates = n.emit("matmul", rows, picked(n, given.w, d), extra, transpose_w=True)
    gates = n.emit("reshape", gates, shape=(t, batch, gates.type.shape[1]))
    hidden = given.r.type.shape[-1]
    zeros = n.const(np.zeros((), given.x.type.dtype.numpy))
    states = [
        n.emit("expand", zeros, shape=(batch, hidden)) if s is None else picked(n, s, d)
        for s in given.states
    ]
    builder = n.builder.child(f"direction{d}")
    body = inside(n, builder, f"direction{d}")
    iteration = builder.input("iteration", DType.I64, ())
    go = builder.input("condition", DType.BOOL, ())
    before = [builder.formal(f"state{k}", s.type) for k, s in enumerate(states)]
    length = scalar(n, t)
    at = body.emit("sub", n.emit("sub", length, 1), iteration) if back else iteration
    after = step(body, body.emit("gather", gates, at, axis=0), before)
    y = after[0]
    if given.lengths is not None:
        # Beyond a sequence's length the state is kept and the result is 0, in both directions.
        seen = body.emit("lt", at, n.emit("cast", given.lengths, to=DType.I64))
        seen = body.emit("reshape", seen, shape=(batch, 1))
        y = body.emit("where", seen, y, zeros)
        after = [body.emit("where", seen, a, b) for a, b in zip(after, before, strict=True)]
    made = n.builder.loop(
        length, None, states, (builder, [go, *after, y]), name=f"{n.label}.{d}.loop"
    )
    stacked = with_shape(n, made[-1], (t, batch, hidden))
    if back:
        stacked = _reversed(n, stacked)
    return [stacked, *made[:-1]]


def _reversed(n: NodeContext, y: Value) -> Value:
    t, batch, hidden = y.type.shape
    turned: Value = n.emit(
        "slice", y, begin=[t - 1, 0, 0], end=[-1, batch, hidden], step=[-1, 1, 1]
    )
    return turned


def clipped(n: NodeContext, x: Value, limit: float) -> Value:
    if not limit:
        return x
    y: Value = n.emit("clamp", x, lo=-limit, hi=limit)
    return y


def columns(n: NodeContext, x: Value, count: int, hidden: int) -> list[Value]:
    """[N, count * hidden] as `count` tensors [N, hidden]."""
    return list(n.emit("split", x, axis=x.type.rank - 1, sizes=[hidden] * count))


def plus(n: NodeContext, x: Value, y: Value | None) -> Value:
    if y is None:
        return x
    total: Value = n.emit("add", x, y)
    return total


def rnn_step(n: NodeContext, r: Value, f: Activation, clip: float) -> Step:
    """H = f(x + h R^T)."""

    def step(b: NodeContext, x: Value, states: list[Value]) -> list[Value]:
        (h,) = states
        return [f(b, clipped(b, b.emit("add", x, b.emit("matmul", h, r, transpose_w=True)), clip))]

    return step


def lstm_step(
    n: NodeContext,
    r: Value,
    p: Value | None,
    fs: Sequence[Activation],
    clip: float,
    input_forget: bool,
) -> Step:
    """Gates in the order i, o, f, c; p: peepholes [3H] of i, o, f."""
    hidden = r.type.shape[-1].as_int()
    peep = [None] * 3 if p is None else columns(n, p, 3, hidden)

    def step(b: NodeContext, x: Value, states: list[Value]) -> list[Value]:
        h, c = states
        gates = b.emit("add", x, b.emit("matmul", h, r, transpose_w=True))
        i, o, f, g = columns(b, gates, 4, hidden)

        def peeped(gate: Value, k: int, cell: Value) -> Value:
            weight = peep[k]
            seen = gate if weight is None else plus(b, gate, b.emit("mul", weight, cell))
            return fs[0](b, clipped(b, seen, clip))

        i = peeped(i, 0, c)
        f = b.emit("sub", 1.0, i) if input_forget else peeped(f, 2, c)
        g = fs[1](b, clipped(b, g, clip))
        c = b.emit("add", b.emit("mul", f, c), b.emit("mul", i, g))
        o = peeped(o, 1, c)
        return [b.emit("mul", o, fs[2](b, c)), c]

    return step


def gru_step(
    n: NodeContext,
    r: Value,
    inner: Value | None,
    fs: Sequence[Activation],
    clip: float,
    linear_before_reset: bool,
) -> Step:
    """Gates in the order z, r, h; inner: the bias [H] inside the reset gate's product, if any."""
    hidden = r.type.shape[-1].as_int()
    sizes = [2 * hidden, hidden]
    r_zr, r_h = n.emit("split", r, axis=0, sizes=sizes)

    def step(b: NodeContext, x: Value, states: list[Value]) -> list[Value]:
        (h,) = states
        x_zr, x_h = b.emit("split", x, axis=1, sizes=sizes)
        both = b.emit("add", x_zr, b.emit("matmul", h, r_zr, transpose_w=True))
        z, reset = columns(b, fs[0](b, clipped(b, both, clip)), 2, hidden)
        if linear_before_reset:
            kept = plus(b, b.emit("matmul", h, r_h, transpose_w=True), inner)
            kept = b.emit("mul", reset, kept)
        else:
            kept = b.emit("matmul", b.emit("mul", reset, h), r_h, transpose_w=True)
        new = fs[1](b, clipped(b, b.emit("add", x_h, kept), clip))
        one = b.emit("mul", b.emit("sub", 1.0, z), new)
        return [b.emit("add", one, b.emit("mul", z, h))]

    return step
