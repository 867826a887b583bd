# SPDX-License-Identifier: Apache-2.0
"""The table of docs/guides/backends.md that says what runs on OpenCL, as the backend says it.

`python -m tests.ops.opencl_table` writes it, with the first device there is.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.auto import imaginary_rates

import samara
from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.operators import cases_of, questions
from samara.exporter.ops import OpSpec, all_ops
from samara.pybridge.device import BackendChoice

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "backends.md"
BEGIN, END = "<!-- begin: what runs on OpenCL -->\n", "<!-- end: what runs on OpenCL -->\n"
# Inputs fed, and weights constant: the other forms of a case run where these do.
_FORMS = ("static", "weights")
_NO_KERNEL = "the operator has no kernel for this device"


def device(folder: Path) -> samara.Backend:
    """A device so slow that "auto" only asks what it supports, and compiles nothing."""
    rates = imaginary_rates(folder / "rates.txt")
    slow = rates.read_text().replace("device.launch_ns 1\n", "device.launch_ns 1000000000000\n")
    rates.write_text(slow)
    return samara.Backend("opencl", cache=False, rates=rates)


def _refusal(question: Question, choice: BackendChoice) -> str:
    """Why the device does not take the node, or ""."""
    session = samara.Session(question.model, accuracy="strict", threads=1, backend=choice)
    while not session.backend_report().settled:
        session.resize({name: x.shape for name, x in question.feeds.items()})
    rows = [row for row in session.placement() if row.op == question.op.name]
    return "" if any(row.runner_up for row in rows) else rows[0].reason if rows else "absent"


def types_of(op: OpSpec, choice: BackendChoice) -> list[str]:
    """Types of the first operand with which the device takes some case."""
    found = []
    for dtype, cases in cases_of(op, quick=False).items():
        asked = (q for case in cases for form, q in questions(op, case) if form in _FORMS)
        for question in asked:
            refusal = _refusal(question, choice)
            if refusal == _NO_KERNEL:
                return []
            if not refusal:
                found.append(dtype)
                break
    return sorted(found)


def text(folder: Path) -> str:
    """The table: operators by the types that they take."""
    choice: BackendChoice = [device(folder), "auto"]
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    most: set[str] = set()
    for op in all_ops():
        if "control" in op.flags or not op.cases:
            continue
        types = tuple(types_of(op, choice))
        most |= set(types)
        if types:
            groups[types].append(op.name)
    lines = ["| operators | types of the first operand |", "|---|---|"]
    for types, names in groups.items():
        kinds = "all" if set(types) == most else ", ".join(types)
        lines.append(f"| {', '.join(names)} | {kinds} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    with tempfile.TemporaryDirectory() as folder:
        table = text(Path(folder))
    PAGE.write_text(f"{head}{BEGIN}{table}{END}{tail}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
