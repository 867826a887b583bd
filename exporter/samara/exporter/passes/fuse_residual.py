# SPDX-License-Identifier: Apache-2.0
"""Residual fusion: adding a tensor of the same shape to the result of conv, conv_transpose or
matmul becomes its epilogue.
"""

from __future__ import annotations

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import Epilogue
from samara.exporter.passes._pass import Pass, fused_name, is_fusable, per_function


def _rewrite(r: Rewriter) -> None:
    order = {v: i for i, n in enumerate(r.function.nodes) for v in n.outputs}
    for node in r.nodes():
        if node.op is not ops.add:
            continue
        a, b = node.inputs
        # The later product absorbs the sum, because the other operand exists by then.
        pairs = [(a, b), (b, a)]
        pairs.sort(key=lambda pair: -_place(order, pair[0]))
        for data, other in pairs:
            if data is not None and other is not None and _absorb(r, node, data, other):
                break


def _place(order: dict[Value, int], value: Value | None) -> int:
    return -1 if value is None else order.get(value, len(order))


def _absorb(r: Rewriter, node: Node, data: Value, other: Value) -> bool:
    linear = r.producer(data)
    if (
        linear is None
        or Epilogue.RESIDUAL not in linear.op.epilogue
        or r.only_user(data) is not node
    ):
        return False
    a = linear.attrs
    plain = a["post"] == "none" and a["lo"] == float("-inf") and a["hi"] == float("inf")
    has_residual = len(linear.inputs) > 3 and linear.inputs[3] is not None
    if not plain or has_residual or not is_fusable(data):
        return False
    if (
        other.type.shape != data.type.shape
        or other.type.dtype is not data.type.dtype
        or other.is_constant
    ):
        return False
    x, w, *rest = linear.inputs
    bias = rest[0] if rest else None
    r.replace_node(
        node, linear.op, x, w, bias, other,
        source=linear.source, absorbed=(*linear.absorbed, *fused_name(linear)), **a,
    )  # fmt: skip
    return True


PASS = Pass(
    "fuse_residual",
    "add residuals in the epilogue of the product before them",
    per_function(_rewrite, ops.add),
)
