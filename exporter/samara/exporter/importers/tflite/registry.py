# SPDX-License-Identifier: Apache-2.0
"""Which function converts which operator of TFLite, up to which of its versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samara.exporter.importers.tflite.context import OperatorContext

Handler = Callable[["OperatorContext"], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """The converter of an operator, and the newest version of the operator that it knows."""

    convert: Handler
    newest: int


_RULES: dict[str, Rule] = {}
_CUSTOM: dict[str, Rule] = {}
_EXACT: dict[str, Handler] = {}


def tflite_op(*names: str, newest: int = 1, custom: bool = False) -> Callable[[Handler], Handler]:
    """Register a function as the converter of the named operators, builtin or custom.

    It takes an OperatorContext and returns the operator's results: one operand or a sequence of them.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            (_CUSTOM if custom else _RULES)[name] = Rule(handler, newest)
        return handler

    return register


def exact_op(*names: str) -> Callable[[Handler], Handler]:
    """Register a function that converts the named builtin operators in TFLite's own integers.

    It returns the results as they are stored, or NotImplemented to leave an operator to its other converter.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            _EXACT[name] = handler
        return handler

    return register


def find_exact(name: str) -> Handler | None:
    """The converter of a builtin operator in TFLite's own integers, or None."""
    return _EXACT.get(name)


def find_rule(name: str, custom: bool = False) -> Rule | None:
    """The rule of an operator, or None."""
    return (_CUSTOM if custom else _RULES).get(name)


def supported_operators() -> tuple[str, ...]:
    """Names of the builtin operators that have a rule, sorted."""
    return tuple(sorted(_RULES))


def supported_custom_operators() -> tuple[str, ...]:
    """Names of the custom operators that have a rule, sorted."""
    return tuple(sorted(_CUSTOM))
