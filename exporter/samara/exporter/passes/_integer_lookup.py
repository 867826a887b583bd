# SPDX-License-Identifier: Apache-2.0
"""Functions of one dequantized value as a table of their 256 results."""

from __future__ import annotations

from typing import Final

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.evaluate import concrete_attrs, evaluate_node
from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ops.pointwise.rows_int8 import lookup_table
from samara.exporter.passes._integer import Integers, Row, Target
from samara.exporter.types import DType

__all__ = ["lookup", "table_row"]

_KINDS: Final = (DType.F32, DType.BOOL)
_MOST_NODES: Final = 64


def lookup(ctx: Integers, value: Value, target: Target, before: Node) -> Row | None:
    """The cluster of pointwise operators that computes `value` from one dequantized tensor and scalars."""
    cluster = _Cluster(ctx)
    if not cluster.add(value) or cluster.leaf is None or not cluster.nodes:
        return None
    leaf, last = cluster.leaf, ctx.r.producer(value)
    quant = ctx.whole(leaf)
    if last is None or quant is None or leaf.type.shape != value.type.shape:
        return None

    def f(x: Array) -> Array:
        known: dict[Value, Array] = {leaf: x, **cluster.scalars}
        for node in cluster.nodes:
            known[node.outputs[0]] = _evaluated(node, known)
        return known[value]

    q = lookup_table(f, quant, target.quant.scale, target.quant.zero_point)
    return table_row(ctx, last, ctx.source(leaf, before), q, target)


def table_row(ctx: Integers, node: Node, x: Value, table: Array, target: Target) -> Row:
    """The row of a table, with the clamp applied to it."""
    data = np.clip(table, target.lo, target.hi).astype(np.int8)
    form = {"scale": target.quant.scale, "zero_point": target.quant.zero_point}
    return Row.of(node, ops.qlookup, x, ctx.r.const(data, f"{node.name}.table"), **form)


def _evaluated(node: Node, known: dict[Value, Array]) -> Array:
    arrays = [None if v is None else known[v] for v in node.inputs]
    return evaluate_node(node, arrays, concrete_attrs(node.op, node.attrs, lambda d: d.as_int()))[0]


class _Cluster:
    """The operators between one tensor and a result."""

    def __init__(self, ctx: Integers) -> None:
        self.ctx = ctx
        self.leaf: Value | None = None
        self.nodes: list[Node] = []  # operands first
        self.scalars: dict[Value, Array] = {}
        self._seen: set[Value] = set()
        self._met = 0

    def add(self, value: Value) -> bool:
        """Add the nodes that make `value`; False if it is not a function of one element."""
        if value in self._seen:
            return True
        number = self.ctx.known(value)
        if number is not None and number.size == 1:
            self.scalars[value] = number.reshape(())
            return True
        if self.ctx.whole(value) is not None:
            return self._is_leaf(value)
        node = self.ctx.r.producer(value)
        if node is None or not node.op.is_tabular or self._met >= _MOST_NODES:
            return False
        self._met += 1
        if value.type.dtype not in _KINDS or not all(v is None or self.add(v) for v in node.inputs):
            return False
        self._seen.add(value)
        self.nodes.append(node)
        return True

    def _is_leaf(self, value: Value) -> bool:
        if self.leaf is None:
            self.leaf = value
        return self.leaf is value
