# SPDX-License-Identifier: Apache-2.0
"""The scorecard of a device: the tests and their results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from samara.exporter.types.text import byte_text, plain, table
from samara.pybridge import Device

State = Literal["passed", "failed", "NOT RUN"]

_MOST_FAILURES = 20  # failures shown in the text
_MOST_NAMES = 8  # operators named per reason


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """An operator in one dtype, that of its first operand (f32, qs8 … as in docs/reference/ops.md).

    supported: checks that ran on the device, of which `passed` and `failed`; refused: checks whose node the
    device left to the CPU, with `reasons`. failure: the first difference, or "".
    """

    op: str
    dtype: str
    supported: int
    passed: int
    failed: int
    refused: int
    failure: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A test of the device as a whole. detail: what ran, what differs, or why nothing could run."""

    name: str
    state: State
    detail: str


@dataclass(frozen=True, slots=True)
class Scorecard:
    """All tests of a device and their results; `source` is the name or path it was opened by."""

    source: str
    device: Device
    version: str
    quick: bool
    rows: tuple[ScoreRow, ...]
    parts: tuple[Part, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something ran."""
        wrong = any(r.failed for r in self.rows) or any(p.state == "failed" for p in self.parts)
        return not wrong and any(r.passed for r in self.rows)

    def totals(self) -> dict[str, int]:
        """Sums over the rows, and the number of operators that the device has in some dtype."""
        columns = ("supported", "passed", "failed", "refused")
        sums = {name: sum(getattr(r, name) for r in self.rows) for name in columns}
        asked = {r.op for r in self.rows}
        return {
            "operators": len(asked),
            "operators_supported": len({r.op for r in self.rows if r.supported}),
            "operators_failed": len({r.op for r in self.rows if r.failed}),
            **sums,
        }

    def to_json(self) -> dict[str, Any]:
        """The scorecard as plain dicts, lists, strings and numbers."""
        return {**plain(self), "totals": self.totals(), "all_passed": self.passed}

    def text(self) -> str:
        """Tables of what the device supports and of what it refuses, failures, and a verdict."""
        d = self.device
        memory = f", {byte_text(d.memory_bytes)}" if d.memory_bytes else ""
        lines = [f"{d.name}: {d.description}, driver {d.driver or 'unknown'}{memory}"]
        supported = [r for r in self.rows if r.supported]
        if supported:
            cells = [
                (r.op, r.dtype, str(r.supported), str(r.passed), str(r.failed), str(r.refused))
                for r in supported
            ]
            heads = ("operator", "dtype", "supported", "passed", "failed", "refused")
            lines.append(table(heads, cells, right={2, 3, 4, 5}))
        reasons = self._reasons()
        if reasons:
            lines.append("left to the CPU")
            lines += [f"  {why}: {names}" for why, names in reasons.items()]
        failures = [f"  {r.op} {r.dtype}: {r.failure}" for r in self.rows if r.failed]
        if failures:
            lines.append("failed")
            lines += failures[:_MOST_FAILURES]
            if len(failures) > _MOST_FAILURES:
                lines.append(f"  and {len(failures) - _MOST_FAILURES} more; --json has all")
        lines.append(table(("check", "", ""), [(p.name, p.state, p.detail) for p in self.parts]))
        lines.append(self._verdict())
        return "\n".join(lines)

    def _reasons(self) -> dict[str, str]:
        """Why nodes were refused: the operators for each reason, without dtypes if all have it."""
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        dtypes = Counter(r.op for r in self.rows)
        for r in self.rows:
            for why in r.reasons:
                found[why.removeprefix(f"{r.op} ")][r.op].append(r.dtype)
        return {why: _listed(by_op, dtypes) for why, by_op in found.items()}

    def _verdict(self) -> str:
        t = self.totals()
        if not t["supported"]:
            return f"FAILED: the device supports none of {t['operators']} operators"
        not_run = [p.name for p in self.parts if p.state == "NOT RUN"]
        left = f"; NOT RUN: {', '.join(not_run)}" if not_run else ""
        return (
            f"{'passed' if self.passed else 'FAILED'}: {t['operators_supported']} of"
            f" {t['operators']} operators, {t['passed']} checks passed, {t['failed']} failed,"
            f" {t['refused']} refused{left}"
        )


def _listed(by_op: Mapping[str, Sequence[str]], dtypes: Mapping[str, int]) -> str:
    names = [
        op if len(refused) == dtypes[op] else f"{op} ({' '.join(refused)})"
        for op, refused in by_op.items()
    ]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
