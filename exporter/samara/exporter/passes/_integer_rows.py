# SPDX-License-Identifier: Apache-2.0
"""Integer rows of nodes that compute on dequantized tensors, by the rules of the op table."""

from __future__ import annotations

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ops import get_op
from samara.exporter.ops.integer import Form, Integer, Plain, Real, Role
from samara.exporter.passes._integer import Integers, Row, Target, parameters
from samara.exporter.types import Quant

__all__ = ["integer_row"]

_SMALLEST, _LARGEST = (float(v) for v in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))


def integer_row(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    """The integer form of a computing node, with the target result; None if it has none."""
    rule, given = node.op.integer, ctx.given(node)
    if rule is None or rule.role is not Role.COMPUTED or not rule.fits(given):
        return None
    quants = _quants(ctx, node, rule, target)
    form = get_op(rule.form)
    if quants is None or form.build is None:
        return None
    made = form.build(given, quants, target.quant, rule.options)
    if made is None:
        return None
    operands = _operands(ctx, node, made, dict(zip(rule.operands, quants, strict=True)), before)
    if operands is None:
        return None
    if rule.result is None:
        return Row.of(node, form, *operands, **made.attrs, **target.attrs)
    row = Row.of(node, form, *operands, **made.attrs)
    if target == Target(rule.result):
        return row
    if not target.is_whole:
        return None
    return Row(ops.requantize, (ctx.place(row, before),), parameters(target.quant))


def _quants(ctx: Integers, node: Node, rule: Integer, target: Target) -> list[Quant] | None:
    """Parameters of the operands. A constant beside a tensor has its own parameters, unless they are too
    coarse for a term of a sum in steps of the result.
    """
    values = [node.inputs[i] for i in rule.operands]
    quants = []
    for v in values:
        quant = ctx.whole(v)
        if quant is None and len(values) > 1:
            known = ctx.known(v)
            if known is not None:
                sums = rule.form == ops.qadd.name
                quant = _on_grid(known, target.quant.scale) if sums else _own_grid(known)
        if quant is None:
            return None
        quants.append(quant)
    if len(values) > 1 and all(ctx.known(v) is not None for v in values):
        return None
    return quants


def _operands(
    ctx: Integers, node: Node, form: Form, quants: dict[int, Quant], before: Node
) -> list[Value | None] | None:
    made: list[Value | None] = []
    for operand in form.operands:
        if isinstance(operand, Plain):
            made.append(ctx.r.const(operand.array, f"{node.name}.{operand.name}"))
        elif isinstance(operand, Real):
            grid = _own_grid(operand.numbers)
            if grid is None:
                return None
            made.append(ctx.constant(Target(grid).of(operand.numbers), grid, node))
        elif operand is None:
            made.append(None)
        else:
            made.append(_operand(ctx, node, operand, quants[operand], before))
    return made


def _operand(ctx: Integers, node: Node, index: int, quant: Quant, before: Node) -> Value:
    v = node.inputs[index]
    assert v is not None
    known = ctx.known(v)
    if known is None or ctx.whole(v) is not None:
        return ctx.source(v, before)
    return ctx.constant(Target(quant).of(known), quant, node)


def _own_grid(numbers: Array) -> Quant | None:
    """The finest parameters that represent a constant; equal values are represented exactly."""
    wide = numbers.astype(np.float64)
    if not wide.size or not np.isfinite(wide).all():
        return None
    lo, hi = float(wide.min()), float(wide.max())
    if lo == hi:
        scale, zero = abs(lo) / 127, 0
    else:
        lo, hi = min(lo, 0.0), max(hi, 0.0)
        scale = (hi - lo) / 255
        zero = round(-128 - lo / max(scale, _SMALLEST))
    if not _SMALLEST <= scale <= _LARGEST:
        return Quant.per_tensor(1.0) if lo == hi == 0.0 else None
    return Quant.per_tensor(scale, min(max(zero, -128), 127))


def _on_grid(numbers: Array, step: float) -> Quant | None:
    """The same for a term of a sum in steps of `step`; None if its own parameters are too coarse."""
    grid = _own_grid(numbers)
    if grid is None:
        return None
    with np.errstate(over="ignore"):
        back = (Target(grid).of(numbers).astype(np.float64) - grid.zero_point) * grid.scale
    off = float(np.abs(back - numbers).max(initial=0.0))
    return grid if off <= 0.5 * step else None
