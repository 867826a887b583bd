# SPDX-License-Identifier: Apache-2.0
"""The benchmark: turns, medians and ratios, peers that fail or answer wrongly, cold starts, baselines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pages import EVIL, read

from samara.exporter.measure import bench as module
from samara.exporter.measure import peers
from samara.exporter.measure.bench import bench, trace
from samara.exporter.opening import opened
from samara.exporter.testing_text import write_tiny_text_model
from samara.exporter.types import SamaraError, ShapeError


def test_samara_beside_onnxruntime(onnx_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with opened(onnx_path) as file:
        report = bench(
            file,
            against=("onnxruntime",),
            threads=(1, 2),
            isas=(None, "scalar"),
            runs=5,
            cold=True,
            node="conv",
            progress=lambda a, b: seen.append((a, b)),
        )
    assert seen == [(i + 1, 5) for i in range(5)]
    engines = [("samara", ""), ("samara", "scalar"), ("onnxruntime", "")]
    assert [(r.engine.split()[0], r.threads, r.isa) for r in report.rows] == [
        (name, threads, isa) for threads in (1, 2) for name, isa in engines
    ]
    assert report.answers_agree
    assert report.flops is not None
    first = report.rows[0]
    assert first.ratio is None
    assert first.tolerances is None
    assert first.median_ms is not None
    for row, own in zip(report.rows[:3], [first] * 3, strict=True):
        assert row.median_ms is not None
        assert row.best_ms is not None
        assert row.best_ms <= row.median_ms
        assert row.gflops == pytest.approx(report.flops / row.median_ms / 1e6)
        if row is not own:
            assert row.ratio == pytest.approx(first.median_ms / row.median_ms)
            assert row.tolerances is not None
    cold = [(c.threads, c.isa) for c in report.cold]
    assert cold == [(1, ""), (1, "scalar"), (2, ""), (2, "scalar")]
    assert all(c.open_ms > 0 and c.create_ms > 0 and c.first_run_ms > 0 for c in report.cold)
    assert report.nodes
    # The convolution is called by the relu that was fused into it, and found by its own name too.
    (conv,) = [n for n in report.nodes if n.op == "conv"]
    assert conv.node == "relu"
    assert conv.kernel
    assert conv.median_us > 0
    assert conv.gflops is not None
    assert not [n for n in report.nodes if n.op == "matmul"]
    text = report.text()
    assert "median ms" in text
    assert "onnxruntime" in text
    assert json.loads(json.dumps(report.to_json()))["rows"][2]["ratio"] == report.rows[2].ratio


class _Wrong:
    name = "wrong 1.0"

    def __init__(self, path: str, threads: int) -> None:
        self.calls = 0

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return {"score": np.full((len(feeds["image"]), 4), 77, np.float32)}


class _Failing(_Wrong):
    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        raise RuntimeError("out of luck\nand more")


def test_wrong_answers_and_failures_are_in_the_table(
    onnx_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(peers._PEERS, "wrong", ("onnx", _Wrong))
    monkeypatch.setitem(peers._PEERS, "failing", ("onnx", _Failing))
    with opened(onnx_path) as file:
        report = bench(file, against=("wrong", "failing", "unheard"), runs=2)
    assert not report.answers_agree
    rows = {r.engine: r for r in report.rows}
    assert rows["wrong 1.0"].tolerances is not None
    assert rows["wrong 1.0"].tolerances > 1
    assert rows["failing"].error == "out of luck"
    assert rows["failing"].median_ms is None
    assert "no peer 'unheard'" in rows["unheard"].error
    text = report.text()
    assert "WRONG" in text
    assert "out of luck" in text


def test_baseline(samara_path: Path, tmp_path: Path) -> None:
    with opened(samara_path) as file:
        first = bench(file, runs=3)
        plain = first.to_json()
        assert plain["rows"][0]["median_ms"] is not None
        plain["rows"][0]["median_ms"] *= 4
        (tmp_path / "old.json").write_text(json.dumps(plain))
        second = bench(file, runs=3, threads=(1, 2), baseline=tmp_path / "old.json")
    assert second.baseline is not None
    assert list(second.baseline) == ["samara threads=1"]
    assert second.rows[0].median_ms is not None
    assert second.baseline["samara threads=1"] == pytest.approx(
        second.rows[0].median_ms / plain["rows"][0]["median_ms"]
    )
    assert "times the baseline" in second.text()


def test_a_notebook_shows_rows_and_the_slowest_nodes(samara_path: Path) -> None:
    with opened(samara_path) as file:
        report = bench(file, runs=2, node="", threads=(1, 2))
    texts = read(report._repr_html_())
    assert {"samara, 1 thread", "samara, 2 threads"} <= set(texts)
    assert max(report.nodes, key=lambda n: n.median_us).node in texts
    failed = replace(report.rows[0], median_ms=None, error=EVIL)
    texts = read(replace(report, model=EVIL, rows=(failed,), nodes=())._repr_html_())
    assert texts[0] == f"Benchmark of {EVIL}"
    assert any(t.startswith("failed: <script>") for t in texts)


def test_wrong_requests(samara_path: Path, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("{}")
    with opened(samara_path) as file:
        with pytest.raises(ShapeError, match=r"reads \.onnx files"):
            bench(file, against=("onnxruntime",))
        with pytest.raises(ShapeError, match="runs must be at least 1"):
            bench(file, runs=0)
        with pytest.raises(ShapeError, match="no node's path or operator contains 'nothing'"):
            bench(file, runs=1, node="nothing")
        with pytest.raises(SamaraError, match="is not a result of samara bench"):
            bench(file, runs=1, baseline=tmp_path / "text.json")
        with pytest.raises(SamaraError, match=r"baseline .*: there is no such file"):
            bench(file, runs=1, baseline=tmp_path / "none.json")


def test_state_of_a_file_is_benchmarked_too(counter_path: Path) -> None:
    with opened(counter_path) as file:
        report = bench(file, runs=2, threads=(1, 2))
    assert report.answers_agree
    assert report.flops is not None


def test_state_that_grows_begins_empty(tmp_path: Path) -> None:
    path = write_tiny_text_model(tmp_path / "tiny.samara", context=9, chunk=4)
    with opened(path) as file:
        report = bench(file, runs=20, threads=(1,), node="attention_cached")
    assert report.rows[0].median_ms is not None
    assert report.nodes


def test_trace(samara_path: Path) -> None:
    with opened(samara_path) as file:
        events = json.loads(trace(file, threads=2, shapes={"image": (2, 3, 8, 8)}))["traceEvents"]
    assert {"conv", "matmul"} <= {e["args"]["op"] for e in events}


def test_share_of_the_peak(samara_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "peak_gflops", lambda: 100.0)
    with opened(samara_path) as file:
        report = bench(file, runs=2, threads=(1, 2))
    one, two = report.rows
    assert one.gflops is not None
    assert two.gflops is not None
    assert one.peak_share == pytest.approx(one.gflops / 100)
    assert two.peak_share == pytest.approx(two.gflops / 200)
    assert math.isfinite(one.gflops)


def test_inputs_reach_every_kind(steered_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for measured in ("peak_gflops", "measure_roof"):
        monkeypatch.setattr(module, measured, lambda *_: None)
    with opened(steered_path) as file:
        given: dict[str, Any] = {"inputs": {"rate": "16000"}, "shapes": {"x": (2, 50)}}
        report = bench(file, runs=1, warmup=1, node="", **given)
        events = json.loads(trace(file, isa="scalar", **given))["traceEvents"]
        other = bench(file, runs=1, warmup=1, node="", inputs={"rate": 1}, shapes={"x": (2, 50)})
    assert report.flops == 1 + 3 * 100
    assert other.flops == 1 + 100
    assert "choose/then/repeat/body/grown" in {n.path for n in report.nodes}
    assert report.not_reached == ("choose/else/magnitude",)
    assert "not reached" in report.text()
    [grown] = [e for e in events if e["name"] == "grown"]
    assert grown["args"]["count"] == 3
    assert "scalar" in grown["args"]["kernel"]
