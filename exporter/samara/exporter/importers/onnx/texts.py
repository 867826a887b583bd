# SPDX-License-Identifier: Apache-2.0
"""Names of an ONNX model that are no text: protobuf gives bytes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import Message  # type: ignore[import-untyped]

from samara.exporter.types import ModelFormatError

# Types of attributes that are numbers.
_NUMBERS = frozenset(
    {
        onnx.AttributeProto.INT,
        onnx.AttributeProto.INTS,
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.FLOATS,
    }
)


def check_texts(model: onnx.ModelProto) -> None:
    """Raise ModelFormatError if a name or another text in the model is not UTF-8."""
    _check(model, "model")


def _check(message: Message, where: str) -> None:
    for field, value in _fields(message):
        if isinstance(value, (str, int, float)):
            continue
        single = isinstance(value, (bytes, Message))
        for i, each in enumerate((value,) if single else value):
            if isinstance(each, (int, float)):
                break  # and so are all others
            if isinstance(each, Message):
                quick = _QUICK.get(type(each))
                if quick is not None and quick(each):
                    continue
                _check(each, f"{where}.{field.name}" if single else f"{where}.{field.name}[{i}]")
            elif isinstance(each, bytes) and field.type == FieldDescriptor.TYPE_STRING:
                raise ModelFormatError(
                    f"{where}.{field.name} is no UTF-8 text: {each[:40]!r}",
                    fix="restore the file from a copy, or export the model again",
                )


def _is_ascii(message: Message) -> bool:
    """Whether all its bytes are ASCII, and so all its texts. The byte of a length over 127 is not."""
    return bool(message.SerializeToString().isascii())


def _is_shape_of_texts(message: Message) -> bool:
    return all(isinstance(d.dim_param, str) and isinstance(d.denotation, str) for d in message.dim)


def _is_tensor_of_text_name(message: Message) -> bool:
    return isinstance(message.name, str) and not message.external_data


def _is_number_of_text_name(message: Message) -> bool:
    return (
        message.type in _NUMBERS
        and isinstance(message.name, str)
        and isinstance(message.ref_attr_name, str)
        and isinstance(message.doc_string, str)
    )


# Quick checks by type: True if all texts of the message are UTF-8, False if that takes a closer look.
_QUICK: dict[type[Message], Callable[[Any], bool]] = {
    onnx.ValueInfoProto: _is_ascii,
    onnx.TensorShapeProto: _is_shape_of_texts,
    onnx.TensorProto: _is_tensor_of_text_name,
    onnx.AttributeProto: _is_number_of_text_name,
}


def _fields(message: Message) -> list[tuple[FieldDescriptor, Any]]:
    """The fields that are set. Those of a tensor's data would be copied, so a tensor gives its texts alone."""
    if isinstance(message, onnx.TensorProto):
        texts = ("name", "external_data")
        names = message.DESCRIPTOR.fields_by_name
        return [(names[t], getattr(message, t)) for t in texts]
    fields: list[tuple[FieldDescriptor, Any]] = message.ListFields()
    return fields
