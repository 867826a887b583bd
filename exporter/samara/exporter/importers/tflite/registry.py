# SPDX-License-Identifier: Apache-2.0
"""Which function converts which operator of TFLite, up to which of its versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from samara.exporter.importers.tflite.differences import Difference

if TYPE_CHECKING:
    from samara.exporter.importers.tflite.context import OperatorContext

Handler = Callable[["OperatorContext"], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """The converter of an operator, the newest version of the operator that it knows, and why quantized results may
    differ from LiteRT's. always: an exact form that imports use by default too.
    """

    convert: Handler
    newest: int = 0
    differences: tuple[Difference, ...] = ()
    always: bool = False


_RULES: dict[str, Rule] = {}
_CUSTOM: dict[str, Rule] = {}
_EXACT: dict[str, Rule] = {}


def tflite_op(
    *names: str, newest: int = 1, custom: bool = False, differences: Sequence[Difference] = ()
) -> Callable[[Handler], Handler]:
    """Register a function as the converter of the named operators, builtin or custom.

    It takes an OperatorContext and returns the operator's results: one operand or a sequence of them.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            (_CUSTOM if custom else _RULES)[name] = Rule(handler, newest, tuple(differences))
        return handler

    return register


def exact_op(
    *names: str, always: bool = False, differences: Sequence[Difference] = ()
) -> Callable[[Handler], Handler]:
    """Register a function that converts the named builtin operators in TFLite's own integers.

    It returns the results as they are stored, or NotImplemented to leave an operator to its other converter.
    always: it is used by default too, because it costs little.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            _EXACT[name] = Rule(handler, 0, tuple(differences), always)
        return handler

    return register


def find_exact(name: str, exact: bool = True) -> Handler | None:
    """The converter of a builtin operator in TFLite's own integers, for exact imports or default ones; or None."""
    rule = _EXACT.get(name)
    return None if rule is None or not (exact or rule.always) else rule.convert


def differences_of(name: str, exact: bool = False) -> tuple[Difference, ...]:
    """Why quantized results of a builtin operator may differ from LiteRT's, by default or of an exact import."""
    rule = (_EXACT if exact else _RULES).get(name)
    return () if rule is None else rule.differences


def find_rule(name: str, custom: bool = False) -> Rule | None:
    """The rule of an operator, or None."""
    return (_CUSTOM if custom else _RULES).get(name)


def supported_operators() -> tuple[str, ...]:
    """Names of the builtin operators that have a rule, sorted."""
    return tuple(sorted(_RULES))


def supported_custom_operators() -> tuple[str, ...]:
    """Names of the custom operators that have a rule, sorted."""
    return tuple(sorted(_CUSTOM))
