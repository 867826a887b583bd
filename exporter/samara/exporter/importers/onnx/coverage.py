# SPDX-License-Identifier: Apache-2.0
"""Which ONNX operators can be imported, how, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import onnx

from samara.exporter.importers.onnx import handlers as _handlers  # noqa: F401  (registers the converters)
from samara.exporter.importers.onnx.functions import has_body
from samara.exporter.importers.onnx.registry import find_handler, supported_operators
from samara.exporter.importers.onnx.scope_limits import find_limit

__all__ = ["Coverage", "coverage", "coverage_of"]

Status = Literal["rule", "definition", "out of scope", "missing"]

# Converted together with graphs, not by separate functions.
_CONTROL = ("If", "Loop")


@dataclass(frozen=True, slots=True)
class Coverage:
    """How an ONNX operator is imported: by a rule, or by ONNX's definition of it in terms of others; else
    `note` says why not.

    `since` is the newest version of the operator that the installed onnx knows; 0 if it has no schema
    (contributed operators, and those that ONNX has removed).
    """

    domain: str
    operator: str
    since: int
    status: Status
    note: str = ""

    @property
    def name(self) -> str:
        """The operator's name, with its domain unless that is the default one."""
        return f"{self.domain}.{self.operator}" if self.domain else self.operator


def coverage_of(domain: str, operator: str, version: int) -> Coverage:
    """How one operator is imported; `version` is the opset of its domain."""
    domain = "" if domain == "ai.onnx" else domain
    if find_handler(domain, operator) is not None or (not domain and operator in _CONTROL):
        return Coverage(domain, operator, version, "rule")
    limit = find_limit(domain, operator)
    if limit is not None:
        return Coverage(domain, operator, version, "out of scope", limit.reason)
    if has_body(onnx.NodeProto(op_type=operator, domain=domain), version):
        return Coverage(domain, operator, version, "definition")
    return Coverage(domain, operator, version, "missing", "no import rule yet")


def coverage() -> Iterator[Coverage]:
    """Every operator that the installed onnx defines and every one that has a rule, sorted."""
    newest = {(s.domain, s.name): s.since_version for s in onnx.defs.get_all_schemas()}
    for domain, operator in sorted({*newest, *supported_operators()}):
        yield coverage_of(domain, operator, newest.get((domain, operator), 0))
