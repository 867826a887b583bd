# SPDX-License-Identifier: Apache-2.0
"""`ops`: the operators of the IR, and how those of ONNX and TFLite are imported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from samara.exporter.importers.tflite.coverage import coverage as tflite_coverage
from samara.exporter.ops import NO_GRAD, OpSpec, all_ops
from samara.exporter.types import UnsupportedError
from samara.exporter.types.text import plain, table
from samara.pybridge.probe import inspect_library

_STATUSES = {
    "rule": "by a rule",
    "definition": "by ONNX's definition",
    "out of scope": "out of scope",
    "missing": "missing",
}


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """An operator of the IR. `here`: whether this process's native library has it."""

    name: str
    code: int
    since: str
    dtypes: tuple[str, ...]
    gradient: bool
    training: bool
    here: bool
    doc: str


@dataclass(frozen=True, slots=True)
class OnnxRow:
    """An ONNX operator: `status` is "rule", "definition", "out of scope" or "missing"."""

    name: str
    since: int
    status: str
    note: str


@dataclass(frozen=True, slots=True)
class TfliteRow:
    """A TFLite operator: `status` is "rule", "out of scope" or "missing"; `newest` is the newest version that is
    known.
    """

    name: str
    newest: int
    status: str
    note: str


@dataclass(frozen=True, slots=True)
class OperatorsReport:
    """The report of `samara ops`.

    left_out: why `onnx` is empty, if the packages that it needs are not installed.
    """

    operators: tuple[OperatorRow, ...]
    onnx: tuple[OnnxRow, ...]
    tflite: tuple[TfliteRow, ...] = ()
    left_out: str = ""

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return dict(plain(self))

    def text(self) -> str:
        """The tables for a terminal."""
        parts = [_operators_text(self.operators)] if self.operators else []
        parts += [_onnx_text(self.onnx)] if self.onnx else []
        parts += [_tflite_text(self.tflite)] if self.tflite else []
        parts += [self.left_out] if self.left_out else []
        return "\n\n".join(parts) or "no operator matches"


def operators(pattern: str = "") -> OperatorsReport:
    """The operators whose names match the regular expression `pattern`, ignoring case.

    ONNX's are left out if the packages onnx and ml_dtypes are not installed; `left_out` says so.
    """
    wanted = re.compile(pattern, re.IGNORECASE)
    here = inspect_library().operators
    rows = tuple(_operator_row(op, here) for op in all_ops() if wanted.search(op.name))
    tflite = tuple(
        TfliteRow(c.operator, c.newest, c.status, c.note)
        for c in tflite_coverage()
        if wanted.search(c.operator)
    )
    try:
        from samara.exporter.importers.onnx.coverage import coverage
    except UnsupportedError as error:
        return OperatorsReport(rows, (), tflite, f"ONNX's operators are left out: {error}")
    found = tuple(
        OnnxRow(c.name, c.since, c.status, c.note) for c in coverage() if wanted.search(c.name)
    )
    return OperatorsReport(rows, found, tflite)


def _operator_row(op: OpSpec, here: frozenset[str]) -> OperatorRow:
    return OperatorRow(
        name=op.name,
        code=op.code,
        since=op.since,
        dtypes=tuple(op.dtypes),
        gradient=op.grad is not NO_GRAD,
        training="training" in op.flags,
        here=op.name in here,
        doc=op.doc,
    )


def _operators_text(rows: tuple[OperatorRow, ...]) -> str:
    lines = [
        (
            o.name,
            str(o.code),
            o.since,
            "yes" if o.gradient else "-",
            ("training" if o.training else "yes") if o.here else "no",
            " ".join(o.dtypes),
        )
        for o in rows
    ]
    heads = ("operator", "code", "since", "gradient", "here", "dtypes")
    return f"{len(rows)} operators of the IR\n" + table(heads, lines, right={1})


def _counts(rows: Iterable[OnnxRow | TfliteRow]) -> str:
    found = Counter(o.status for o in rows)
    return ", ".join(f"{found[s]} {text}" for s, text in _STATUSES.items() if found[s])


def _tflite_text(rows: tuple[TfliteRow, ...]) -> str:
    lines = [(o.name, str(o.newest or "-"), o.status, o.note) for o in rows]
    heads = ("TFLite operator", "version", "imports by", "why not")
    return f"{len(rows)} TFLite operators: {_counts(rows)}\n" + table(heads, lines, right={1})


def _onnx_text(rows: tuple[OnnxRow, ...]) -> str:
    lines = [(o.name, str(o.since or "-"), o.status, o.note) for o in rows]
    heads = ("ONNX operator", "opset", "imports by", "why not")
    return f"{len(rows)} ONNX operators: {_counts(rows)}\n" + table(heads, lines, right={1})
