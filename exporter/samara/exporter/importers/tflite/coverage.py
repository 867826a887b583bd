# SPDX-License-Identifier: Apache-2.0
"""Which TFLite operators can be imported, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from samara.exporter.importers.tflite import exact as _exact  # noqa: F401  (registers exact converters)
from samara.exporter.importers.tflite import handlers as _handlers  # noqa: F401  (registers the converters)
from samara.exporter.importers.tflite.limits import out_of_scope
from samara.exporter.importers.tflite.registry import find_rule, supported_custom_operators
from samara.exporter.importers.tflite.schema import model_format

__all__ = ["Coverage", "coverage", "coverage_of"]

Status = Literal["rule", "out of scope", "missing"]

# Members of the schema's enum that are no operators.
_NO_OPERATORS: Final = frozenset({"CUSTOM", "PLACEHOLDER_FOR_GREATER_OP_CODES"})


@dataclass(frozen=True, slots=True)
class Coverage:
    """How a TFLite operator is imported: by a rule, up to the version `newest`; else `note` says why not."""

    operator: str
    status: Status
    newest: int = 0
    note: str = ""
    is_custom: bool = False


def coverage_of(operator: str, is_custom: bool = False) -> Coverage:
    """How one operator is imported, a builtin or a custom one."""
    rule = find_rule(operator, is_custom)
    if rule is not None:
        return Coverage(operator, "rule", rule.newest, "", is_custom)
    limit = None if is_custom else out_of_scope(operator)
    if limit is not None:
        return Coverage(operator, "out of scope", note=limit.reason)
    return Coverage(operator, "missing", note="no import rule", is_custom=is_custom)


def coverage() -> Iterator[Coverage]:
    """Every builtin operator of the schema, sorted, then the custom ones that have a rule."""
    for name in sorted({*model_format().enums["BuiltinOperator"].values()} - _NO_OPERATORS):
        yield coverage_of(name)
    for name in supported_custom_operators():
        yield coverage_of(name, is_custom=True)
