# SPDX-License-Identifier: Apache-2.0
"""What of the sample apps for Android needs no Android, on this machine's JVM: the faces and words that
Python finds, and where they lie on the screen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e import java
from tests.e2e.android_frames import (
    DATA,
    VIEW,
    Array,
    astronaut,
    face_of,
    mirrored,
    nv21,
    turned_boxes,
    view_of,
)

import samara

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="NOT RUN: java (Linux alone)"),
]

Example = Callable[[str], Any]
# Of the samples' files: those without classes of the system.
_PURE = {"faces": ("Placement", "FaceFinder"), "words": ("WordListener",)}
# (sensor, display, front) -> the rotation that Android's documentation has for phones: whose front
# cameras have sensors of 270 degrees and others of 90, and which are held upright, on a side, on the head.
_HELD = {
    (90, 0, False): 90,
    (90, 90, False): 0,
    (90, 180, False): 270,
    (90, 270, False): 180,
    (270, 0, True): 270,
    (270, 90, True): 0,
    (270, 180, True): 90,
    (270, 270, True): 180,
    (0, 0, True): 0,
    (0, 90, False): 270,
}
_PADDING = 24  # bytes behind a row of a frame


@pytest.fixture(scope="module")
def built(
    repo: Path,
    need_tool: Callable[[str, str], str],
    missing: Callable[[str, str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> java.Built:
    """The library, the samples' files and the tests' programs for them."""
    jdk = Path(need_tool("java", "javac")).resolve().parent.parent
    if not (jdk / "include" / "jni.h").is_file():
        missing("java", f"{jdk} holds no include/jni.h")
    made = java.build(repo, jdk, need_tool("cc", "cc"), tmp_path_factory.mktemp("samples"))
    sources = sorted((repo / "tests" / "e2e" / "java_samples").rglob("*.java"))
    for sample, names in _PURE.items():
        folder = repo / "android" / "samples" / sample / "src/main/java/dev/samara/samples" / sample
        sources += [folder / f"{name}.java" for name in names]
    path = os.pathsep.join(map(str, (made.classes, made.android)))
    javac = (jdk / "bin" / "javac", "-Xlint:all", "-Werror", "-cp", path)
    java.call(*javac, "-d", made.folder / "tests", *sources, cwd=made.folder)
    return made


@pytest.fixture(scope="module")
def faces(models: Path, example: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's model."""
    path = tmp_path_factory.mktemp("faces") / "faces.samara"
    example("face_detection").prepare(models / "ultraface_rfb320" / "model.onnx", path)
    return path


def _lines(printed: str) -> list[tuple[str, Array]]:
    return [
        (name, np.array([float(number) for number in rest]))
        for name, *rest in map(str.split, printed.splitlines())
    ]


def test_faces_are_those_of_python(built: java.Built, faces: Path, tmp_path: Path) -> None:
    """However the device is held and whichever camera looks, boxes lie on the face that is shown."""
    photo = astronaut()
    down, across = photo.shape[:2]
    session = samara.Session(faces)
    whole = face_of(session, samara.Image(photo, "rgb"))
    given: list[str | Path] = []
    for (sensor, display, front), rotation in _HELD.items():
        # A scene before the sensor, which a rotation clockwise makes upright.
        frame = np.rot90(photo, rotation // 90)
        path = tmp_path / f"{sensor}.{display}.{front}.yuv"
        path.write_bytes(nv21(frame, _PADDING))
        height, width = frame.shape[:2]
        given += [path, *map(str, (width, height, width + _PADDING, sensor, display, int(front)))]
    printed = _lines(
        built.java("FacesMain", faces, *given, android=True, package=_package("faces"))
    )
    assert [name for name, _ in printed] == ["rotation", "matrix", "mark", "box"] * len(_HELD)
    for i, ((sensor, _, front), rotation) in enumerate(_HELD.items()):
        (_, (turned,)), (_, matrix), (_, mark), (_, box) = printed[4 * i : 4 * i + 4]
        assert turned == rotation
        frame = np.rot90(photo, rotation // 90)
        height, width = frame.shape[:2]
        # The same numbers as Python's, whose boxes lie in the frame as it is in memory.
        picture = samara.Image(nv21(frame), "nv21", width, height, rotation=rotation)
        shown = turned_boxes(face_of(session, picture), rotation, width, height)
        shown = mirrored(shown, across) if front else shown
        np.testing.assert_allclose(box, view_of(shown, across, down)[0], atol=0.01)
        # Where the face is in the picture that the user sees; YUV halves the colours.
        seen = mirrored(whole, across) if front else whole
        np.testing.assert_allclose(box, view_of(seen, across, down)[0], atol=12)
        _check_preview(matrix.reshape(3, 3), mark, sensor, front, width, height)


def _check_preview(
    matrix: Array, mark: Array, sensor: int, front: bool, width: int, height: int
) -> None:
    """The transform brings a pixel of the preview to where its box is: the system has turned the preview by
    the sensor's degrees, mirrored it, and stretched it to the view.
    """
    frame = np.zeros((height, width), bool)
    frame[30, 20] = True
    picture = np.rot90(frame, -sensor // 90)
    picture = np.fliplr(picture) if front else picture
    (row,), (column,) = np.nonzero(picture)
    stretched = np.array([VIEW[0], VIEW[1]]) / picture.shape[::-1] * [column + 0.5, row + 0.5]
    moved = matrix @ [*stretched, 1]
    np.testing.assert_allclose(moved[:2], (mark[:2] + mark[2:]) / 2, atol=0.01)


def test_words_are_those_of_python(built: java.Built, example: Example, tmp_path: Path) -> None:
    task, model = example("keyword_spotting"), tmp_path / "words.samara"
    task.prepare(DATA / "words.onnx", model)
    sound = samara.Audio.open(DATA / "words.wav")
    (tmp_path / "words.pcm").write_bytes(np.asarray(sound.samples).astype("<i2").tobytes())
    heard, last = [], task.OTHER
    for word in samara.Session(model).predict_each(sound):
        assert isinstance(word, samara.Classification)
        if word.label not in (task.OTHER, last):
            heard.append(word.label)
        last = word.label
    assert heard == ["stop", "yes", "no"]
    given = (model, tmp_path / "words.pcm", str(sound.rate))
    assert built.java("WordsMain", *given, package=_package("words")).split() == heard


def _package(sample: str) -> str:
    return f"dev.samara.samples.{sample}."


def test_the_walk_of_the_page(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program in Python writes a file that takes pictures and names classes, by the name that the
    page's program in Java opens.
    """
    from samara.exporter.demo import digits_net

    page = (repo / "docs" / "guides" / "android-library.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "net.onnx").write_bytes(digits_net.onnx_model(digits_net.net().eval()))
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "android-library.md", "exec"), {})
    (model,) = tmp_path.glob("*.samara")
    assert f'"{model.name}"' in page.partition("// Example.java")[2].partition("```")[0]
    found = samara.Session(model).predict(np.zeros((20, 20), np.uint8))
    assert isinstance(found, samara.Classification)
    assert len(found.top) == 3
    assert {guess.label for guess in found.top} <= set(re.findall(r'"(\w+)"', program))
