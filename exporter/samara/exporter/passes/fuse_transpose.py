# SPDX-License-Identifier: Apache-2.0
"""Transposes of the last two axes before matmul become its transpose_x and transpose_w."""

from __future__ import annotations

from typing import Any

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, per_function


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        if node.op is not ops.matmul:
            continue
        inputs: list[Value | None] = list(node.inputs)
        attrs: dict[str, Any] = dict(node.attrs)
        for i, flag in ((0, "transpose_x"), (1, "transpose_w")):
            before = r.producer(inputs[i])
            if before is not None and _swaps_last_two(before):
                inputs[i] = before.inputs[0]
                attrs[flag] = not attrs[flag]
        if attrs != node.attrs:
            r.replace_node(node, ops.matmul, *inputs, **attrs)


def _swaps_last_two(node: Node) -> bool:
    if node.op is not ops.transpose:
        return False
    rank = len(node.attrs["perm"])
    return bool(node.attrs["perm"] == (*range(rank - 2), rank - 1, rank - 2))


PASS = Pass(
    "fuse_transpose",
    "let matmul read transposed operands where they lie",
    per_function(_rewrite, ops.transpose),
)
