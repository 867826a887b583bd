# SPDX-License-Identifier: Apache-2.0
"""The report of `samara doctor` about an app: rows, libraries, models, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from samara.exporter.types.text import byte_text, plain, table

Level = Literal["ok", "doubtful", "broken"]

_ORDER: Final = ("broken", "doubtful", "ok")


def printable(text: str) -> str:
    """A text without control characters that a terminal would act on."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


@dataclass(frozen=True, slots=True)
class Row:
    """One check.

    level: `broken` fails on a device, `doubtful` works but is worth knowing, `ok` passed. check: its
    subject. where: an entry of the app, or "".
    """

    level: Level
    check: str
    where: str
    said: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """A native library, for one kind of machine.

    abi: Android's name, or system and architecture. samara: the version of its runtime, "" if it has
    none. operators: their number in the runtime.
    """

    name: str
    abi: str
    size_bytes: int
    samara: str = ""
    operators: int = 0


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model. min_runtime: "" if it cannot be opened; runs_on: ABIs whose library has everything that it
    needs."""

    name: str
    size_bytes: int
    min_runtime: str = ""
    operators: tuple[str, ...] = ()
    runs_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AppReport:
    """The report of `samara doctor` about an app. facts: about the app, such as its minimum system."""

    path: str
    kind: str
    size_bytes: int
    facts: Mapping[str, str]
    libraries: tuple[Library, ...]
    models: tuple[ModelEntry, ...]
    rows: tuple[Row, ...] = field(default=())

    @property
    def healthy(self) -> bool:
        """Whether nothing would fail on a device."""
        return all(row.level != "broken" for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return {**plain(self), "healthy": self.healthy}

    def text(self) -> str:
        """The report for a terminal."""
        facts = "".join(f", {name} {printable(value)}" for name, value in self.facts.items())
        lines = [f"{printable(self.path)}: {self.kind}, {byte_text(self.size_bytes)}{facts}"]
        if self.libraries:
            lines += ["", "native libraries", _libraries(self.libraries)]
        if self.models:
            lines += ["", "models", _models(self.models)]
        lines += ["", "checks", _checks(self.rows)]
        fixes = dict.fromkeys(row.fix for row in self.rows if row.fix and row.level != "ok")
        if fixes:
            lines += ["", "to do", *(f"  {printable(fix)}" for fix in fixes)]
        counts = [sum(row.level == level for row in self.rows) for level in _ORDER[:2]]
        lines += [
            "",
            f"would fail on devices: {counts[0] or 'nothing'}; doubtful: {counts[1] or 'nothing'}",
        ]
        return "\n".join(lines)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> str:
    return table(heads, [tuple(map(printable, row)) for row in rows], right=right)


def _libraries(libraries: Sequence[Library]) -> str:
    rows = [
        (
            each.abi,
            each.name,
            f"{each.size_bytes:,}",
            f"{each.samara}, {each.operators} operators" if each.samara else "",
        )
        for each in libraries
    ]
    return _table(("machine", "library", "bytes", "samara"), rows, right=(2,))


def _models(models: Sequence[ModelEntry]) -> str:
    rows = [
        (
            each.name,
            f"{each.size_bytes:,}",
            each.min_runtime or "-",
            str(len(each.operators)) if each.min_runtime else "-",
            ", ".join(each.runs_on) or "-",
        )
        for each in models
    ]
    return _table(("model", "bytes", "needs samara", "operators", "runs on"), rows, right=(1, 3))


def _checks(rows: Sequence[Row]) -> str:
    """All rows, the worst first. Rows that passed with the same text are shown once."""
    ordered = sorted(rows, key=lambda row: _ORDER.index(row.level))
    places: dict[tuple[str, ...], list[str]] = {}
    for number, row in enumerate(ordered):
        alone = "" if row.level == "ok" else str(number)
        places.setdefault((row.level, row.check, row.said, alone), []).append(row.where)
    cells = []
    for (level, check, said, _), where in places.items():
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        cells.append((level, check, (where[0] or "-") + more, said))
    return _table(("", "check", "where", "found"), cells)
