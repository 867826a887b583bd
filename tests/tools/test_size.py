# SPDX-License-Identifier: Apache-2.0
"""The size tool reads its budget, and says what grew."""

from __future__ import annotations

from pathlib import Path

from tools import size

from samara.exporter.package.size_bill import Row, SizeBill

CORE = ("x86_64-linux-gnu", "s", "core")
NEW = ("x86_64-linux-gnu", "2", "core")


def test_budget_text_and_back() -> None:
    sizes = {CORE: 40000, NEW: 50000}
    text = size.budget_text(sizes)
    assert size.read_budget(text) == sizes
    assert text.startswith("# SPDX-License-Identifier")


def test_two_percent_are_allowed() -> None:
    assert not list(size.over_budget({CORE: 40800}, {CORE: 40000}))
    (grown,) = size.over_budget({CORE: 40801}, {CORE: 40000})
    assert "40,801 bytes, 2.0% over its budget of 40,000" in grown
    (unknown,) = size.over_budget({NEW: 1}, {CORE: 40000})
    assert "without a budget" in unknown


def test_every_build_has_a_budget(repo: Path) -> None:
    budget = size.read_budget((repo / "runtime_c" / "size_budget.txt").read_text("utf-8"))
    builds = {s.name for s in size.SUBJECTS}
    assert set(budget) == {(t, o, b) for t in size.TARGETS for o in size.OPTS for b in builds}


def test_the_page_has_the_budget(repo: Path) -> None:
    budget = size.read_budget((repo / "runtime_c" / "size_budget.txt").read_text("utf-8"))
    page = (repo / "docs" / "internals" / "size.md").read_text("utf-8")
    for subject in size.SUBJECTS:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{subject.name}` |"))
        numbers = [f"{budget[t, o, subject.name]:,}" for t in size.TARGETS for o in size.OPTS]
        assert row.endswith(f"| {' | '.join(numbers)} |")


def test_page() -> None:
    bill = SizeBill(9000, {".text": 5000}, rows=(Row("core", "model", "", 4000, 1000),))
    text = size.page({CORE: 5000}, {CORE: bill})
    assert "| `core` | opens, verifies, plans, runs if, loop and call | 5,000 |  |  |  |" in text
    assert "| `core` | 5,000 |" in text
