# SPDX-License-Identifier: Apache-2.0
"""Which function converts which ONNX operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samara.exporter.importers.onnx.context import NodeContext

Handler = Callable[["NodeContext"], Any]

_HANDLERS: dict[tuple[str, str], Handler] = {}


def onnx_op(*op_types: str, domain: str = "") -> Callable[[Handler], Handler]:
    """Register a function as the converter of the named operators of `domain`.

    It takes a NodeContext and returns the node's results: one operand or a sequence of them. With
    NotImplemented the function body of the operator's schema is used instead.
    """

    def register(handler: Handler) -> Handler:
        for op_type in op_types:
            _HANDLERS[domain, op_type] = handler
        return handler

    return register


def find_handler(domain: str, op_type: str) -> Handler | None:
    """The converter of an operator, or None. The default domain has two names."""
    return _HANDLERS.get(("" if domain == "ai.onnx" else domain, op_type))


def supported_operators() -> tuple[tuple[str, str], ...]:
    """(domain, operator) pairs that have a converter, sorted."""
    return tuple(sorted(_HANDLERS))
