# SPDX-License-Identifier: Apache-2.0
"""Names of an ONNX model that are no text: protobuf gives bytes for them."""

from __future__ import annotations

from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import Message  # type: ignore[import-untyped]

from samara.exporter.types import ModelFormatError


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
                _check(each, f"{where}.{field.name}" if single else f"{where}.{field.name}[{i}]")
            elif isinstance(each, bytes) and field.type == FieldDescriptor.TYPE_STRING:
                raise ModelFormatError(
                    f"{where}.{field.name} is no UTF-8 text: {each[:40]!r}",
                    fix="restore the file from a copy, or export the model again",
                )


def _fields(message: Message) -> list[tuple[FieldDescriptor, Any]]:
    """The fields that are set. Those of a tensor's data would be copied, so a tensor gives its texts alone."""
    if isinstance(message, onnx.TensorProto):
        texts = ("name", "external_data")
        names = message.DESCRIPTOR.fields_by_name
        return [(names[t], getattr(message, t)) for t in texts]
    fields: list[tuple[FieldDescriptor, Any]] = message.ListFields()
    return fields
