# SPDX-License-Identifier: Apache-2.0
"""What Python adds to a call, what two lanes could gain, and `make bench-train` on little work."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import call_overhead, lanes

from samara.exporter.frontend import native
from samara.exporter.ir import ProgramBuilder
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
    monkeypatch.setattr(native, "fallbacks", Counter())  # not those of other tests
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
    assert [r["size"] for r in found["pointwise"]] == ([] if alone else [64, 512])
    assert all(r["losses_agree"] and r["ratio"] > 0 for r in found["pointwise"])
    assert found["fallbacks"] == {}
    assert found["operator_us"]["eager_us"] > 0
    assert all(r["ratio"] > 0 for r in found["convolutions"])
    assert found["allocator"] > 0
    text = capsys.readouterr().out
    assert "DIFFER" not in text
    assert "heavy operators that ran in numpy: none" in text


def test_the_chain_of_elementwise_operators_learns(training: types.ModuleType) -> None:
    chain = training.Chain(training.samara, 16, training.samara.from_numpy)
    losses = [chain.step() for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert all(p.grad is not None for p in chain.weights)
    row = {"size": 16, "threads": 1, "samara_ms": 1, "torch_ms": 2, "ratio": 0.5, "step_ratio": 0.4}
    text = training.pointwise_table([{**row, "losses_agree": True}])
    assert all(word in text for word in ("16x16", "0.50", "0.40", "agree"))


def test_unknown_training_model_is_wrong_usage(
    training: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        _main(training, monkeypatch, "large")
    assert caught.value.code == 2
    assert "there are digits_cnn, resnet8, transformer" in capsys.readouterr().err


def _timed(*rows: tuple[float, float, tuple[int, ...]]) -> list[lanes.Timed]:
    return [lanes.Timed(*row) for row in rows]


def test_branches_side_by_side() -> None:
    # A fork of two chains that threads do not make faster, joined at the end.
    nodes = _timed((2, 1, ()), (6, 6, (0,)), (5, 5, (0,)), (1, 1, (1, 2)))
    assert lanes.schedule(nodes) == pytest.approx(1 + 6 + 1)
    assert lanes.schedule(nodes, split=False) == pytest.approx(2 + 6 + 1)
    assert lanes.bound(nodes) == pytest.approx(8)  # the longest chain


def test_a_chain_gains_nothing_from_lanes() -> None:
    nodes = _timed((4, 2, ()), (6, 3, (0,)), (2, 3, (1,)))
    assert lanes.schedule(nodes) == pytest.approx(2 + 3 + 2)
    assert lanes.schedule(nodes, split=False) == pytest.approx(12)


def test_no_schedule_is_shorter_than_its_bound() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        count = int(rng.integers(1, 12))
        nodes = []
        for i in range(count):
            one = float(rng.uniform(1, 10))
            after = tuple(int(j) for j in range(i) if rng.random() < 0.3)
            nodes.append(lanes.Timed(one, one * float(rng.uniform(0.5, 1.1)), after))
        least = lanes.bound(nodes)
        for split in (True, False):
            assert lanes.schedule(nodes, split=split) >= least - 1e-9


def test_nodes_wait_for_those_they_read() -> None:
    builder = ProgramBuilder()
    f = builder.function("main")
    x = f.input("x", "f32", [1, 16])
    left, right = f.op("relu", x, name="left"), f.op("tanh", x, name="right")
    f.finish([f.op("add", left, right, name="y")], ["y"])
    program = builder.finish(["main"])
    assert lanes.dependencies(program.main) == [(), (), (0, 1)]
