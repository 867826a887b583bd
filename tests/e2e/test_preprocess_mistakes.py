# SPDX-License-Identifier: Apache-2.0
"""docs/guides/preprocessing-mistakes.md has the figures that benchmarks/preprocess_mistakes.py measures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks import preprocess_mistakes as lesson

from samara import preprocess

NEAR_TIES = 2  # digits of 1,797 whose two best classes may change places between instruction sets


@pytest.fixture
def net(models: Path, monkeypatch: pytest.MonkeyPatch) -> lesson.Net:
    monkeypatch.setenv("SAMARA_MODELS", str(models))
    return lesson.Net("mnist_cntk", softmax=True)


@pytest.mark.slow
def test_digits_are_those_of_the_page(net: lesson.Net, repo: Path) -> None:
    pytest.importorskip("sklearn", reason="NOT RUN: the digits (no scikit-learn)")
    page = (repo / "docs" / "guides" / "preprocessing-mistakes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|[^|]*\| ([\d,]+) \| ([\d.]+) % \|", page, re.M)
    said = {what: (int(first.replace(",", "")), float(share)) for what, first, share in rows}
    assert said.keys() == {
        c.what.replace("right", "nothing").replace("-1", "−1") for c in lesson.NUMBERS
    }
    pictures, labels = lesson.digits()
    for case in lesson.NUMBERS:
        first, share = said[case.what.replace("right", "nothing").replace("-1", "−1")]
        got = net.measured(case, pictures, labels)
        assert abs(got.first - first) <= NEAR_TIES, case.what
        assert share == round(100 * first / got.count, 1)


def test_what_finds_a_mistake(net: lesson.Net) -> None:
    right = lesson.NUMBERS[0]
    pixels = np.random.default_rng(0).integers(0, 256, (32, 8, 8)).astype(np.uint8)
    tensors = [{net.input: preprocess(right.record, p)} for p in pixels]
    assert net.said(right, tensors) == (
        "doubtful: the record gives numbers from 0 to 255",
        "nothing",
    )
    assert net.said(lesson.NUMBERS[3], tensors) == ("nothing", "range")
    assert net.said(lesson.Case("", "gray float32 nhwc resize=28x28"), tensors) == ("refused", "-")


def test_pictures_of_a_folder(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="NOT RUN: pictures in files (no pillow)")
    image.new("RGB", (8, 6)).save(tmp_path / "cat_281.jpg")
    (picture,), labels = lesson.photos(tmp_path)
    assert (picture.shape, labels) == ((6, 8, 3), [281])
