# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.cells import (
    Sequences,
    activations,
    gru_step,
    lstm_step,
    picked,
    recurrence,
    rnn_step,
)
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

_LSTM = ("sigmoid", "tanh", "tanh")
_GRU = ("sigmoid", "tanh")


def _usual(n: NodeContext, names: tuple[str, ...]) -> bool:
    """Whether the activations are those of the operator."""
    given = n.attr("activations")
    directions = 2 if n.attr("direction", "forward") == "bidirectional" else 1
    return given is None or [a.lower() for a in given] == list(names) * directions


def _sequence(n: NodeContext) -> tuple[Value, bool]:
    """The input as [T, N, I], and whether the node is batch-first."""
    x = n.value(0)
    n.shape(0, 3)
    batch_first = bool(n.attr("layout", 0))
    return (n.emit("transpose", x, perm=(1, 0, 2)) if batch_first else x), batch_first


def _lengths(n: NodeContext) -> Value | None:
    lengths = n.optional(4)
    if lengths is not None and lengths.type.dtype is not DType.I32:
        lengths = n.emit("cast", lengths, to=DType.I32)
    return lengths


def _state(n: NodeContext, index: int, batch_first: bool) -> Value | None:
    """Initial state as [D, N, H]."""
    h = n.optional(index)
    return n.emit("transpose", h, perm=(1, 0, 2)) if h is not None and batch_first else h


def _hidden(n: NodeContext, r: Value) -> int:
    last = r.type.shape[-1]
    if not last.is_static:
        raise n.unsupported("a symbolic hidden size")
    hidden = int(n.attr("hidden_size", last.as_int()))
    if hidden != last.as_int():
        raise n.wrong(f"hidden_size is {hidden}, the recurrence weights {r.type} have {last}")
    return hidden


def _fused(n: NodeContext, op: str, **attrs: Any) -> list[Value]:
    """The node as one operator. ONNX's Y is [T, D, N, H], or [N, T, D, H] in batch-first layout."""
    x, batch_first = _sequence(n)
    r = n.value(2)
    inputs = [x, n.value(1), r, n.optional(3), _lengths(n), _state(n, 5, batch_first)]
    if op == "lstm":
        inputs += [_state(n, 6, batch_first), n.optional(7)]
    attrs |= {"hidden": _hidden(n, r), "direction": n.attr("direction", "forward")}
    if not batch_first:
        return list(n.final(op, *inputs, **attrs))
    return _batch_first(n, n.emit(op, *inputs, **attrs))


def _batch_first(n: NodeContext, results: Any) -> list[Value]:
    y, *states = results
    moved = [n.emit("transpose", y, perm=(2, 0, 1, 3))]
    return moved + [n.emit("transpose", s, perm=(1, 0, 2)) for s in states]


def _wide(n: NodeContext, v: Value) -> Value:
    """A half-precision operand in float32, the type of states in loops."""
    if v.type.dtype not in (DType.F16, DType.BF16):
        return v
    wide: Value = n.emit("cast", v, to=DType.F32)
    return wide


def _operands(n: NodeContext, states: tuple[int, ...]) -> tuple[Sequences, bool]:
    x, batch_first = _sequence(n)
    initial = [
        None if h is None else _wide(n, h) for h in (_state(n, k, batch_first) for k in states)
    ]
    bias = _wide(n, n.value(3)) if n.has(3) else None
    x, w, r = (_wide(n, v) for v in (x, n.value(1), n.value(2)))
    given = Sequences(x, w, r, bias, _lengths(n), initial)
    _hidden(n, given.r)
    directions = 2 if n.attr("direction", "forward") == "bidirectional" else 1
    for i, v in ((1, given.w), (2, given.r)):
        if v.type.rank != 3 or (v.type.shape[0].is_static and v.type.shape[0] != directions):
            raise n.wrong(f"input {i} is {v.type}, expected {directions} direction(s)")
    return given, batch_first


def _finished(n: NodeContext, results: list[Value], batch_first: bool) -> list[Value]:
    kind = n.type(0).dtype
    if results[0].type.dtype is not kind:
        results = [n.emit("cast", y, to=kind) for y in results]
    return _batch_first(n, results) if batch_first else results


def _halves(n: NodeContext, given: Sequences, d: int, gates: int) -> tuple[Value, Value] | None:
    """The biases of the input's and of the state's products, [G * H] each."""
    if given.bias is None:
        return None
    wide = gates * given.r.type.shape[-1].as_int()
    both = n.emit("split", picked(n, given.bias, d), axis=0, sizes=[wide, wide])
    return both[0], both[1]


def _summed(n: NodeContext, halves: tuple[Value, Value] | None) -> Value | None:
    return None if halves is None else n.emit("add", *halves)


@onnx_op("RNN")
def rnn(n: NodeContext) -> Any:
    given, batch_first = _operands(n, (5,))
    clip = float(n.attr("clip", 0.0))
    steps, extra = [], []
    for d, (f,) in enumerate(activations(n, ("tanh",))):
        steps.append(rnn_step(n, picked(n, given.r, d), f, clip))
        extra.append(_summed(n, _halves(n, given, d, 1)))
    return _finished(n, recurrence(n, given, steps, extra), batch_first)


@onnx_op("LSTM")
def lstm(n: NodeContext) -> Any:
    clip, input_forget = n.attr("clip", 0.0), bool(n.attr("input_forget", 0))
    if not _usual(n, _LSTM):
        given, batch_first = _operands(n, (5, 6))
        peepholes = _wide(n, n.value(7)) if n.has(7) else None
        steps, extra = [], []
        for d, fs in enumerate(activations(n, _LSTM)):
            p = None if peepholes is None else picked(n, peepholes, d)
            steps.append(lstm_step(n, picked(n, given.r, d), p, fs, clip, input_forget))
            extra.append(_summed(n, _halves(n, given, d, 4)))
        return _finished(n, recurrence(n, given, steps, extra), batch_first)
    return _fused(n, "lstm", clip=clip, input_forget=input_forget)


@onnx_op("GRU")
def gru(n: NodeContext) -> Any:
    clip, linear = n.attr("clip", 0.0), bool(n.attr("linear_before_reset", 0))
    if not _usual(n, _GRU):
        given, batch_first = _operands(n, (5,))
        hidden = _hidden(n, given.r)
        steps, extra = [], []
        for d, fs in enumerate(activations(n, _GRU)):
            halves = _halves(n, given, d, 3)
            inner, outer = None, _summed(n, halves)
            if halves is not None and linear:
                r_zr, inner = n.emit("split", halves[1], axis=0, sizes=[2 * hidden, hidden])
                zeros = n.const(np.zeros(hidden, inner.type.dtype.numpy))
                outer = n.emit("add", halves[0], n.emit("concat", r_zr, zeros, axis=0))
            steps.append(gru_step(n, picked(n, given.r, d), inner, fs, clip, linear))
            extra.append(outer)
        return _finished(n, recurrence(n, given, steps, extra), batch_first)
    return _fused(n, "gru", clip=clip, linear_before_reset=linear)
