# SPDX-License-Identifier: Apache-2.0
"""The benchmark of browsers: its turns, its layers, and the tables of figures that were kept."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from benchmarks import reference, web
from benchmarks.engines import samara_copying
from benchmarks.web_layers import LAYERS
from benchmarks.web_page import BEGIN, Results, Row, ratio, results_from, tables, update

import samara


def _row(engine: str, median: float, **more: object) -> Row:
    return Row("ds_cnn", "float32", 1, engine, median, **more)  # type: ignore[arg-type]


@pytest.fixture
def results() -> Results:
    found = Results(machine="a machine", browser="1", date="2026-01-01", rounds=3)
    rows = [_row("samara", 2.0, load=10.0, bytes=30_000, gzip_bytes=9_000, model_bytes=20_000)]
    rows += [_row("onnxruntime", 2.0), _row("litert", 2.2), _row("native", 1.5)]
    found.add([*rows, _row("native avx2", 0.5)])
    return found


def test_ratios_and_shares(results: Results) -> None:
    line = next(text for text in tables(results).splitlines() if "keyword DS-CNN" in text)
    assert line == (
        "| keyword DS-CNN | float32 | 1 | 2 | 2 | 2.2 | **1.00** | **1.10** | 0.75 | **0.25** |"
    )
    assert "Geometric mean of the ratios 1.05, least 1.00; 2 of 2 are below 1.2" in tables(results)
    assert "| keyword DS-CNN | float32 | 10 | - | - | 10 + 20 | 9 |" in tables(results)


def test_a_wrong_answer_does_not_count(results: Results) -> None:
    results.add([_row("litert", 2.2, problem="its output has 3 dB, fewer than 60")])
    engines = {row.engine: row for row in results.rows}
    assert len(engines) == len(results.rows) == 5, "the row replaces the earlier one"
    assert ratio(engines, "litert") is None
    assert "| litert | ds_cnn | float32 | 1 | its output has 3 dB" in tables(results)


def test_results_are_kept(results: Results, tmp_path: Path) -> None:
    results.save(tmp_path / "web.json")
    assert results_from(tmp_path / "web.json") == results
    assert results_from(tmp_path / "none.json") == Results()


def test_the_page_shows_what_was_measured(repo: Path, tmp_path: Path) -> None:
    page = repo / "docs" / "internals" / "benchmarks.md"
    copy = tmp_path / "benchmarks.md"
    shutil.copyfile(page, copy)
    update(copy, results_from())
    assert copy.read_text("utf-8") == page.read_text("utf-8"), "benchmarks.md is stale"
    assert BEGIN in copy.read_text("utf-8")


def test_turns_rotate() -> None:
    asked: list[str] = []

    def turn(name: str, ms: float) -> web.Ask:
        def ask(samples: int, repeats: int) -> list[float]:
            asked.append(name)
            return [ms] * samples

        return ask

    times = web.interleaved({"a": turn("a", 30.0), "b": turn("b", 0.5)}, 3)
    assert asked == [*"aa", *"bb", *"ba", *"ab"], "the first round also plans"
    assert (len(times["a"]), len(times["b"])) == (3, 3 * 12)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_right(name: str, tmp_path: Path) -> None:
    model = LAYERS[name]()
    onnx.save(model, tmp_path / "layer.onnx")
    (x,) = reference.draw(model, 1, seed=3)
    program = samara.import_onnx(tmp_path / "layer.onnx")
    samara.export(program, tmp_path / "layer.samara", check=False)
    with samara.Session(tmp_path / "layer.samara") as session:
        (got,) = session.run({"x": x}).values()
    assert reference.sqnr_db(reference.answer(model, x), np.asarray(got)) > 60


def test_ceiling_of_native_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMARA_ISA", "scalar")
    with web.isa("avx2"):
        assert os.environ["SAMARA_ISA"] == "avx2"
    assert os.environ["SAMARA_ISA"] == "scalar"


def test_native_copies_as_a_page_does(tmp_path: Path) -> None:
    program = samara.trace(samara.nn.ReLU(), (samara.zeros(3),))
    samara.export(program, tmp_path / "m.samara")
    session = samara_copying.Session(tmp_path / "m.samara", 1)
    given = np.array([1, -2, 3], np.float32)
    session.feed(given)
    session.run()
    first = session.output()
    given[:] = 5
    session.run()
    np.testing.assert_array_equal(first, [1, 0, 3])
    np.testing.assert_array_equal(session.output(), [5, 5, 5])


def test_packed_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(10_000))
    assert web.packed_bytes(path) == len(gzip.compress(bytes(10_000), 6)) < 100
