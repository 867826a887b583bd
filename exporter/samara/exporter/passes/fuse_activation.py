# SPDX-License-Identifier: Apache-2.0
"""Activation fusion: elementwise operators after a float product become its epilogue."""

from __future__ import annotations

from typing import Any

from samara.exporter.ir.program import Node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import Epilogue
from samara.exporter.passes._pass import Pass, fused_name, is_fusable, per_function


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        linear = r.producer(node.inputs[0]) if node.inputs else None
        if (
            linear is None
            or Epilogue.ACTIVATION not in linear.op.epilogue
            or r.only_user(linear.outputs[0]) is not node
        ):
            continue
        if linear.attrs["post"] != "none" or not is_fusable(linear.outputs[0]):
            continue
        change = _epilogue(node, linear)
        if change is not None:
            r.replace_node(
                node,
                linear.op,
                *linear.inputs,
                source=linear.source,
                absorbed=(*linear.absorbed, *fused_name(linear)),
                **{**linear.attrs, **change},
            )


def _epilogue(node: Node, linear: Node) -> dict[str, Any] | None:
    """Attributes with which `linear` also computes `node`, or None."""
    if node.op.clamps is None:
        return node.op.as_post(node.attrs)
    lo, hi = linear.attrs["lo"], linear.attrs["hi"]
    low, high = node.op.clamps(node.attrs)
    return {"lo": min(max(lo, low), high), "hi": min(max(hi, low), high)}


PASS = Pass(
    "fuse_activation",
    "make activations the epilogue of the product before them",
    per_function(_rewrite),
)
