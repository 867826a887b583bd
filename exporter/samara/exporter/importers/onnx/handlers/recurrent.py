# SPDX-License-Identifier: Apache-2.0
"""LSTM and GRU."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType


def _check_activations(n: NodeContext, per_direction: list[str]) -> None:
    directions = 2 if n.attr("direction", "forward") == "bidirectional" else 1
    given = n.attr("activations")
    if given is not None and [a.lower() for a in given] != per_direction * directions:
        raise n.unsupported(f"activations {given}", f"only {per_direction} are provided")
    if n.has_attr("activation_alpha") and any(n.attr("activation_alpha")):
        raise n.unsupported("activation_alpha")


def _sequence(n: NodeContext) -> tuple[Value, bool]:
    """The input as [T, N, I], and whether the node is batch-first."""
    x = n.value(0)
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
    return int(n.attr("hidden_size", last.as_int()))


def _results(n: NodeContext, op: str, batch_first: bool, *inputs: Any, **attrs: Any) -> list[Value]:
    """ONNX's Y is [T, D, N, H], or [N, T, D, H] in batch-first layout."""
    if not batch_first:
        return list(n.final(op, *inputs, **attrs))
    y, *states = n.emit(op, *inputs, **attrs)
    moved = [n.emit("transpose", y, perm=(2, 0, 1, 3))]
    return moved + [n.emit("transpose", s, perm=(1, 0, 2)) for s in states]


@onnx_op("LSTM")
def lstm(n: NodeContext) -> Any:
    _check_activations(n, ["sigmoid", "tanh", "tanh"])
    x, batch_first = _sequence(n)
    r = n.value(2)
    return _results(
        n,
        "lstm",
        batch_first,
        x,
        n.value(1),
        r,
        n.optional(3),
        _lengths(n),
        _state(n, 5, batch_first),
        _state(n, 6, batch_first),
        n.optional(7),
        hidden=_hidden(n, r),
        direction=n.attr("direction", "forward"),
        clip=n.attr("clip", 0.0),
        input_forget=bool(n.attr("input_forget", 0)),
    )


@onnx_op("GRU")
def gru(n: NodeContext) -> Any:
    _check_activations(n, ["sigmoid", "tanh"])
    x, batch_first = _sequence(n)
    r = n.value(2)
    return _results(
        n,
        "gru",
        batch_first,
        x,
        n.value(1),
        r,
        n.optional(3),
        _lengths(n),
        _state(n, 5, batch_first),
        hidden=_hidden(n, r),
        direction=n.attr("direction", "forward"),
        linear_before_reset=bool(n.attr("linear_before_reset", 0)),
        clip=n.attr("clip", 0.0),
    )
