# SPDX-License-Identifier: Apache-2.0
"""Weights as images, on CPUs that a library of the test calls GPUs: chosen by time, with the bits of buffers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.models import recorded

import samara
from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.operators import examine
from samara.exporter.conformance.programs import one_node
from samara.exporter.ops import Case, all_ops

pytestmark = pytest.mark.opencl

OPS = {op.name: op for op in all_ops()}
Kernels = Callable[[], tuple[set[str], set[str]]]


def _conv(image: tuple[int, int, int], n: int, k: int, groups: int, weights: str) -> Case:
    window = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "groups": groups}
    w = (weights, (n, k, k, image[2] // groups))
    return Case((("f32", (1, *image)), w, ("f32", (n,))), window, -2.0, 2.0)


def _cases(weights: str) -> dict[str, tuple[str, Case]]:
    """By the kernel that runs, without its tile."""
    name = "f32" if weights == "f32" else "f32_f16"
    return {
        f"conv_{name}": ("conv", _conv((29, 31, 24), 42, 3, 2, weights)),
        f"depthwise_{name}": ("conv", _conv((25, 37, 22), 22, 3, 22, weights)),
        f"matmul_{name}": (
            "matmul",
            Case((("f32", (130, 301)), (weights, (301, 90))), {}, -2.0, 2.0),
        ),
    }


CASES = _cases("f32") | _cases("f16")


@pytest.fixture
def images(as_gpu: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that gets the number of texels of each image."""
    monkeypatch.setenv("GPU_IMAGES", str(tmp_path / "images.txt"))
    return tmp_path / "images.txt"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A folder of caches with verdicts, and those that are there."""
    return tmp_path_factory.mktemp("verdicts"), set()


@pytest.fixture
def verdict(
    known: tuple[Path, set[str]], images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """`verdict("buffers")`: a folder for the cache in which that is known to be faster. A verdict is a
    matter of time, so one that other programs have disturbed is found out again. It is found once for
    all tests with as many units, each of which gets a copy.
    """

    def find(faster: str, kept: Path) -> None:
        for _ in range(12):
            monkeypatch.setenv("GPU_SLOW", "images" if faster == "buffers" else "buffers")
            _run("matmul_f32", kept)
            monkeypatch.delenv("GPU_SLOW")
            images.unlink(missing_ok=True)
            _run("matmul_f32", kept)
            if faster == ("images" if _texels(images) else "buffers"):
                return
            shutil.rmtree(kept)
        pytest.fail(
            f"{faster} never were the faster way, although the others take ten times as long"
        )

    def make(faster: str) -> Path:
        name = f"{faster}-{os.environ.get('GPU_UNITS', 'all')}"
        kept, folder = known[0] / name, tmp_path / faster
        if name not in known[1]:
            find(faster, kept)
            known[1].add(name)
        images.unlink(missing_ok=True)
        return shutil.copytree(kept, folder)

    return make


def _run(name: str, cache: Path | bool) -> list[np.ndarray]:
    op, case = CASES[name]
    made = one_node(OPS[op], case, "weights")
    assert made is not None
    question = Question(OPS[op], name, made, made.feeds)
    session = question.session(samara.Backend("opencl", cache=cache))
    got = session.run(question.feeds)
    assert question.difference(got) == ""
    assert session.backend_report().failure == ""
    assert session.backend_report().device_runs == 1
    return list(got.values())


def _texels(images: Path) -> list[int]:
    return [int(line) for line in images.read_text().split()] if images.exists() else []


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("units", [1, 1_000_000], ids=["4x4", "1x4"])
def test_bits_of_an_image(
    name: str,
    units: int,
    as_gpu: Kernels,
    images: Path,
    verdict: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPU_UNITS", str(units))
    buffers = _run(name, verdict("buffers"))
    assert _texels(images) == []
    from_images = _run(name, verdict("images"))
    (texels,) = _texels(images)
    assert texels % 4 == 0  # panels of 16 columns
    assert [y.tobytes() for y in buffers] == [y.tobytes() for y in from_images]
    tile = "1x4" if units > 1 or "depthwise" in name else "4x4"
    assert f"{name}_{tile}" in as_gpu()[1]


@pytest.mark.parametrize("faster", ["images", "buffers"])
def test_the_faster_way_is_kept(
    faster: str, as_gpu: Kernels, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_SLOW", "images" if faster == "buffers" else "buffers")
    for attempt in range(12):  # as in `verdict`
        cache = tmp_path / f"cache{attempt}"
        images.unlink(missing_ok=True)
        _run("matmul_f32", cache)
        kept = len(_texels(images))
        if kept == (2 if faster == "images" else 1):  # the first was measured
            break
    else:
        pytest.fail(f"{faster} never were the faster way")
    # Known from now on, whatever would be measured; for kernels that cannot be measured, too.
    monkeypatch.setenv("GPU_SLOW", faster)
    for name in ("matmul_f32", "conv_f32"):
        images.unlink(missing_ok=True)
        _run(name, cache)
        assert len(_texels(images)) == (faster == "images")


def test_convolutions_alone_are_not_measured(as_gpu: Kernels, images: Path) -> None:
    _run("conv_f32", False)
    assert _texels(images) == []


@pytest.mark.parametrize("limit", ["GPU_TEXELS", "GPU_MOST_TEXELS"])
def test_weights_that_fit_no_image(
    limit: str, images: Path, verdict: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = verdict("images")
    want = _run("matmul_f32", cache)
    (texels,) = _texels(images)
    for most, made in ((texels, 1), (texels - 1, 0), (0, 0)):
        images.unlink()
        images.touch()
        monkeypatch.setenv(limit, str(most))
        got = _run("matmul_f32", cache)
        assert len(_texels(images)) == made
        assert [y.tobytes() for y in got] == [y.tobytes() for y in want]


@pytest.mark.parametrize("limit", ["GPU_TEXELS", "GPU_MOST_TEXELS"])
def test_a_device_that_has_no_images(
    limit: str, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_SLOW", "buffers")
    monkeypatch.setenv(limit, "0")
    _run("matmul_f32", tmp_path / "cache")
    assert _texels(images) == []
    # Nothing was found out, so it is measured once there are images.
    monkeypatch.delenv(limit)
    _run("matmul_f32", tmp_path / "cache")
    assert _texels(images) != []


@pytest.mark.parametrize("accuracy", ["default", "float16"])
@pytest.mark.parametrize("name", ["ultraface_rfb320", "yunet_s_dynamic", "mnist_cntk"])
def test_networks_have_the_bits_of_buffers(
    name: str,
    accuracy: str,
    models: Path,
    exported: Callable[[str], Path],
    images: Path,
    verdict: Callable[[str], Path],
) -> None:
    model, cases = exported(name), recorded(models / name)
    found: list[list[Any]] = []
    for faster in ("buffers", "images"):
        backend = samara.Backend("opencl", cache=verdict(faster))
        session = samara.Session(model, backend=backend, accuracy=accuracy)
        feeds = [{s.name: c.inputs[s.name] for s in session.inputs} for c in cases[:2]]
        found.append([{k: y.tobytes() for k, y in session.run(f).items()} for f in feeds])
        assert session.backend_report().failure == ""
        assert (len(_texels(images)) > 0) == (faster == "images")
    assert found[0] == found[1]


@pytest.mark.extended
@pytest.mark.parametrize("op", ["conv", "matmul"])
def test_all_cases(
    op: str, images: Path, verdict: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = examine(OPS[op], samara.Backend("opencl", cache=verdict("images")), quick=False).rows
    assert all(row.failed == 0 for row in rows), [row.failure for row in rows]
    assert _texels(images) != []
