# SPDX-License-Identifier: Apache-2.0
"""One run: outputs, ranking, files written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.measure.run import output_kind, rank, run, summary, write_outputs
from samara.exporter.types import ArgumentError, SamaraError, ShapeError
from samara.pybridge import Model
from samara.pybridge.array_files import write_arrays

LABELS = ["ash", "beech", "maple", "oak"]


def test_files_in_files_out(samara_path: Path, onnx_path: Path, tmp_path: Path) -> None:
    image = np.linspace(-2, 2, 384, dtype=np.float32).reshape(2, 3, 8, 8)
    np.save(tmp_path / "image.npy", image)
    out, trace = tmp_path / "out.npz", tmp_path / "trace.json"
    result = run(
        samara_path,
        inputs={"image": str(tmp_path / "image.npy")},
        output=out,
        profile=trace,
        threads=1,
    )
    want = import_onnx(onnx_path).run({"image": image})["score"]
    with np.load(out) as stored:
        np.testing.assert_allclose(stored["score"], want, rtol=1e-4, atol=1e-5)
        assert np.array_equal(stored["score"], result.outputs["score"])
    assert not result.random_inputs
    assert result.milliseconds > 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert "conv" in {e["args"]["op"] for e in events}


def test_random_inputs_depend_on_the_seed(samara_path: Path) -> None:
    a, b, c = (run(samara_path, seed=s).outputs["score"] for s in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    result = run(samara_path)
    assert result.random_inputs
    assert result.sizes == {"batch": 1}
    assert "sizes: batch=1" in result.text()


def test_best_classes_with_labels(samara_path: Path) -> None:
    result = run(samara_path, shapes={"image": (2, 3, 8, 8)}, top=2)
    score = result.outputs["score"]
    assert [(t.output, t.row) for t in result.top] == [("score", 0), ("score", 1)]
    for t in result.top:
        order = np.argsort(-score[t.row])[:2]
        assert [b[0] for b in t.best] == order.tolist()
        assert [b[1] for b in t.best] == [LABELS[i] for i in order]
    assert LABELS[int(np.argmax(score[0]))] in result.text()
    assert json.loads(json.dumps(result.to_json()))["outputs"]["score"]["shape"] == [2, 4]


def test_ranking() -> None:
    (row,) = rank("y", np.array([[1.0, 3.0, 2.0]]), 2, [])
    assert row.best == ((1, "1", 3.0), (2, "2", 2.0))
    (row,) = rank("y", np.array([5, 5, 7], np.uint8), 9, ["a", "b", "c"])
    assert [b[1] for b in row.best] == ["c", "a", "b"]
    assert rank("y", np.zeros((1, 10, 1, 1)), 3, [])[0].best[0][0] == 0
    assert rank("y", np.array(1.0), 3, []) == []
    assert rank("y", np.zeros((0, 3)), 3, []) == []
    assert rank("y", np.zeros((2, 3), bool), 3, []) == []
    assert rank("y", np.array([[1.0, 2.0]]), 1, ["only one"])[0].best[0][1] == "1"


def test_state_of_the_timed_run_is_the_first_runs(counter_path: Path) -> None:
    result = run(counter_path, seed=3)
    x = (result.outputs["y"] - 1.0).tolist()
    assert run(counter_path, seed=3).outputs["y"].tolist() == [v + 1.0 for v in x]


def test_summary_says_what_is_not_finite() -> None:
    facts = summary(np.array([1.0, np.nan, 3.0, np.inf]))
    assert (facts["min"], facts["max"], facts["finite"]) == (1.0, 3.0, False)
    assert summary(np.full(2, np.nan))["min"] is None
    assert summary(np.zeros((0, 2)))["max"] is None
    ends = {"min": False, "max": True, "finite": True}
    assert summary(np.array([True, False])) == {"dtype": "bool", "shape": [2], **ends}


def test_labels(samara_path: Path, counter_path: Path) -> None:
    assert Model(samara_path).labels == tuple(LABELS)
    assert Model(counter_path).labels == ()


def test_arrays_of_any_name(tmp_path: Path) -> None:
    arrays = {"file": np.arange(3), "a/b:0": np.array(2.5), "allow_pickle": np.zeros((2, 0))}
    write_arrays(tmp_path / "x.npz", arrays)
    with np.load(tmp_path / "x.npz") as stored:
        assert sorted(stored.files) == sorted(arrays)
        for name, array in arrays.items():
            assert np.array_equal(stored[name], array)


def test_places_that_cannot_be_written(samara_path: Path, tmp_path: Path) -> None:
    with pytest.raises(SamaraError, match="cannot be written"):
        run(samara_path, output=tmp_path / "no" / "out.npz")
    with pytest.raises(SamaraError, match="cannot be written"):
        run(samara_path, profile=tmp_path / "no" / "trace.json")
    np.save(tmp_path / "x.npy", np.zeros(1))
    with pytest.raises(ShapeError, match="no input 'picture'"):
        run(samara_path, inputs={"picture": str(tmp_path / "x.npy")})


def test_the_name_says_what_is_written(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"a/b": np.ones((2, 3), np.float32), "c": np.arange(4)}
    write_outputs(tmp_path / "all.npz", arrays)
    with np.load(tmp_path / "all.npz") as found:
        assert sorted(found.files) == ["a/b", "c"]
    write_outputs(tmp_path / "one.npy", {"c": arrays["c"]})
    assert np.load(tmp_path / "one.npy").tolist() == [0, 1, 2, 3]
    (tmp_path / "there").mkdir()
    for folder in (f"{tmp_path}/new/", tmp_path / "there"):
        write_outputs(folder, arrays)
        names = sorted(p.name for p in Path(folder).iterdir())
        assert names == ["a_b.npy", "c.npy"]  # as samara-run names them
    with pytest.raises(ShapeError, match="holds one array, the model gives 2: a/b, c"):
        write_outputs(tmp_path / "two.npy", arrays)
    for name in ("logits", "out.txt", "out.json"):
        with pytest.raises(ArgumentError, match="does not say what to write") as caught:
            output_kind(tmp_path / name)
        assert ".npz" in (caught.value.fix or "")
    assert output_kind("/dev/null") == "npz"
