# SPDX-License-Identifier: Apache-2.0
"""Quantized fusion: float operators between dequantize and quantize become integer operators.

    quantize(conv(dequantize(x), dequantize(w), bias))    becomes    qconv(x, w, bias)

Operators without an integer form stay float between their dequantize and quantize. The walk goes by
`quantize` nodes: each asks for its operand in its own parameters, and operators that only move or clamp
elements pass the question on to their inputs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.fold import fold_node
from samara.exporter.ir.program import QUANTIZATION, Array, Node, Program, Value
from samara.exporter.ir.rewriter import Rewriter, Rewriters
from samara.exporter.ops.pointwise.rows_int8 import lookup_table
from samara.exporter.passes._integer import DEEPEST, Integers, Row, Target, data_inputs, parameters
from samara.exporter.passes._integer_lookup import lookup, table_row
from samara.exporter.passes._integer_products import is_product, product, real_product
from samara.exporter.passes._integer_rows import integer_row
from samara.exporter.passes._pass import Pass, Shared, per_function
from samara.exporter.types import DType, Quant, SamaraError

__all__ = ["PASS"]


def _rewrite(r: Rewriter, imported: bool) -> None:
    ctx = Integers(r, imported)
    ctx.look()
    for node in r.nodes():
        if node.op is ops.quantize:
            _fuse(ctx, node)
        elif node.op is ops.reinterpret and node.attrs["to"] is DType.QS8:
            _join(ctx, node)
    needed = _needed(r)
    for node in r.nodes():
        if is_product(node) and node in needed:
            _sums_only(ctx, node)
    for node in r.nodes():
        _fold_rest(r, node)


def _needed(r: Rewriter) -> set[Node]:
    """The nodes on which outputs or dims depend; the others are those that integer rows replaced."""
    stack = [n for n in r.nodes() if any(r.is_output(v) or r.is_read(v) for v in n.outputs)]
    found: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += (m for v in node.inputs if (m := r.producer(v)) is not None)
    return found


def _fuse(ctx: Integers, node: Node) -> None:
    """Make the result of a `quantize` with integer rows, if possible."""
    x, quant = node.inputs[0], node.outputs[0].type.quant
    if x is None or quant is None or not quant.is_per_tensor or x.type.dtype is not DType.F32:
        return
    try:
        made = _made(ctx, x, Target(quant), node, alone=True)
    except SamaraError:  # an operator's rule refuses, so it stays float
        return
    if isinstance(made, Row):
        gone = (x.name,) if ctx.r.only_user(x) is not None else ()
        ctx.replace(node, replace(made, absorbed=(*made.absorbed, *gone)))
    elif made is None:
        _turn_bytes(ctx, node, x, Target(quant))
    elif not _keeps_tensor(ctx.r, node, made):
        ctx.r.replace_value(node.outputs[0], made)
        ctx.r.remove(node)


def _turn_bytes(ctx: Integers, node: Node, x: Value, target: Target) -> None:
    """Move a transpose before `quantize` behind it, where it moves a quarter of the bytes."""
    turn = ctx.r.producer(x)
    if turn is None or turn.op is not ops.transpose or ctx.r.only_user(x) is not node:
        return
    first = ctx.place(Row.of(node, ops.quantize, turn.inputs[0], **parameters(target.quant)), node)
    ctx.replace(node, ctx.moved(turn, [first], target, node))


def _join(ctx: Integers, node: Node) -> None:
    """Bytes of a quantized tensor that were moved and become a quantized tensor again: move the tensor."""
    x, result = node.inputs[0], node.outputs[0]
    if x is None or ctx.quant_of_bytes(x) != result.type.quant:
        return
    made = ctx.source(x, node)
    if not _keeps_tensor(ctx.r, node, made):
        ctx.r.replace_value(result, made)
        ctx.r.remove(node)


def _keeps_tensor(r: Rewriter, node: Node, value: Value) -> bool:
    """Whether a result is an output of the function that cannot be replaced by another tensor of it."""
    return r.is_output(node.outputs[0]) and (r.producer(value) is None or r.is_output(value))


def _made(
    ctx: Integers, value: Value, target: Target, before: Node, alone: bool, depth: int = 0
) -> Row | Value | None:
    """`value` in the target form, computed by integer rows; None if that is impossible.

    alone: nothing but `before` needs the user of `value`.
    """
    quant = ctx.whole(value)
    if quant is not None:
        return _changed(ctx, value, quant, target, before)
    node = ctx.r.producer(value)
    if node is None or depth > DEEPEST:
        return None
    found = lookup(ctx, value, target, before)
    if found is not None:
        return found
    alone = alone and ctx.is_consumed(value)
    if alone and (found := product(ctx, value, target, before)) is not None:
        return found
    if alone and node.op.clamps is not None:
        return _clamped(ctx, node, target, before, depth + 1)
    if data_inputs(node) is not None and len(node.outputs) == 1:
        return _moved(ctx, node, target, before, alone, depth + 1)
    return integer_row(ctx, node, target, before) if alone else None


def _changed(
    ctx: Integers, value: Value, quant: Quant, target: Target, before: Node
) -> Row | Value:
    """An int8 tensor converted to other parameters."""
    x = ctx.source(value, before)
    if target.is_whole:
        if quant == target.quant:
            return x
        return Row(ops.requantize, (x,), parameters(target.quant))
    table = lookup_table(lambda v: v, quant, target.quant.scale, target.quant.zero_point)
    return table_row(ctx, before, x, table, target)


def _clamped(
    ctx: Integers, node: Node, target: Target, before: Node, depth: int
) -> Row | Value | None:
    x = node.inputs[0]
    assert x is not None
    assert node.op.clamps is not None
    lo, hi = node.op.clamps(node.attrs)
    if lo > hi:
        return None
    inner = target.clamped(lo, hi)
    low, high = (min(max(q, target.lo), target.hi) for q in (inner.lo, inner.hi))
    made = _made(ctx, x, Target(target.quant, low, high), before, True, depth)
    return replace(made, absorbed=(*made.absorbed, x.name)) if isinstance(made, Row) else made


def _moved(
    ctx: Integers, node: Node, target: Target, before: Node, alone: bool, depth: int
) -> Row | Value | None:
    """A node that moves elements of tensors that are not all int8 yet, or have other parameters: convert all
    of them to the target form first.
    """
    places = data_inputs(node)
    assert places is not None
    inputs, known = list(node.inputs), 0
    for i in places:
        v = node.inputs[i]
        assert v is not None
        if v.constant is not None:
            inputs[i] = ctx.constant(target.of(v.constant), target.quant, node)
            continue
        part = _made(ctx, v, target, before, alone, depth)
        if part is None:
            if len(places) == 1 or not target.is_whole:
                return None
            part = Row(ops.quantize, (v,), parameters(target.quant))
        else:
            known += 1
        inputs[i] = ctx.place(part, before) if isinstance(part, Row) else part
    return ctx.moved(node, inputs, target, before) if known else None


def _sums_only(ctx: Integers, node: Node) -> None:
    """A product of dequantized tensors whose result is not quantized."""
    r, old = ctx.r, node.outputs[0]
    try:
        if node.attrs["post"] != "none":
            return
        y = real_product(ctx, node)
    except SamaraError:
        return
    if y is not None:
        r.replace_value(old, y)
        r.remove(node)


def _fold_rest(r: Rewriter, node: Node) -> None:
    """Constants that are still dequantized become real ones."""
    if node.op is not ops.dequantize or node.inputs[0] is None or not node.inputs[0].is_constant:
        return
    if not r.users(node.outputs[0]):
        return
    arrays = fold_node(node)
    if arrays is not None:
        r.replace_value(node.outputs[0], r.const(arrays[0], node.outputs[0].name))
        r.remove(node)


def _join_tables(r: Rewriter) -> None:
    """Merge a table with a table behind it; put a table that only clamps into the row before it."""
    for node in r.nodes():
        x = node.inputs[0] if node.op is ops.qlookup else None
        before = r.producer(x)
        table = None if x is None else _table(node)
        if x is None or before is None or table is None or r.only_user(x) is not node:
            continue
        attrs, gone = dict(before.attrs), (*before.absorbed, x.name)
        if (first := _table(before)) is not None:
            joined = r.const(table[first.astype(np.int32) + 128], f"{node.name}.table")
            r.replace_node(node, ops.qlookup, before.inputs[0], joined, absorbed=gone, **node.attrs)
        elif "lo" in attrs and x.type.quant == node.outputs[0].type.quant and _is_clamp(table):
            attrs |= {k: int(table[attrs[k] + 128]) for k in ("lo", "hi")}
            r.replace_node(
                node, before.op, *before.inputs, name=before.name, source=before.source,
                absorbed=gone, **attrs,
            )  # fmt: skip


def _table(node: Node) -> Array | None:
    table = node.inputs[1] if node.op is ops.qlookup else None
    return None if table is None else table.constant


def _is_clamp(table: Array) -> bool:
    steps = np.arange(-128, 128)
    return bool(np.array_equal(table, np.clip(steps, table[0], table[-1])))


_STEPS = (ops.quantize, ops.dequantize, ops.reinterpret)
_fuse_own = per_function(lambda r: _rewrite(r, imported=False), *_STEPS)
_fuse_imported = per_function(lambda r: _rewrite(r, imported=True), *_STEPS)
_clean = per_function(_join_tables, ops.qlookup)


def _run(program: Program, rewriters: Rewriters) -> Program:
    """A program of quantization-aware training already has its integers; its float parts simulated them. An
    imported quantized program must round as the engine it was made for.
    """
    how = program.metadata.get(QUANTIZATION)
    if how != "aware":
        program = (_fuse_imported if how == "imported" else _fuse_own)(program, rewriters)
    return _clean(program, rewriters)


PASS = Pass(
    "fuse_quantized",
    "make float operators between dequantize and quantize integer ones",
    Shared(_run),
    steps=1,
)
