# SPDX-License-Identifier: Apache-2.0
"""The npm package of `samara build --target web`: the answers of native runs, in node and in Chromium."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.build import write_web

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

pytestmark = pytest.mark.emulated

_HERE = Path(__file__).parent / "web"


def _net() -> nn.Module:
    samara.manual_seed(3)
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8, padding=1)),
        *(nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)),
    )


@pytest.fixture(scope="module", params=["float32", "int8"])
def package(
    request: pytest.FixtureRequest,
    missing: Missing,
    need_tool: Tool,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The package of a small net beside the input that its tests give, and the pages of the tests."""
    if importlib.util.find_spec("ziglang") is None:
        missing("zig", "the package for browsers: ziglang is not installed")
    need_tool("node", "node")
    folder = tmp_path_factory.mktemp("web")
    rng = np.random.default_rng(1)
    images = rng.standard_normal((2, 1, 8, 8), dtype=np.float32)
    program: Any = samara.trace(
        _net(),
        (samara.tensor(images),),
        input_names=["image"],
        output_names=["score"],
        dynamic={"image": {0: "batch"}},
    )
    if request.param == "int8":
        samples = [{"image": rng.standard_normal((1, 1, 8, 8), dtype=np.float32)} for _ in range(8)]
        program = samara.quantize(program, samples, "int8")
    samara.export(
        program,
        folder / "model.samara",
        preprocess={"image": "gray float32 nchw resize=8x8 scale=0.01"},
        postprocess="classify score softmax",
    )
    out = folder / "out"
    report = write_web([folder / "model.samara"], out=out)
    assert set(report.to_json()["files"]) == {path.name for path in out.iterdir()}
    (out / "input.json").write_text(json.dumps(images.ravel().tolist()), encoding="utf-8")
    for page in ("cases.js", "cases.html"):
        shutil.copy(_HERE / page, out)
    return out


def _native(package: Path) -> np.ndarray[Any, Any]:
    images = np.array(json.loads((package / "input.json").read_text("utf-8")), np.float32)
    with samara.Session(package / "model.samara") as session:
        return session.run({"image": images.reshape(2, 1, 8, 8)})["score"]


def _node(*arguments: str | Path) -> dict[str, Any]:
    done = subprocess.run(["node", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _check(package: Path, score: list[float]) -> None:
    """Scores are those of a native session: the same bits where the net is of integers."""
    want = _native(package).ravel()
    if "op qconv " in (package / "ops.txt").read_text(encoding="utf-8"):
        assert np.array(score, np.float32).tobytes() == want.tobytes()
    else:
        np.testing.assert_allclose(score, want, rtol=1e-5, atol=1e-5)


def test_in_node(package: Path) -> None:
    found = _node(_HERE / "node.mjs", package)
    _check(package, found["score"])
    assert {each["module"] for each in found["imports"]} == {"samara"}, "no WASI"
    assert found["info"] == {"variant": "simd", "threads": 1, "reason": "there are no workers here"}


class _Sum(nn.Module):
    """The sum of all inputs so far."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", samara.zeros(2))

    def forward(self, x: Any) -> Any:
        self.total += x
        return self.total * 1


def test_sound_labels_and_state(missing: Missing, need_tool: Tool, tmp_path: Path) -> None:
    """Two models in one package: one hears words, one keeps a sum."""
    if importlib.util.find_spec("ziglang") is None:
        missing("zig", "sound in WebAssembly: ziglang is not installed")
    need_tool("node", "node")
    samara.manual_seed(1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    heard: Any = samara.trace(
        net, (samara.zeros(1, 6, 8),), input_names=["audio"], output_names=["scores"]
    )
    samara.export(
        heard,
        tmp_path / "words.samara",
        preprocess={
            "audio": "logmel float32 ntf rate=16000 window=400 hop=160 bins=8 frames=6 step=2"
        },
        postprocess="classify scores softmax",
        labels=["no", "yes", "maybe"],
    )
    samara.export(samara.script(_Sum(), (samara.zeros(2),)), tmp_path / "counter.samara")
    out = tmp_path / "out"
    write_web([tmp_path / "words.samara", tmp_path / "counter.samara"], out=out)
    rng = np.random.default_rng(2)
    samples = (rng.standard_normal(9000) * 0.1).astype(np.float32)
    (out / "samples.json").write_text(json.dumps(samples.tolist()), encoding="utf-8")
    found = _node(_HERE / "sound.mjs", out)

    with samara.Session(tmp_path / "words.samara") as session:
        native: list[Any] = [*session.predict_each(samples)]
    assert len(native) > 3
    for answers in (found["whole"], found["portions"]):
        assert len(answers) == len(native)
        for answer, want in zip(answers, native, strict=True):
            assert answer["kind"] == "classes"
            got = [(each["label"], each["index"]) for each in answer["classes"]]
            assert got == [(guess.label, guess.index) for guess in want]
            scores = [each["score"] for each in answer["classes"]]
            np.testing.assert_allclose(scores, [guess.score for guess in want], rtol=1e-5)
    assert found["refused"].startswith("ShapeError: samples are no Float32Array")
    assert found["sums"] == [2, 4, 6, 2]
    assert "maybe" in found["metadata"]["labels"]


def test_in_chromium(package: Path, repo: Path, need_tool: Tool, missing: Missing) -> None:
    chromium = need_tool("browser", "chromium")
    modules = repo / "build" / "web" / "node_modules"
    if not (modules / "playwright-core").is_dir():
        missing("browser", "the package in Chromium: build/web has no playwright-core from npm")
    # An ES module finds packages beside itself only.
    run = package.parent / "run"
    shutil.copytree(_HERE, run, dirs_exist_ok=True)
    if not (run / "node_modules").exists():
        (run / "node_modules").symlink_to(modules)
    found = _node(run / "chromium.mjs", package, chromium)
    assert "error" not in found
    why = "the page is not cross-origin isolated"
    for place, shared in (("isolated", True), ("plain", False)):
        for options in ('{"threads":1}', '{"threads":2}', '{"threads":2,"worker":true}'):
            case = found[f"{place} {options}"]
            _check(package, case["score"])
            assert case["shape"] == [2, 10]
            assert case["progress"] == 1
            two = "2" in options and shared
            assert case["info"]["variant"] == ("threads" if two else "simd")
            assert case["info"]["threads"] == (2 if two else 1)
            if "2" in options and not shared:
                assert case["info"]["reason"].startswith(why)
            assert case["picture"] == found['isolated {"threads":1}']["picture"]
            _check_failures(case["failures"])
    picture = found['isolated {"threads":1}']["picture"]
    assert picture["kind"] == "classes"
    assert sum(each["score"] for each in picture["classes"]) <= 1.001
    assert found["cycles"] == 100
    assert found["offline"] == ["forward"]
    assert "model.samara: threads, threads: " in found["page"]


def _check_failures(failures: dict[str, str]) -> None:
    assert (
        failures["name"] == "UnknownNameError: there is no input 'nothing'\n  fix: inputs are image"
    )
    assert failures["dtype"].startswith(
        "ShapeError: input 'image' is Int8Array, expected Float32Array"
    )
    assert failures["shape"].startswith("ShapeError: ")
    assert "image" in failures["shape"]
    assert failures["elements"].startswith("ShapeError: input 'image' has 400 bytes, expected 256")
    assert failures["damaged"].startswith("ModelFormatError: ")
    assert "404" in failures["absent"]
    assert failures["absent"].startswith("FileError: ")
    assert failures["disposed"] == "the model is disposed\n  fix: load it again"
    assert failures["pending"] in ("none", "the model is disposed\n  fix: load it again")
