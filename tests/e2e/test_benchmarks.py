# SPDX-License-Identifier: Apache-2.0
"""What Python adds to a call, and `make bench-train` on little work: it measures and says so."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks import call_overhead

from samara.pybridge import op as bridge


def test_overhead_is_judged_against_its_budget() -> None:
    text = call_overhead.overhead_text({"c": 1.0, "run": 5.5, "bound": 2.5})
    assert "run adds 4.50 us, within its budget of 5 us" in text
    assert "bound adds 1.50 us, OVER its budget of 1 us" in text
    assert "no call_bench built" in call_overhead.overhead_text({"run": 5.5, "bound": 2.5})


def test_overhead_is_measured(tmp_path: Path) -> None:
    found = call_overhead.overhead(tmp_path)
    assert 0 < found["bound"] < found["run"]


def _main(run: types.ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    return run.main()


# ---- training ----


@pytest.fixture
def training(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """benchmarks/train.py; what it sets is put back."""
    monkeypatch.syspath_prepend(str(repo / "benchmarks"))
    monkeypatch.delitem(sys.modules, "train", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    yield importlib.import_module("train")
    bridge.set_num_threads(None)


def test_training_steps(
    training: types.ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All that is measured, once; steps beside PyTorch where it is installed."""
    out = tmp_path / "train.json"
    alone = [] if importlib.util.find_spec("torch") else ["--alone"]
    arguments = ["--steps", "1", "--threads", "2", "--json", str(out), *alone, "digits_cnn"]
    assert _main(training, monkeypatch, *arguments) == 0
    found = json.loads(out.read_text())
    assert [r["model"] for r in found["exported"]] == ["digits_cnn"]
    assert all(r["losses_agree"] for r in (*found["steps"], *found["exported"]))
    assert len(found["steps"]) == (not alone)
    assert found["fallbacks"] == {}
    assert found["operator_us"]["eager_us"] > 0
    assert all(r["ratio"] > 0 for r in found["convolutions"])
    assert found["allocator"] > 0
    text = capsys.readouterr().out
    assert "DIFFER" not in text
    assert "heavy operators that ran in numpy: none" in text


def test_unknown_training_model_is_wrong_usage(
    training: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        _main(training, monkeypatch, "large")
    assert caught.value.code == 2
    assert "there are digits_cnn, resnet8, transformer" in capsys.readouterr().err
