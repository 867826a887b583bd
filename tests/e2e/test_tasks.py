# SPDX-License-Identifier: Apache-2.0
"""Tasks from end to end: what the examples in Python print is what the ones in C print, digit by digit,
and their answers are those of Pillow, NumPy and ONNX Runtime (tasks/make_answers.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.e2e.answer_cases import FACE_RECORDS
from tests.e2e.commands import quietly, ran

import samara

Run = Callable[..., str]
Example = Callable[[str], Any]
Array = npt.NDArray[Any]
Answers = dict[str, Array]
Ppm = Callable[[str], Path]
DATA = Path(__file__).parent / "tasks"
PICTURES = ("face_detection", "super_resolution", "handwritten_digits")
SOUNDS = ("voice_activity", "keyword_spotting")


@pytest.fixture(scope="session")
def answers() -> Answers:
    """What tasks/make_answers.py recorded."""
    with np.load(DATA / "answers.npz") as file:
        return dict(file)


@pytest.fixture
def ppm(tmp_path: Path) -> Ppm:
    """`ppm("digits")`: the pixels of digits.jpg as a PPM file."""
    pil = pytest.importorskip("PIL.Image", reason="NOT RUN: pictures in files (no pillow)")

    def write(name: str) -> Path:
        with pil.open(DATA / f"{name}.jpg") as picture:
            picture.save(tmp_path / f"{name}.ppm")
        return tmp_path / f"{name}.ppm"

    return write


@pytest.fixture
def in_c(built: Path) -> Run:
    """`in_c("voice_activity", model, "a.wav")`: what a program in C prints; it must exit with 0."""

    def run(name: str, *arguments: str | Path) -> str:
        return quietly(built / name, *arguments, timeout=120)

    return run


def test_faces(
    models: Path, ppm: Ppm, run_example: Run, in_c: Run, answers: Answers, tmp_path: Path
) -> None:
    onnx, model = models / "ultraface_rfb320" / "model.onnx", tmp_path / "faces.samara"
    said = run_example(
        *(tmp_path, "face_detection.py", onnx, DATA / "astronaut.jpg"),
        *("--model", model, "--draw", tmp_path / "python.png"),
    )
    assert in_c("face_detection", model, ppm("astronaut"), tmp_path / "c.ppm") == said
    assert said.startswith("face 0.99999")
    faces = samara.Session(model).predict(DATA / "astronaut.jpg")
    assert isinstance(faces, samara.Detections)
    # Pillow rounds to 8 bits after each axis, so pixels of the input differ by up to one step of 256
    # (docs/guides/preprocessing.md); a pixel of the input is 1.6 by 2.1 of the picture's.
    np.testing.assert_allclose(faces.boxes, answers["face_boxes"], atol=0.5)
    np.testing.assert_allclose(faces.scores, answers["face_scores"], atol=1e-5)
    # Both draw around the face, and nowhere else.
    before = samara.Image.open(DATA / "astronaut.jpg").pixels()
    ((x0, y0, x1, y1),) = faces.boxes
    for drawn in (tmp_path / "python.png", tmp_path / "c.ppm"):
        changed = (samara.Image.open(drawn).pixels() != before).any(2)
        rows, columns = np.nonzero(changed[int(y0) :])
        assert abs(columns.min() - x0) < 4
        assert abs(columns.max() - x1) < 4
        assert abs(rows.max() + int(y0) - y1) < 4
        assert not changed[int(y0) + 10 : int(y1) - 10, int(x0) + 10 : int(x1) - 10].any()


def test_faces_of_another_net(models: Path, in_c: Run, answers: Answers, tmp_path: Path) -> None:
    """The program in C knows no net: YuNet's record has a letterbox and anchors."""
    shapes = {"input": (1, 3, 320, 320)}
    samara.export(
        samara.import_onnx(models / "yunet_s_dynamic" / "model.onnx", shapes=shapes),
        tmp_path / "yunet.samara",
        preprocess={"input": "bgr float32 nchw letterbox=320x320"},
        postprocess=FACE_RECORDS["yunet_s_dynamic"],
        labels=["somebody"],
    )
    # Twice as wide as high, so that there is something around the letterbox.
    with_edge = np.zeros((512, 1024, 3), np.uint8)
    with_edge[:, 256:768] = samara.Image.open(DATA / "astronaut.jpg").pixels()
    (tmp_path / "wide.ppm").write_bytes(b"P6 1024 512 255\n" + with_edge.tobytes())
    faces = samara.Session(tmp_path / "yunet.samara").predict(with_edge)
    assert isinstance(faces, samara.Detections)
    (face,) = faces
    x0, y0, x1, y1 = face.box
    said = f"somebody {face.score:.9g} from {x0:.9g},{y0:.9g} to {x1:.9g},{y1:.9g}\n"
    assert in_c("face_detection", tmp_path / "yunet.samara", tmp_path / "wide.ppm") == said
    # The nets do not agree on where a face ends, but to a tenth of its size.
    ultraface = answers["face_boxes"][0] + (256, 0, 256, 0)
    np.testing.assert_allclose((x0, y0, x1, y1), ultraface, atol=12)


def test_a_large_picture(
    models: Path, ppm: Ppm, run_example: Run, in_c: Run, answers: Answers, tmp_path: Path
) -> None:
    onnx, model = models / "super_resolution" / "model.onnx", tmp_path / "large.samara"
    said = run_example(
        *(tmp_path, "super_resolution.py", onnx, DATA / "astronaut.jpg", "python.png"),
        *("--model", model),
    )
    assert in_c("super_resolution", model, ppm("astronaut"), tmp_path / "c.ppm") == said
    assert said == "224x224 pixels to 672x672\n"
    large = samara.Image.open(tmp_path / "python.png").pixels()
    np.testing.assert_array_equal(samara.Image.open(tmp_path / "c.ppm").pixels(), large)
    # The recorded pixels are not rounded, which is half a step. Pillow rounds the enlarged colours
    # after each axis, which is up to one, and up to one of the brightness that is taken from them.
    difference = abs(large[::8, ::8] - answers["large"])
    assert difference.max() <= 2.5
    assert difference.mean() < 0.3  # 0.25 are of the last rounding


def test_digits(
    models: Path,
    ppm: Ppm,
    run_example: Run,
    in_c: Run,
    answers: Answers,
    example: Example,
    tmp_path: Path,
) -> None:
    onnx, model = models / "mnist_cntk" / "model.onnx", tmp_path / "digits.samara"
    said = run_example(
        *(tmp_path, "handwritten_digits.py", onnx, DATA / "digits.jpg", "--model", model)
    )
    assert in_c("handwritten_digits", model, ppm("digits")) == said
    assert "".join(line[0] for line in said.splitlines()) == "7204193"
    task = example("handwritten_digits")
    sheet = task.clean(DATA / "digits.jpg")
    boxes = list(task.digits_of(sheet))
    np.testing.assert_array_equal(boxes, answers["digit_boxes"])
    session = samara.Session(model)
    (name,) = (output.name for output in session.outputs)
    for box, wanted in zip(boxes, answers["digit_logits"], strict=True):
        logits = session.run(task.square_of(sheet, *box))[name][0]
        assert logits.argmax() == wanted.argmax()
        # A step of 256 in every pixel, of Pillow's rounding, changes logits by less than 1 % of them.
        np.testing.assert_allclose(logits, wanted, atol=0.01 * abs(wanted).max())


def test_speech(
    models: Path, run_example: Run, in_c: Run, answers: Answers, example: Example, tmp_path: Path
) -> None:
    onnx, model = models / "silero_vad_v5" / "model.onnx", tmp_path / "speech.samara"
    wav = DATA / "speech.wav"
    said = run_example(tmp_path, "voice_activity.py", onnx, wav, "--model", model)
    assert in_c("voice_activity", model, wav) == said
    heard = [line for line in said.splitlines() if line.startswith("speech")]
    assert heard == ["speech from 0.320 s to 1.088 s", "speech from 1.408 s to 2.080 s"]
    found = example("voice_activity").probabilities(model, wav)
    np.testing.assert_allclose(found, answers["speech"], atol=1e-4)


def test_words(run_example: Run, in_c: Run, answers: Answers, tmp_path: Path) -> None:
    model, wav = tmp_path / "words.samara", DATA / "words.wav"
    said = run_example(
        *(tmp_path, "keyword_spotting.py", DATA / "words.onnx", wav, "--model", model)
    )
    assert in_c("keyword_spotting", model, wav) == said
    heard = [line.split()[2] for line in said.splitlines() if line.endswith(" heard")]
    assert heard == ["stop", "yes", "no"]
    found = [outputs["scores"][0] for outputs in samara.Session(model).listen(wav)]
    np.testing.assert_allclose(found, answers["words"], atol=1e-4)


# ---- what is no model, picture or sound ----


def _refused(*command: str | Path) -> str:
    """What is said against it: one line, and exit code 1."""
    done = ran(*command, timeout=60)
    assert done.returncode == 1, (command, done.stdout, done.stderr)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture
def another(newest_golden: Path) -> Path:
    """A model that is not the task's: its first input takes pictures, which mean something else."""
    return newest_golden


@pytest.mark.parametrize("name", [*PICTURES, *SOUNDS])
def test_arguments_are_checked(built: Path, tmp_path: Path, another: Path, name: str) -> None:
    given = ["a.samara", "b", *(["out.ppm"] if name == "super_resolution" else [])]
    assert _refused(built / name).startswith(f"usage: {name} MODEL.samara ")
    assert _refused(built / name, *given, "more", "and more").startswith("usage: ")
    assert "a.samara: " in _refused(built / name, *given)
    (tmp_path / "cut.samara").write_bytes(another.read_bytes()[:1000])
    assert "cut.samara: " in _refused(built / name, tmp_path / "cut.samara", *given[1:])
    assert "nothing: cannot be read" in _refused(built / name, another, "nothing", *given[2:])
    assert "cannot be read" in _refused(built / name, another, tmp_path, *given[2:])


P6 = b"P6\n# 12 pixels\n4 3\n255\n" + bytes(36)
BAD_PICTURES = {
    b"": "is empty",
    b"P3\n1 1\n255\n1 2 3": "is no PPM file of 8 bits",
    b"P6\n1 1\n65535\n" + bytes(6): "is no PPM file of 8 bits",
    b"P6\n0 1\n255\n" + bytes(6): "has sides outside 1..16384",
    b"P6\n1 16385\n255\n" + bytes(6): "has sides outside 1..16384",
    b"P6\n99999999999999999999 1\n255\n": "is no PPM file of 8 bits",
    b"P6\n-1 1\n255\n" + bytes(6): "is no PPM file of 8 bits",
    b"P6\n16384 16384\n255\n" + bytes(6): "is cut off",
    **{P6[:n]: "" for n in range(1, len(P6))},
}


@pytest.mark.parametrize("name", PICTURES)
def test_bad_pictures(built: Path, tmp_path: Path, another: Path, name: str) -> None:
    picture, out = tmp_path / "bad.ppm", [tmp_path / "out.ppm"] * (name == "super_resolution")
    for data, fault in BAD_PICTURES.items():
        picture.write_bytes(data)
        assert f"{picture}: {fault}" in _refused(built / name, another, picture, *out)
    picture.write_bytes(P6)  # a good one, which the model cannot take
    assert str(picture) not in _refused(built / name, another, picture, *out)
    assert not (tmp_path / "out.ppm").exists()


def _wav(
    *, kind: int = 1, channels: int = 2, rate: int = 8000, bits: int = 16, count: int = 16
) -> bytes:
    """A WAV file that begins with an unknown chunk of three bytes."""
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, kind, channels, rate, 0, 0, bits)
    body = b"WAVEjunk\3\0\0\0abc\0" + fmt + struct.pack("<4sI", b"data", count) + bytes(count)
    return struct.pack("<4sI", b"RIFF", len(body)) + body


BAD_SOUNDS = {
    b"": "is empty",
    b"OggS" + bytes(60): "is not a WAV file",
    _wav(kind=3, bits=32): "is not of 16-bit PCM",
    _wav(bits=8): "is not of 16-bit PCM",
    _wav(channels=0): "has no rate, or not 1 to 32 channels",
    _wav(channels=33): "has no rate, or not 1 to 32 channels",
    _wav(rate=0): "has no rate, or not 1 to 32 channels",
    _wav().replace(b"data", b"DATA"): "has no sound",
    _wav().replace(b"fmt ", b"FMT "): "has no sound",
    **{_wav()[:n]: "" for n in range(1, len(_wav()))},
}


@pytest.mark.parametrize("name", SOUNDS)
def test_bad_sounds(built: Path, tmp_path: Path, another: Path, name: str) -> None:
    sound = tmp_path / "bad.wav"
    for data, fault in BAD_SOUNDS.items():
        sound.write_bytes(data)
        assert f"{sound}: {fault}" in _refused(built / name, another, sound)
    sound.write_bytes(_wav())  # a good one, which the model cannot take
    said = _refused(built / name, another, sound)
    assert said == f"{another}: does not say how sound becomes its input"
