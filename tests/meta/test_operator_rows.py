# SPDX-License-Identifier: Apache-2.0
"""Every operator of the table has rows in the operator benchmark, or the reason why it has none."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest


@pytest.fixture
def benchmark(repo: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """benchmarks/operators.py as a module."""
    monkeypatch.syspath_prepend(str(repo / "benchmarks"))
    rows = ("operator_rows", "operator_rows_data", "operator_rows_int8")
    for name in ("operators", *rows, "operator_models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("operators")


def test_the_table_is_whole(benchmark: types.ModuleType) -> None:
    assert benchmark.missing(benchmark.rows()) == []


def test_reasons_are_given(benchmark: types.ModuleType) -> None:
    assert all(len(why.split()) > 3 for why in benchmark.NO_TWIN.values())


def test_gaps_are_found(benchmark: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [r for r in benchmark.rows() if r.op != "transpose"]
    assert benchmark.missing(every) == ["transpose: neither a row nor a reason"]
    again = [*benchmark.rows(), next(r for r in every if r.name == "add")]
    assert benchmark.missing(again) == ["add: two rows of that name"]
    monkeypatch.setitem(benchmark.NO_TWIN, "add", "it has rows, too")
    monkeypatch.setitem(benchmark.NO_TWIN, "adding", "there is no such operator")
    assert benchmark.missing(benchmark.rows()) == [
        "add: both a row and a reason",
        "adding: no such operator",
    ]
