# SPDX-License-Identifier: Apache-2.0
"""Activation fusion: what follows a product of floats elementwise becomes its epilogue."""

from __future__ import annotations

from typing import Any

from samara.exporter.ir.program import Node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, fused_name, is_fusable, per_function

_LINEAR = (
    *("conv", "conv_transpose", "matmul"),
    *("conv_dynamic", "matmul_dynamic", "matmul_blocks"),
)


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        linear = r.producer(node.inputs[0]) if node.inputs else None
        if (
            linear is None
            or linear.op.name not in _LINEAR
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
    """Attributes that make `linear` do what `node` does to its result, or None."""
    lo, hi = linear.attrs["lo"], linear.attrs["hi"]
    if node.op.name == "relu":
        return {"lo": max(lo, 0.0), "hi": max(hi, 0.0)}
    if node.op.name == "clamp":
        low, high = node.attrs["lo"], node.attrs["hi"]
        return {"lo": min(max(lo, low), high), "hi": min(max(hi, low), high)}
    if node.op.name in ("sigmoid", "tanh", "hard_swish", "silu"):
        return {"post": node.op.name}
    if node.op.name == "gelu":
        return {"post": "gelu_tanh" if node.attrs["approximate"] == "tanh" else "gelu"}
    if node.op.name in ("leaky_relu", "elu"):
        return {"post": node.op.name, "post_alpha": node.attrs["alpha"]}
    if node.op.name == "hard_sigmoid":
        return {
            "post": node.op.name,
            "post_alpha": node.attrs["alpha"],
            "post_beta": node.attrs["beta"],
        }
    return None


PASS = Pass(
    "fuse_activation",
    "make activations the epilogue of the product before them",
    per_function(_rewrite),
)
