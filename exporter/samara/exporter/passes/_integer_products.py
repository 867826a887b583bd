# SPDX-License-Identifier: Apache-2.0
"""Convolutions and matrix products of dequantized tensors as integer ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ops import get_op
from samara.exporter.ops.integer import Role
from samara.exporter.ops.linear.rows_int8 import without_epilogue
from samara.exporter.ops.quantization.arithmetic import LARGEST, farthest
from samara.exporter.passes._integer import Integers, Row, Target
from samara.exporter.passes._pass import per_channel
from samara.exporter.types import DType, Quant

__all__ = ["is_product", "product", "real_product"]


def is_product(node: Node) -> bool:
    """Whether a node is a product that has an integer form."""
    return node.op.integer is not None and node.op.integer.role is Role.PRODUCT


@dataclass(frozen=True, slots=True)
class _Operands:
    """A product that can be computed in integers."""

    node: Node
    x: Quant
    w: Quant
    bias: Array | None  # real, per output channel


def product(ctx: Integers, value: Value, target: Target, before: Node) -> Row | None:
    """The product that makes `value`, possibly with a constant per channel added, as an integer row with the
    target result.
    """
    found = _behind_sum(ctx, value) or _operands(ctx, value, None)
    if found is None:
        return None
    node = found.node
    extra: tuple[str, ...] = ()
    if node.outputs[0] is not value:
        extra = (node.outputs[0].name,)
    target = target.clamped(node.attrs["lo"], node.attrs["hi"]) if _clamps(node) else target
    row = _row(ctx, found, before)
    if row is None:
        return None
    return replace(row, attrs={**row.attrs, **target.attrs}, absorbed=(*row.absorbed, *extra))


def _row(ctx: Integers, found: _Operands, before: Node) -> Row | None:
    """The sums, with the bias in steps of them; None if they may overflow int32."""
    node, bias = found.node, None
    x, w = node.inputs[0], node.inputs[1]
    assert x is not None
    assert w is not None
    room = _room(found)
    if room is None:
        return None
    if found.bias is not None:
        if not np.isfinite(found.bias).all():
            return None
        whole = np.clip(np.rint(found.bias.astype(np.float64) / _steps(found)), -room, room)
        bias = ctx.r.const(whole.astype(np.int32), f"{node.name}.bias")
    attrs = without_epilogue(node.attrs)
    assert node.op.integer is not None
    return Row.of(
        node,
        get_op(node.op.integer.form),
        ctx.source(x, before),
        ctx.source(w, before),
        bias,
        **attrs,
    )


def _clamps(node: Node) -> bool:
    return bool(node.attrs["lo"] != -math.inf or node.attrs["hi"] != math.inf)


def _behind_sum(ctx: Integers, value: Value) -> _Operands | None:
    """product + constant per channel, with nothing in between."""
    node = ctx.r.producer(value)
    if node is None or node.op not in (ops.add, ops.sub):
        return None
    a, b = node.inputs
    for data, other in ((a, b), (b, a))[: 1 if node.op is ops.sub else 2]:
        maker = ctx.r.producer(data)
        if data is None or maker is None or not is_product(maker) or _clamps(maker):
            continue
        if ctx.r.only_user(data) is not node or value.type.shape != data.type.shape:
            continue
        known = ctx.known(other)
        channels = data.type.shape[-1]
        if known is None or not channels.is_static:
            continue
        row = per_channel(Value("", data.type, known), channels.as_int(), data.type.rank)
        if row is not None:
            return _operands(ctx, data, -row if node.op is ops.sub else row)
    return None


def _operands(ctx: Integers, value: Value, added: Array | None) -> _Operands | None:
    node = ctx.r.producer(value)
    if node is None or not is_product(node) or node.attrs["post"] != "none":
        return None
    x, w, bias, residual = (*node.inputs, None, None)[:4]
    if residual is not None:
        return None
    q_x, q_w = ctx.whole(x), ctx.quant_of(w)
    if q_x is None or q_w is None or q_w.block is not None or w is None:
        return None
    real = ctx.known(bias)
    if bias is not None and real is None:
        return None
    if q_w.axis is not None and q_w.axis != _output_axis(node, w):
        return None
    if added is not None:
        channels = value.type.shape[-1].as_int()
        wide = np.broadcast_to(added.astype(np.float64), (channels,))
        real = wide if real is None else real.astype(np.float64) + wide
    return _Operands(node, q_x, q_w, real)


def _output_axis(node: Node, w: Value) -> int:
    """The axis of w for output channels."""
    if node.op is not ops.matmul:
        return 0
    return w.type.rank - 2 if node.attrs["transpose_w"] else w.type.rank - 1


def _room(found: _Operands) -> int | None:
    """The largest bias with which no sum overflows int32; None if the sums alone may overflow."""
    w = found.node.inputs[1]
    assert w is not None
    summed = w.type.shape[1:]
    if found.node.op is ops.matmul:
        summed = (w.type.shape[-1 if found.node.attrs["transpose_w"] else -2],)
    if not all(d.is_static for d in summed):
        return LARGEST // 2
    depth = math.prod(d.as_int() for d in summed)
    room = LARGEST - depth * farthest(found.x) * farthest(found.w)
    return room if room >= 0 else None


def _steps(found: _Operands) -> Array:
    """The value of one step of the sums, per output channel or [1]."""
    return np.asarray(np.float64(found.x.scale) * found.w.scale_array().astype(np.float64))


def _on_grid(found: _Operands) -> bool:
    """Whether the bias is a whole number of steps of the sums, as the int32 one of a file is."""
    assert found.bias is not None
    steps, bias = _steps(found), found.bias.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool(np.all(np.abs(np.rint(bias / steps) * steps - bias) <= 1e-6 * np.abs(bias)))


def real_product(ctx: Integers, node: Node) -> Value | None:
    """A product of dequantized tensors whose result stays real: the integer sums, then scaled. So
    does a bias that is no whole number of steps.
    """
    value = node.outputs[0]
    found = _operands(ctx, value, None) if value.type.dtype is DType.F32 else None
    bias = None
    if found is not None and found.bias is not None and not _on_grid(found):
        bias, found = node.inputs[2], replace(found, bias=None)
    row = None if found is None else _row(ctx, found, node)
    if found is None or row is None:
        return None
    r = ctx.r
    total = ctx.place(replace(row, attrs={**row.attrs, "to": DType.I32}), node)
    real = r.op(ops.cast, total, before=node, name=f"{node.name}.real", to=DType.F32)
    m = np.float32(found.x.scale) * found.w.scale_array()
    factor = r.const(m if m.size > 1 else m.reshape(()), f"{node.name}.scale")
    y: Value = r.op(ops.mul, real, factor, before=node, name=f"{node.name}.scaled")
    if bias is not None:
        y = r.op(ops.add, y, bias, before=node, name=f"{node.name}.biased")
    if _clamps(node):
        lo, hi = node.attrs["lo"], node.attrs["hi"]
        y = r.op(ops.clamp, y, before=node, name=f"{node.name}.clamped", lo=lo, hi=hi)
    return y
