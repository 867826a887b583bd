# SPDX-License-Identifier: Apache-2.0
"""Libraries with the steps of one record of sound, or of one kind of answer: the full library's bits, and
refusals of files that need another."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import python
from tests.e2e.test_selective_images import library

import samara
from samara.pybridge import SamaraError

# By the kind: a record of sound, and the parts that it needs.
SOUND = {
    "samples": ("samples float32 ntf rate=8000 window=64", set()),
    "spectrum": ("spectrum float32 ntf rate=8000 window=64 frames=2", {"audio_spectrum"}),
    "logmel": ("logmel float32 ntf rate=8000 window=64 bins=4", {"audio_spectrum", "audio_mel"}),
    "mfcc": (
        "mfcc float32 ntf rate=8000 window=64 bins=6 coefficients=5",
        {"audio_spectrum", "audio_mel", "audio_cosines"},
    ),
}
# By the kind: a record of an answer of the output y, and its shape.
ANSWERS = {
    "classes": ("classify y softmax", (1, 6)),
    "mask": ("mask y", (1, 3, 4, 5)),
    "boxes": ("boxes corners box=y[:4] score=y[4:]", (1, 7, 6)),
    "keypoints": ("keypoints points=y", (1, 4, 3)),
}


def found(paths: Sequence[str]) -> list[str]:
    """What this process's library makes of models: the outputs or the answer as text, or the error."""
    said = []
    rng = np.random.default_rng(5)
    samples = (rng.standard_normal(1000) * 9000).astype(np.int16)
    y = rng.standard_normal(200).astype(np.float32)
    for path in paths:
        try:
            session = samara.Session(path)
            spec = session.inputs[0]
            if spec.record is not None:
                outputs = [o["y"].tobytes().hex() for o in session.listen(samples)]
                said.append("".join(outputs))
            else:
                shape = [int(n) for n in spec.shape]
                said.append(repr(session.predict(y[: int(np.prod(shape))].reshape(shape))))
        except SamaraError as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def ask(path: Path, models: Sequence[Path]) -> list[str]:
    """What a library makes of them."""
    code = (
        "import json, sys; from tests.e2e.test_selective_media import found;"
        "print(json.dumps(found(sys.argv[1:])))"
    )
    paths = os.pathsep.join([os.getcwd(), *sys.path])
    said = python("-c", code, *models, SAMARA_LIBRARY=str(path), PYTHONPATH=paths)
    answers: list[str] = json.loads(said)
    return answers


def check(
    kind: str, models: dict[str, Path], needs: dict[str, set[str]], folder: Path, feature: str
) -> None:
    names = list(models)
    held = library(folder / "libsamara.so", models[kind], ("files", "threads", "metadata", feature))
    assert held == needs[kind]
    full = found([str(path) for path in models.values()])
    got = dict(zip(names, ask(folder / "libsamara.so", list(models.values())), strict=True))
    for name, wanted in zip(names, full, strict=True):
        lacks = needs[name] - needs[kind]
        if lacks:
            assert got[name].startswith("UnsupportedError")
            assert any(f"this build leaves out {part}" in got[name] for part in lacks)
        else:
            assert got[name] == wanted
            assert "Error" not in wanted


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOUND)
def test_steps_of_sound(kind: str, tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    need_tool("cc", "cc")
    models = {}
    for name, (text, _) in SOUND.items():
        shape = samara.AudioRecord.parse(text).tensor_shape
        program = samara.trace(
            lambda audio: audio.reshape(-1),
            (samara.zeros(*shape),),
            input_names=["audio"],
            output_names=["y"],
        )
        models[name] = tmp_path / f"{name}.samara"
        samara.export(program, models[name], preprocess={"audio": text})
    check(kind, models, {name: parts for name, (_, parts) in SOUND.items()}, tmp_path, "audio")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ANSWERS)
def test_kinds_of_answers(kind: str, tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    need_tool("cc", "cc")
    models = {}
    for name, (text, shape) in ANSWERS.items():
        program = samara.trace(
            lambda x: x.reshape(x.shape),
            (samara.zeros(*shape),),
            input_names=["x"],
            output_names=["y"],
        )
        models[name] = tmp_path / f"{name}.samara"
        samara.export(program, models[name], postprocess=text)
    check(kind, models, {name: {f"answer_{name}"} for name in ANSWERS}, tmp_path, "answers")
