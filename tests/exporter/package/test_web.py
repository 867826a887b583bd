# SPDX-License-Identifier: Apache-2.0
"""The npm package that `samara build --target web` writes, as far as no compiler is needed;
tests/e2e/test_web.py builds and runs it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter.build import write_web
from samara.exporter.package import web
from samara.exporter.package.selection import Selection
from samara.exporter.package.toolchain import Toolchain
from samara.pybridge import BackendError, UnsupportedError


@pytest.mark.parametrize(
    ("stem", "name"), [("Face_Finder.v2", "face-finder-v2"), ("kws", "kws"), ("__", "model")]
)
def test_package_name(stem: str, name: str) -> None:
    assert web._package_name(stem) == name


def test_package_json_names_the_models() -> None:
    package = json.loads(web._package_json("kws", ["kws.samara"], "1.2.3"))
    assert (package["name"], package["version"]) == ("kws", "1.2.3")
    assert package["samara"] == {"models": ["kws.samara"]}


def test_only_a_package_for_other_models_has_every_kind_of_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = samara.trace(samara.nn.Linear(4, 3), (samara.zeros(1, 4),), output_names=["scores"])
    model, listed = tmp_path / "m.samara", tmp_path / "ops.txt"
    samara.export(program, model, postprocess="classify scores softmax")
    listed.write_text(Selection().text(), encoding="utf-8")
    monkeypatch.setattr(web, "_link", lambda *_args: None)
    monkeypatch.setattr(
        web, "find_toolchain", lambda target: Toolchain(target, ("true",), ("true",))
    )
    kinds = {}
    for name, models, full in (
        ("own", [model], False),
        ("full", [model], True),
        ("listed", [model, listed], False),
    ):
        write_web(models, out=tmp_path / name, full=full)
        kinds[name] = "keypoints" in (tmp_path / name / "samara.js").read_text("utf-8")
    assert kinds == {"own": False, "full": True, "listed": True}


def test_only_products_get_modules_with_relaxed_simd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.setattr(
        web, "_link", lambda _, each, *_args: linked.append((each.name, each.flags))
    )
    monkeypatch.setattr(
        web, "find_toolchain", lambda target: Toolchain(target, ("true",), ("true",))
    )
    for name, net, relaxed in (
        ("product", samara.nn.Linear(4, 3), True),
        ("integers", samara.nn.Linear(4, 3), True),
        ("function", samara.nn.Sigmoid(), False),
    ):
        program = samara.trace(net, (samara.zeros(1, 4),), output_names=["scores"])
        if name == "integers":
            rows = [{program.main.inputs[0].name: np.ones((1, 4), np.float32)}]
            program = samara.quantize(program, rows)
        samara.export(program, tmp_path / f"{name}.samara")
        linked.clear()
        report = write_web([tmp_path / f"{name}.samara"], out=tmp_path / name)
        wanted = {"simd", "threads"} | ({"relaxed", "relaxed_threads"} if relaxed else set())
        assert {each for each, _ in linked} == wanted
        for each, flags in linked:
            assert any("relaxed_simd" in flag for flag in flags) == each.startswith("relaxed")
        script = (tmp_path / name / "samara.js").read_text("utf-8")
        assert ("samara.relaxed_threads.wasm" in script) == relaxed
        assert ("relaxed" in report.text()) == relaxed


@pytest.mark.parametrize("found", [None, "/bin/wasm-opt"])
def test_a_missing_optimizer_is_said(
    found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: found)
    report = web.WebPackage(out=tmp_path, selection=Selection(), files={}, compiler="clang")
    assert ("wasm-opt (Debian: binaryen)" in report.text()) == (found is None)


def test_unknown_feature_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no use of the feature 'files'") as caught:
        web.write(Selection(), [], tmp_path / "out", wanted=["files"])
    assert caught.value.fix == "features are metadata, state, images, audio, answers"
    assert not (tmp_path / "out").exists()


def test_unknown_optimisation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no optimisation level 'z'"):
        write_web([], out=tmp_path / "out", opt="z")


def test_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samara.exporter.package.toolchain.is_installed", lambda _name: False)
    with pytest.raises(BackendError, match="the Python package ziglang is not installed"):
        web.write(Selection(), [], tmp_path / "out")
    assert not (tmp_path / "out").exists()
