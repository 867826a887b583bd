# SPDX-License-Identifier: Apache-2.0
"""Schemes without integer activations: a node gets narrower constants, or another operator that takes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir import Node, Value, infer_node
from samara.exporter.ops import OpSpec, get_op
from samara.exporter.quantize import _weights, bias
from samara.exporter.quantize._layers import TensorStats, WeightRecord
from samara.exporter.quantize._shapes import channel_axis
from samara.exporter.quantize.recipe import LayerRecipe
from samara.exporter.quantize.scheme import (
    FOUR_BITS,
    FP16,
    INT4_DYNAMIC,
    INT4_WEIGHTS,
    INT8,
    INT8_DYNAMIC,
    INT8_WEIGHTS,
    is_product,
    is_recurrent,
)
from samara.exporter.types import DType, SamaraError, TensorType

Unique = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The nodes that replace one, the scheme that was carried out, and why it differs from the one asked
    for.
    """

    nodes: tuple[Node, ...]
    scheme: str
    weights: tuple[WeightRecord, ...]
    reason: str = ""


def rewritten(
    node: Node,
    layer: LayerRecipe,
    unique: Unique,
    seen: TensorStats | None,
    tables: Collection[Value | None] = (),
) -> Narrowed | None:
    """The node under its layer's scheme; None if the scheme does not apply to it.

    seen: statistics of the node's first input, for the correction of its bias. tables: the constants that embeddings
    read; in int8-dynamic a product by one of them takes its form, so that the file has it once.
    """
    if is_product(node.op):
        return _product(node, layer, unique, seen, node.inputs[1] in tables)
    if is_recurrent(node.op):
        return _recurrent(node, layer, unique)
    if node.op is ops.gather:
        return _embedding(node, layer, unique)
    return None


def _product(
    node: Node, layer: LayerRecipe, unique: Unique, seen: TensorStats | None, is_table: bool
) -> Narrowed | None:
    x, w = node.inputs[0], node.inputs[1]
    if x is None or w is None or not _is_float_constant(w) or x.type.dtype is not DType.F32:
        return None
    if _is_scale(node):
        return None
    if layer.scheme == FP16:
        return _half(node, (1,), unique)
    reason = ""
    if layer.scheme in FOUR_BITS:
        if _is_plain_matmul(node):
            return _block_product(node, layer, unique, seen, 4)
        reason = "4-bit weights are for matrix products of constant rank-2 weights and embeddings"
    elif is_table and layer.scheme == INT8_DYNAMIC and _reads_rows(node):
        return _block_product(node, layer, unique, seen, 8)
    axis = channel_axis(node) if layer.granularity == "per-channel" else None
    made = _weights.int8_weights(w, unique(f"{w.name}.q8"), axis)
    inputs = [node.inputs[0], made.value, *node.inputs[2:]]
    inputs = _with_bias(node, inputs, made.back, unique, seen)
    if layer.scheme in (INT8_DYNAMIC, INT4_DYNAMIC):
        rule = node.op.integer
        assert rule is not None
        fits = node.op is not ops.matmul or _is_plain_matmul(node)
        if rule.dynamic and fits and not _has_residual(node):
            done = _made(node, get_op(rule.dynamic), inputs)
            if done is not None:
                return Narrowed((done,), INT8_DYNAMIC, (made.record,), reason)
        reason = f"{node.op.name} with these operands has no dynamic form"
    done = _made(node, node.op, inputs)
    return None if done is None else Narrowed((done,), INT8_WEIGHTS, (made.record,), reason)


def _is_scale(node: Node) -> bool:
    """Whether a convolution is one factor per channel, without sums: it has as few bytes as its bias, so
    that rounding saves nothing.
    """
    w = node.inputs[1]
    return node.op is ops.conv and w is not None and all(d == 1 for d in w.type.shape[1:])


def _block_product(
    node: Node, layer: LayerRecipe, unique: Unique, seen: TensorStats | None, bits: int
) -> Narrowed | None:
    w = node.inputs[1]
    assert w is not None
    assert w.constant is not None
    turned = bool(node.attrs["transpose_w"])
    rows = w.constant if turned else w.constant.T
    made = _weights.block_weights(
        w, rows, unique(f"{w.name}.q{bits}"), _block(layer), bits, bool(layer.zero_points)
    )
    old = node.inputs[2] if len(node.inputs) > 2 else None
    back = made.back if turned else made.back.T
    inputs = _with_bias(node, [node.inputs[0], w, old], back, unique, seen)
    done = _made(
        node,
        ops.matmul_blocks,
        [inputs[0], made.values, made.scales, made.zero_points, *inputs[2:]],
        block=_block(layer),
        activations="int8" if layer.scheme in (INT4_DYNAMIC, INT8_DYNAMIC) else "float32",
    )
    return None if done is None else Narrowed((done,), layer.scheme or "", (made.record,))


def _recurrent(node: Node, layer: LayerRecipe, unique: Unique) -> Narrowed | None:
    """int8 input and recurrent weights with a scale per gate unit, for every int8 scheme. The rows of the input and
    the state are rounded too, except for weights alone.
    """
    if layer.scheme == FP16:
        return _half(node, (1, 2), unique)
    inputs = list(node.inputs)
    records = []
    for i in (1, 2):
        w = inputs[i]
        if w is None or not _is_float_constant(w):
            return None
        axis = 1 if layer.granularity == "per-channel" else None
        made = _weights.int8_weights(w, unique(f"{w.name}.q8"), axis)
        inputs[i] = made.value
        records.append(made.record)
    alone = layer.scheme in (INT8_WEIGHTS, INT4_WEIGHTS)
    done = _made(node, node.op, inputs, dynamic=not alone)
    if done is None:
        return None
    scheme = INT8_WEIGHTS if alone else INT8_DYNAMIC
    reason = ""
    if layer.scheme == INT8:
        reason = "its state stays float: weights in int8, inputs rounded while running"
    elif layer.scheme in FOUR_BITS:
        reason = "recurrent weights have no 4-bit form"
    return Narrowed((done,), scheme, tuple(records), reason)


def _embedding(node: Node, layer: LayerRecipe, unique: Unique) -> Narrowed | None:
    """Rows of a constant table, dequantized when they are read."""
    table, indices = node.inputs[0], node.inputs[1]
    if table is None or indices is None or not _is_float_constant(table):
        return None
    if table.type.rank != 2 or node.attrs["axis"] not in (0, -2):
        return None
    if layer.scheme == FP16:
        return _half_embedding(node, unique)
    bits = 4 if layer.scheme in FOUR_BITS else 8
    assert table.constant is not None
    made = _weights.block_weights(
        table,
        table.constant,
        unique(f"{table.name}.q{bits}"),
        _block(layer),
        bits,
        bool(layer.zero_points),
    )
    ready = [made.values, made.scales, indices, made.zero_points]
    done = _made(node, ops.gather_blocks, ready, block=_block(layer), wrap=node.attrs["wrap"])
    scheme = INT4_WEIGHTS if bits == 4 else INT8_WEIGHTS
    alone = layer.scheme in (scheme, INT4_DYNAMIC)
    reason = "" if alone else "an embedding has no arithmetic to speed up"
    return None if done is None else Narrowed((done,), scheme, (made.record,), reason)


def _half(node: Node, at: Sequence[int], unique: Unique) -> Narrowed | None:
    inputs = list(node.inputs)
    records = []
    for i in at:
        w = inputs[i]
        if w is None or not _is_float_constant(w):
            return None
        made = _weights.half_weights(w, unique(f"{w.name}.f16"))
        if made is None:
            return None
        inputs[i] = made.value
        records.append(made.record)
    done = _made(node, node.op, inputs)
    return None if done is None else Narrowed((done,), FP16, tuple(records))


def _half_embedding(node: Node, unique: Unique) -> Narrowed | None:
    table, out = node.inputs[0], node.outputs[0]
    assert table is not None
    made = _weights.half_weights(table, unique(f"{table.name}.f16"))
    if made is None:
        return None
    narrow = Value(unique(f"{out.name}.f16"), TensorType(DType.F16, out.type.shape))
    fetched = replace(node, inputs=(made.value, *node.inputs[1:]), outputs=(narrow,))
    to = ops.cast.complete({"to": DType.F32})
    wide = Node(ops.cast, (narrow,), (out,), to, unique(f"{out.name}.cast"))
    return Narrowed((fetched, wide), FP16, (made.record,))


def _with_bias(
    node: Node,
    inputs: list[Value | None],
    back: Any,
    unique: Unique,
    seen: TensorStats | None,
) -> list[Value | None]:
    """The inputs with a bias that compensates weights that dequantize to `back`."""
    fixed = bias.corrected(node, back, seen)
    if fixed is None:
        return inputs
    return [*inputs[:2], fixed.renamed(unique(fixed.name)), *inputs[3:]]


def _made(node: Node, spec: OpSpec, inputs: Sequence[Value | None], **more: Any) -> Node | None:
    """`node` with another operator and inputs, and those attributes that this operator has. None if the
    operator refuses them.
    """
    args = list(inputs)
    while args and args[-1] is None:
        args.pop()
    known = {a.name for a in spec.attrs}
    attrs = spec.complete({**{k: v for k, v in node.attrs.items() if k in known}, **more})
    try:
        infer_node(
            spec,
            args,
            attrs,
            node=node.name,
            first_output=node.outputs[0].name,
            output_count=len(node.outputs),
        )
    except SamaraError:
        return None
    return replace(node, op=spec, inputs=tuple(args), attrs=attrs)


def _block(layer: LayerRecipe) -> int:
    assert layer.block is not None
    return layer.block


def _is_float_constant(v: Value) -> bool:
    return v.constant is not None and v.constant.dtype == np.float32 and v.constant.size > 0


def _has_residual(node: Node) -> bool:
    return len(node.inputs) > 3 and node.inputs[3] is not None


def _reads_rows(node: Node) -> bool:
    return _is_plain_matmul(node) and bool(node.attrs["transpose_w"])


def _is_plain_matmul(node: Node) -> bool:
    w = node.inputs[1]
    return (
        node.op is ops.matmul
        and w is not None
        and w.type.rank == 2
        and not node.attrs["transpose_x"]
        and not _has_residual(node)
    )
