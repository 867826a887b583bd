# SPDX-License-Identifier: Apache-2.0
"""Reductions, arg-reductions, cumulative sums and top-k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.axes import (
    around,
    flags,
    named,
    split_shape,
    without,
    without_one,
)
from samara.exporter.importers.onnx.registry import Handler, onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import MAX_RANK, Dim, DType, as_dim, select


def _axes(n: NodeContext, x: Value) -> list[Dim] | None:
    """The node's axes; None if the node is an identity."""
    axes = n.axes(1)
    if not axes:
        if n.attr("noop_with_empty_axes", 0):
            return None
        return [as_dim(a) for a in range(x.type.rank)]
    return axes


@dataclass(frozen=True, slots=True)
class _Over:
    """A tensor in a form with static reduced axes, and the shape of the result."""

    x: Value
    axes: list[int]
    shape: list[Dim] | None  # with the axes dropped or kept as the node asks; None: as reduced


def _over(n: NodeContext, x: Value, axes: list[Dim], keep: bool) -> _Over:
    """x; if the axes are known only at run time, x with each axis split into a kept and a reduced one."""
    rank = x.type.rank
    static = n.static_axes(axes, rank)
    if static is not None:
        return _Over(x, sorted(set(static)), None)
    shape: list[Dim]
    if len(axes) == 1:
        _guard_axis(n, axes[0], rank)
        triple = n.emit("reshape", x, shape=around(x.type.shape, axes[0]))
        shape = [select(named(axes[0], a, rank), 1, d) for a, d in enumerate(x.type.shape)]
        return _Over(triple, [1], shape if keep else without_one(x.type.shape, axes[0]))
    if 2 * rank > MAX_RANK:
        raise n.unsupported(
            f"axes known at run time only, over an input of rank {rank}", "make the axes constants"
        )
    chosen = flags(axes, rank)
    pairs = n.emit("reshape", x, shape=split_shape(x.type.shape, chosen))
    if keep:
        shape = [select(c, 1, d) for d, c in zip(x.type.shape, chosen, strict=True)]
    else:
        shape = without(x.type.shape, chosen, rank - len(axes))
    return _Over(pairs, list(range(1, 2 * rank, 2)), shape)


def _reduce(n: NodeContext, op: str, over: _Over, keep: bool) -> Value:
    """`op` over the axes, in the shape that the node declares."""
    y: Value
    if over.shape is None:
        y = n.emit(op, over.x, axes=over.axes, keepdims=keep)
        return y
    y = n.emit("reshape", n.emit(op, over.x, axes=over.axes, keepdims=False), shape=over.shape)
    return y


def _keeps(n: NodeContext) -> bool:
    return bool(n.attr("keepdims", 1))


def _reduction(op: str) -> Handler:
    def convert(n: NodeContext) -> Any:
        x = n.value(0)
        axes = _axes(n, x)
        if axes is None:
            return x
        over = _over(n, x, axes, _keeps(n))
        if over.shape is None:
            return n.final(op, x, axes=over.axes, keepdims=_keeps(n))
        return _reduce(n, op, over, _keeps(n))

    return convert


for _name in ("Sum", "Mean", "Max", "Min", "Prod"):
    onnx_op(f"Reduce{_name}")(_reduction(f"reduce_{_name.lower()}"))


def _composed(before: str | None, after: str | None) -> Handler:
    """sum of before(x), then after."""

    def convert(n: NodeContext) -> Any:
        x = n.value(0)
        axes = _axes(n, x)
        if before == "square":
            x = n.emit("mul", x, x)
        elif before is not None:
            x = n.emit(before, x)
        total = x
        if axes is not None:
            total = _reduce(n, "reduce_sum", _over(n, x, axes, _keeps(n)), _keeps(n))
        if after is None:
            return total
        if x.type.dtype.is_float:
            return n.final(after, total)
        # A sum of integers is exact; the rest is computed in float64 and truncated.
        y = n.emit(after, n.emit("cast", total, to=DType.F64))
        return n.final("cast", y, to=x.type.dtype)

    return convert


onnx_op("ReduceL1")(_composed("abs", None))
onnx_op("ReduceL2")(_composed("square", "sqrt"))
onnx_op("ReduceSumSquare")(_composed("square", None))
onnx_op("ReduceLogSum")(_composed(None, "log"))


@onnx_op("ReduceLogSumExp")
def reduce_log_sum_exp(n: NodeContext) -> Any:
    """For integers computed in float64 and truncated."""
    x = n.value(0)
    axes = _axes(n, x)
    if axes is None:
        return x
    if x.type.dtype.is_float:
        return _log_sum_exp(n, x, axes)
    y = _log_sum_exp(n, n.emit("cast", x, to=DType.F64), axes)
    return n.final("cast", y, to=x.type.dtype)


def _log_sum_exp(n: NodeContext, x: Value, axes: list[Dim]) -> Any:
    """log(sum(exp(x - peak))) + peak; an infinite peak counts as 0 in the difference."""
    over = _over(n, x, axes, _keeps(n))
    peak = n.emit("reduce_max", over.x, axes=over.axes, keepdims=True)
    zero = n.const(np.zeros((), x.type.dtype.numpy))
    finite = n.emit("where", n.emit("isinf", peak), zero, peak)
    powers = n.emit("exp", n.emit("sub", over.x, finite))
    total = n.emit("reduce_sum", powers, axes=over.axes, keepdims=True)
    y = n.emit("add", n.emit("log", total), finite)
    if over.shape is not None:
        return n.emit("reshape", y, shape=over.shape)
    if _keeps(n):
        return y
    left = [d for i, d in enumerate(x.type.shape) if i not in over.axes]
    return n.emit("reshape", y, shape=left)


def _arg(op: str) -> Handler:
    def convert(n: NodeContext) -> Any:
        x = n.value(0)
        last = bool(n.attr("select_last_index", 0))
        axis = n.axis(0, x.type.rank)
        return n.final(op, x, axis=axis, keepdims=_keeps(n), select_last=last)

    return convert


onnx_op("ArgMax")(_arg("argmax"))
onnx_op("ArgMin")(_arg("argmin"))


def _cumulative(op: str) -> Handler:
    def convert(n: NodeContext) -> Any:
        x = n.value(0)
        rank = x.type.rank
        attrs = {"exclusive": bool(n.attr("exclusive", 0)), "reverse": bool(n.attr("reverse", 0))}
        axis = n.scalar_dim(1, "axis")
        static = n.static_axes([axis], rank)
        if static is not None:
            return n.final(op, x, axis=static[0], **attrs)
        _guard_axis(n, axis, rank)
        y = n.emit(op, n.emit("reshape", x, shape=around(x.type.shape, axis)), axis=1, **attrs)
        return n.final("reshape", y, shape=x.type.shape)

    return convert


onnx_op("CumSum")(_cumulative("cumsum"))
onnx_op("CumProd")(_cumulative("cumprod"))


def _guard_axis(n: NodeContext, axis: Dim, rank: int) -> None:
    message = f"{n.op_type}: the axis must be in -{rank}..{rank - 1}"
    n.builder.guards.append(Guard("le", as_dim(-rank), axis, message, n.label))
    n.builder.guards.append(Guard("lt", axis, as_dim(rank), message, n.label))


@onnx_op("TopK")
def top_k(n: NodeContext) -> Any:
    k = n.attr("k") if n.has_attr("k") else n.scalar_dim(1, "K")
    x = n.value(0)
    return n.final(
        "top_k",
        x,
        k=k,
        axis=n.axis(-1, x.type.rank),
        largest=bool(n.attr("largest", 1)),
        sorted=bool(n.attr("sorted", 1)),
    )
