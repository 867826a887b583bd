# SPDX-License-Identifier: Apache-2.0
"""Options of custom operators: a FlexBuffer with a map."""

from __future__ import annotations

from typing import Any

from flatbuffers import flexbuffers

from samara.exporter.importers.tflite.context import OperatorContext


def options_of(ctx: OperatorContext) -> dict[str, Any]:
    """The options of a custom operator by name; empty if the file has none. ShapeError for what is no map."""
    data = ctx.operator.custom
    if not data:
        return {}
    try:
        found = flexbuffers.Loads(bytearray(data))
    except Exception as error:  # the reader raises whatever a damaged buffer leads to
        raise ctx.wrong(f"its options cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ctx.wrong("its options are no map")
    return found
