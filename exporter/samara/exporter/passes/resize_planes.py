# SPDX-License-Identifier: Apache-2.0
"""A nearest resize between two transposes that were not cancelled works plane by plane instead."""

from __future__ import annotations

from samara.exporter import ops
from samara.exporter.ir.program import Node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, per_function
from samara.exporter.types import as_dim


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        if node.op is not ops.resize or node.attrs["mode"] != "nearest":
            continue
        rank = len(node.attrs["sizes"]) + 2
        spatial = range(1, rank - 1)
        before = _transpose(r.producer(node.inputs[0]), (0, *(a + 1 for a in spatial), 1))
        after = _transpose(r.only_user(node.outputs[0]), (0, rank - 1, *spatial))
        if before is None or after is None or r.only_user(before.outputs[0]) is None:
            continue
        x = before.inputs[0]
        assert x is not None
        batch, channels, *sizes = x.type.shape
        # The channels become part of the batch, so that each pixel has one channel.
        planes = r.op(ops.reshape, x, before=node, shape=(batch * channels, *sizes, as_dim(1)))
        resized = r.op(ops.resize, planes, before=node, name=node.outputs[0].name, **node.attrs)
        r.replace_node(after, ops.reshape, resized, shape=after.outputs[0].type.shape)


def _transpose(node: Node | None, perm: tuple[int, ...]) -> Node | None:
    found = node is not None and node.op is ops.transpose and node.attrs["perm"] == perm
    return node if found else None


PASS = Pass(
    "resize_planes",
    "let a nearest resize between two transposes take channels-first planes",
    per_function(_rewrite, ops.resize),
)
