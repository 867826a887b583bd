# SPDX-License-Identifier: Apache-2.0
"""docs/reference/reliability.md names tests that exist, and its totals are the sums of its rows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tools.fuzz_long import TARGETS, runs_of, with_run

_REFERENCE = re.compile(r"`((?:tests|runtime_c)/[\w/]+\.(?:py|c))(?:::(\w+))?`")


@pytest.fixture(scope="module")
def page(repo: Path) -> str:
    return (repo / "docs" / "reference" / "reliability.md").read_text(encoding="utf-8")


def _tests_in(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".c":
        return set(re.findall(r"^SMR_TEST\((\w+)\)", text, re.MULTILINE))
    return {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}


def faults(repo: Path, page: str) -> list[str]:
    """Promises and findings without a test, and tests that are not there."""
    found = []
    head, _, rest = page.partition("## Fuzzing")
    rows = [*head.splitlines(), *rest.rpartition("| found |")[2].splitlines()]
    for row in rows:
        if row.startswith("| ") and not row.startswith("| promise |") and row != " test |":
            found += [] if _REFERENCE.search(row) else [f"no test: {row}"]
    for name, test in _REFERENCE.findall(page):
        path = repo / name
        if not path.is_file():
            found.append(f"{name}: no such file")
        elif test and test not in _tests_in(path):
            found.append(f"{name}: no test {test}")
    return found


def test_each_promise_names_tests_that_exist(repo: Path, page: str) -> None:
    assert faults(repo, page) == []
    assert len(_REFERENCE.findall(page)) > 20


def test_missing_tests_are_seen(repo: Path) -> None:
    bad = (
        "| promise | shown by |\n|---|---|\n| all is well | nothing |\n"
        "| a | `tests/meta/test_reliability.py::test_of_nothing` `tests/meta/test_absent.py::test_x` |\n"
        "## Fuzzing\n| found | test |\n|---|---|\n| b | `runtime_c/tests/base/pool_test.c::no_test` |\n| c | |\n"
    )
    assert [f.partition(":")[0] for f in faults(repo, bad)] == [
        *("no test", "no test", "tests/meta/test_reliability.py", "tests/meta/test_absent.py"),
        "runtime_c/tests/base/pool_test.c",
    ]


def test_totals_are_the_sums_of_the_rows(page: str) -> None:
    assert with_run(page) == page
    for run in runs_of(page):
        assert run.target in TARGETS
        assert run.executions > 0
        assert f"--target {run.target} " in run.command
        assert run.command.endswith(f"--seed {run.seed}")
