# SPDX-License-Identifier: Apache-2.0
"""Check nodes against ONNX's schemas: number of inputs, types of attributes.

Converters rely on it: attributes have their declared types.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import onnx
from onnx import AttributeProto, NodeProto

from samara.exporter.types import ModelFormatError

_FIX = "check the model with onnx.checker.check_model(model)"

# Operator -> the opset whose attributes it may have in every opset. Quantizers write `axis` for weights per
# channel in any opset, and its meaning is unambiguous.
_AHEAD: Final = {"QuantizeLinear": 13, "DequantizeLinear": 13}


@dataclass(frozen=True, slots=True)
class Rules:
    """What a schema requires of a node. `attributes` maps names to types, `required` ones must be given."""

    least_inputs: int
    most_inputs: int
    most_outputs: int
    attributes: Mapping[str, int]
    required: tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def rules_of(domain: str, op_type: str, version: int) -> Rules | None:
    """The rules of an operator in an opset; None if onnx does not know it."""
    try:
        schema = onnx.defs.get_schema(op_type, version, "" if domain == "ai.onnx" else domain)
    except (onnx.defs.SchemaError, TypeError):  # TypeError: the version exceeds int32
        return None
    attributes = {name: _code(a) for name, a in schema.attributes.items()}
    required = [name for name, a in schema.attributes.items() if a.required]
    ahead = _AHEAD.get(op_type, version)
    if version < ahead and domain in ("", "ai.onnx"):
        later = rules_of(domain, op_type, ahead)
        if later:
            required = [n for n in required if n not in later.attributes] + [*later.required]
            attributes |= later.attributes
    return Rules(schema.min_input, schema.max_input, schema.max_output, attributes, tuple(required))


def _code(attribute: Any) -> int:
    """The attribute type as AttributeProto numbers it; the type stubs of onnx lack it."""
    return int(attribute.type.value)


def check_node(node: NodeProto, version: int) -> None:
    """ModelFormatError if a node violates its schema, for example by an attribute of another version."""
    rules = rules_of(node.domain, node.op_type, version)
    if rules is None:
        return
    name = node.name or (node.output[0] if node.output else "")

    def broken(message: str) -> ModelFormatError:
        return ModelFormatError(message, op=node.op_type, node=name, fix=_FIX)

    count = len(node.input)
    if not rules.least_inputs <= count <= rules.most_inputs:
        least, most = rules.least_inputs, rules.most_inputs
        wanted = str(least) if least == most else f"{least} to {most}"
        raise broken(f"{count} inputs, opset {version} has {wanted}")
    if len(node.output) > rules.most_outputs:
        raise broken(f"{len(node.output)} outputs, opset {version} has {rules.most_outputs}")
    given = {a.name: a.type for a in node.attribute}
    for attribute, found in given.items():
        if attribute not in rules.attributes:
            raise broken(f"attribute {attribute!r} is not known in opset {version}")
        kind = rules.attributes[attribute]
        if found != kind:
            names = AttributeProto.AttributeType
            raise broken(f"attribute {attribute!r} is {names.Name(found)}, not {names.Name(kind)}")
    for wanted in rules.required:
        if wanted not in given:
            raise broken(f"attribute {wanted!r} is missing")
