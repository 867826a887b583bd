# SPDX-License-Identifier: Apache-2.0
"""The record of long fuzzing: rows, totals, seeds, and what libFuzzer says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tools import fuzz, fuzz_long
from tools.fuzz_long import RUNS, TOTALS, Run, executed, next_seed, runs_of, totals, with_run

EMPTY = "\n".join(("# Page", *TOTALS, "between", *RUNS, "after", ""))
ROW = Run("2026-01-02", "1.0 abcdef12", "open", "tools/fuzz_long.py --seed 4", 4, 1234567, 0)


def test_rows_and_totals() -> None:
    page = with_run(with_run(EMPTY, ROW), Run(*(ROW.date, "1.0", "state", "c", 2, 10, 1)))
    assert runs_of(page)[0] == ROW
    assert (
        "| 2026-01-02 | 1.0 abcdef12 | open | `tools/fuzz_long.py --seed 4` | 4 | 1,234,567 | 0 |"
        in page
    )
    assert "| open | 1 | 1,234,567 |  |" in page
    assert "| open, run, state | 2 | 1,234,577 | 100,000,000 |" in page
    assert with_run(page) == page
    assert page.startswith("# Page\n")
    assert page.endswith("\nafter\n")
    assert [next_seed(page, t) for t in ("open", "state", "run")] == [5, 3, 1]
    assert totals([]).count("| 0 | 0 |") == 8


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("#2\tINITED cov\n#900\tDONE\nstat::number_of_executed_units: 905\n", 905),
        ("#2\tINITED cov\n#900\tNEW cov\n==7==ERROR\n", 900),
        ("nothing", 0),
    ],
)
def test_what_libfuzzer_ran(text: str, count: int) -> None:
    assert executed(text) == count


def test_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    page = tmp_path / "page.md"
    page.write_text(EMPTY, encoding="utf-8")
    asked: list[Any] = []

    def search(*arguments: Any, **more: Any) -> tuple[str, bool, str]:
        asked.append((arguments[2], more))
        return "state_fuzz", False, "#77\tNEW\n"

    monkeypatch.setattr(fuzz, "search", search)
    common = ["--page", str(page), "--build", str(tmp_path)]
    limits = ["--target", "safetensors", "--executions", "50"]
    assert fuzz_long.main([*limits, *common]) == 0
    assert fuzz_long.main([*limits, *common]) == 0
    assert fuzz_long.main(["--target", "state", "--seconds", "9", "--seed", "7", *common]) == 1
    assert asked == [(9, {"runs": -1, "seed": 7})]
    runs = runs_of(page.read_text("utf-8"))
    assert [(r.target, r.seed, r.executions, r.findings) for r in runs] == [
        ("safetensors", 1, 50, 0),
        ("safetensors", 2, 50, 0),
        ("state", 7, 77, 1),
    ]
    assert runs[1].command == "tools/fuzz_long.py --target safetensors --executions 50 --seed 2"
    assert capsys.readouterr().out.endswith(runs[2].row())
