# SPDX-License-Identifier: Apache-2.0
"""Parts of the JavaScript that a package leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import samara
from samara.exporter.package.web_script import cut, parts_of
from samara.pybridge import web_sources

KINDS = frozenset({"classes", "mask", "boxes", "keypoints"})
ALL = KINDS | {"images", "audio", "answers", "relaxed"}


def test_cut_keeps_the_licence_alone() -> None:
    assert cut("// SPDX\n// What it is.\na;// What\n", ()) == "// SPDX\na;// What\n"


def test_cut_follows_nested_parts() -> None:
    text = "a;/*! part answers */b;/*! part mask */c;/*! end */d;/*! end */e;"
    assert cut(text, {"answers", "mask"}) == "a;b;c;d;e;"
    assert cut(text, {"answers"}) == "a;b;d;e;"
    assert cut(text, {"mask"}) == "a;e;"


@pytest.mark.parametrize("name", ["samara.js", "samara-worker.js"])
def test_the_scripts_have_the_parts(name: str) -> None:
    text = (web_sources() / "package" / name).read_text("utf-8")
    marks = set(re.findall(r"/\*! part (\w+) \*/", text))
    assert marks == ALL
    assert text.count("/*! part ") == text.count("/*! end */")
    small = cut(text, ())
    assert "createImageBitmap" not in small
    assert "keypoints" not in small
    assert "keypoints" in cut(text, ALL)


def _classifier(path: Path) -> Path:
    program = samara.trace(
        samara.nn.Linear(4, 3), (samara.zeros(1, 4),), input_names=["x"], output_names=["scores"]
    )
    samara.export(program, path, postprocess="classify scores softmax")
    return path


def test_parts_are_those_of_the_records(tmp_path: Path) -> None:
    path = _classifier(tmp_path / "m.samara")
    assert parts_of(("answers", "images"), [path]) == {"answers", "images", "classes"}
    assert parts_of(("metadata",), [path]) == set()
    assert parts_of(("answers",), []) == KINDS | {"answers"}


def test_a_script_for_a_classifier_of_pictures_is_small() -> None:
    text = (web_sources() / "package" / "samara.js").read_text("utf-8")
    assert len(cut(text, {"images", "answers", "classes", "relaxed"}).encode()) <= 10 * 1024
