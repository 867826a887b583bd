# SPDX-License-Identifier: Apache-2.0
"""A library with one format of pictures and the steps of one record: the full library's bits, and
refusals of everything else."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.commands import python

import samara
from samara.exporter.measure.survey import needs_of
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.features import functions
from samara.exporter.package.lists import lists
from samara.exporter.package.runtime_build import for_target
from samara.exporter.package.selection import STEPS
from samara.exporter.package.targets import find_target
from samara.exporter.testing_images import random_case
from samara.pybridge import SamaraError, sources
from samara.pybridge.image_planes import FORMATS

# By the format that a library takes: the record of its model, and the parts that it needs.
RECORDS = {
    "nv21": (
        "rgb int8 nhwc resize=24x20 mean=127.5 std=127.5 quant=0.0078125,0",
        {"image_to_colour", "image_to_bytes"},
    ),
    "i420": (
        "gray uint8 hw resize=24x20 filter=area",
        {"image_to_gray", "image_to_bytes", "image_area"},
    ),
    "rgba": (
        "bgr float32 nchw letterbox=24x20:9 mean=1,2,3",
        {"image_to_colour", "image_to_float32"},
    ),
    "bgr": (
        "rgb float16 nhwc resize=9x7 antialias",
        {"image_to_colour", "image_to_float16", "image_antialias"},
    ),
    "gray": (
        "gray float32 nchw resize=24x20 filter=nearest",
        {"image_to_gray", "image_to_float32"},
    ),
}
PICTURES = 60


def answers(model: str, others: list[str]) -> dict[str, list[str]]:
    """What this process's library makes of pictures by a model's record, by format, and of other
    models: digests, or the words of the error."""
    found: dict[str, list[str]] = {}
    session = samara.Session(model)
    record = session.inputs[0].record
    assert isinstance(record, samara.ImageRecord)
    rng = np.random.default_rng(5)
    for _ in range(PICTURES):
        _, image = random_case(rng)
        made = _answer(partial(samara.preprocess, record, image))
        ran = _answer(partial(session.run, {"image": image}))
        found.setdefault(image.format, []).extend((made, ran))
    for path in others:
        found[path] = [_answer(partial(samara.Session, path))]
    return found


def _answer(run: Callable[[], Any]) -> str:
    try:
        made = run()
    except SamaraError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(made, samara.Session):
        return "opened"
    array = made["y"] if isinstance(made, dict) else made
    return hashlib.sha256(array.tobytes()).hexdigest()


def _model(path: Path, text: str) -> Path:
    record = samara.ImageRecord.parse(text)
    example = samara.tensor(np.zeros(record.shape(24, 20), np.dtype(record.dtype)))
    program = samara.trace(
        lambda image: image.reshape(-1), (example,), input_names=["image"], output_names=["y"]
    )
    samara.export(program, path, preprocess={"image": text})
    return path


def library(path: Path, model: Path, wanted: tuple[str, ...]) -> frozenset[str]:
    """Build a library for a model, with features; its parts of pictures."""
    selection = for_target(needs_of(model).selection, find_target("host"), wanted=wanted)
    root = sources()
    text = amalgamate(
        lists(selection, root), exports=functions(selection.features or ()), sources=root
    )
    source = path.with_suffix(".c")
    source.write_text(text.source)
    flags = ("-Og", "-g0", "-w", "-fPIC", "-shared", f"-I{root / 'include'}")
    subprocess.run(["cc", *flags, str(source), "-o", str(path), "-lm", "-lpthread"], check=True)
    assert selection.parts is not None
    return frozenset(part for part in selection.parts if part.startswith(tuple(STEPS)))


def _ask(library: Path, model: Path, others: Iterable[Path]) -> dict[str, list[str]]:
    code = (
        "import json, sys; from tests.e2e.test_selective_images import answers;"
        "print(json.dumps(answers(sys.argv[1], sys.argv[2:])))"
    )
    paths = os.pathsep.join([os.getcwd(), *sys.path])
    said = python("-c", code, model, *others, SAMARA_LIBRARY=str(library), PYTHONPATH=paths)
    found: dict[str, list[str]] = json.loads(said)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_one_format_and_one_record(
    name: str, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    need_tool("cc", "cc")
    models = {
        each: _model(tmp_path / f"{each}.samara", text) for each, (text, _) in RECORDS.items()
    }
    model, needs = models.pop(name), RECORDS[name][1]
    built = tmp_path / "libsamara.so"
    held = library(built, model, ("files", "threads", f"image_{name}"))
    assert held == {f"image_from_{name}", *needs}
    full, found = answers(str(model), []), _ask(built, model, models.values())
    assert full.keys() == FORMATS.keys()
    for format, wanted in full.items():
        if format == name:
            assert found[format] == wanted
            continue
        refused = f"{format.upper()} picture: this build takes {name.upper()} pictures only"
        for answer in found[format]:
            assert answer.startswith("UnsupportedError")
            assert refused in answer
    for other, path in models.items():
        lacks = RECORDS[other][1] - needs
        (opened,) = found[str(path)]
        if lacks:
            assert opened.startswith("UnsupportedError")
            assert any(f"this build leaves out {part}" in opened for part in lacks)
        else:
            assert opened == "opened"
