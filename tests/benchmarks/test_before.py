# SPDX-License-Identifier: Apache-2.0
"""An earlier checkout beside this one: where it lies, and what its processes are given."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.engines import BEFORE, EARLIER, NAMES, engine
from benchmarks.environments import ROOT, Missing, home_of, own_name, python_of, variables


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout with a library."""
    library = tmp_path / "build" / "release" / "libsamara.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    monkeypatch.setenv("SAMARA_BEFORE", str(tmp_path))
    return tmp_path


def test_it_runs_only_where_it_is_asked_for() -> None:
    assert EARLIER not in NAMES
    assert engine(EARLIER).ENVIRONMENT == BEFORE


def test_its_processes_see_that_checkout_alone(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMARA_LIBRARY", "/of/this/checkout.so")
    given = variables(home_of(EARLIER))
    assert given["PYTHONPATH"] == str(checkout)
    assert given["SAMARA_LIBRARY"] == str(checkout / "build" / "release" / "libsamara.so")
    assert python_of(checkout, BEFORE) == checkout / ".venv" / "bin" / "python"
    assert own_name(EARLIER) == "samara"


def test_other_engines_stay_in_this_one(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMARA_LIBRARY", "/of/this/checkout.so")
    assert home_of("samara") == ROOT
    assert own_name("ncnn") == "ncnn"
    assert variables()["SAMARA_LIBRARY"] == "/of/this/checkout.so"


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMARA_BEFORE", raising=False)
    with pytest.raises(Missing, match="SAMARA_BEFORE must name"):
        home_of(EARLIER)
    monkeypatch.setenv("SAMARA_BEFORE", str(tmp_path))
    with pytest.raises(Missing, match="no library in build/release"):
        home_of(EARLIER)
