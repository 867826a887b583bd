# SPDX-License-Identifier: Apache-2.0
"""ONNX nodes whose operator the user has registered: they become nodes of the row `custom`."""

from __future__ import annotations

from typing import Any

import onnx

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.ops import CustomOp, find_custom_op

_PLAIN = frozenset(
    (
        onnx.AttributeProto.INT,
        onnx.AttributeProto.INTS,
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.FLOATS,
        onnx.AttributeProto.STRING,
    )
)


def custom_name(domain: str, op_type: str) -> str:
    """The name under which an ONNX operator is registered: domain::name."""
    return f"{domain or 'ai.onnx'}::{op_type}"


def custom_of(node: onnx.NodeProto) -> CustomOp | None:
    """The registered operator that a node applies, or None. It takes precedence over the importer's rules."""
    return find_custom_op(custom_name(node.domain, node.op_type))


def convert_custom(ctx: NodeContext, op: CustomOp) -> Any:
    """The node's results. ShapeError for outputs that the operator's `infer` does not give."""
    inputs = [ctx.optional(i) for i in range(ctx.input_count)]
    attributes = {}
    for a in ctx.node.attribute:
        if a.type not in _PLAIN:
            kind = onnx.AttributeProto.AttributeType.Name(a.type).lower()
            raise ctx.unsupported(
                f"attribute {a.name!r} of {op.name} is a {kind}",
                "attributes of custom operators are ints, floats, lists of these, and texts",
            )
        attributes[a.name] = ctx.attr(a.name)
    types = [None if v is None else v.type for v in inputs]
    stated = op.node_attrs(types, attributes)
    wanted = len(ctx.node.output)
    if wanted > len(stated["dtypes"]):
        raise ctx.wrong(
            f"it has {wanted} outputs, infer of {op.name} gives {len(stated['dtypes'])}"
        )
    names = [n or f"{ctx.label}.{i}" for i, n in enumerate(ctx.node.output)]
    # Not through `emit`, which would insert casts: the operator itself declares its dtypes.
    return ctx.builder.op(
        "custom",
        *inputs,
        outputs=names,
        source=ctx.source,
        attributes=stated,
    )
