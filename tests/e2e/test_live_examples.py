# SPDX-License-Identifier: Apache-2.0
"""camera.py and microphone.py on pictures and sound of this test: no device, but what stands for its package."""

from __future__ import annotations

import re
import runpy
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import samara

Run = Callable[..., str]
SOUND = "logmel float32 ntf rate=16000 window=400 hop=160 center bins=8 frames=4"


@pytest.fixture
def run(repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """What an example prints, run in this process."""

    def ran(name: str, *options: str | Path) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, options)])
        runpy.run_path(str(repo / "examples" / name), run_name="__main__")
        return capsys.readouterr().out

    return ran


# ---- the camera ----


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    """A model that names the strongest colour."""
    program = samara.trace(
        lambda image: image.mean((2, 3)),
        (samara.zeros(1, 3, 4, 6),),
        input_names=["image"],
        output_names=["y"],
    )
    samara.export(
        program,
        tmp_path / "colours.samara",
        preprocess={"image": "rgb float32 nchw resize=6x4 scale=0.003921569"},
        postprocess="classify y top=1",
        labels=["red", "green", "blue"],
    )
    return tmp_path / "colours.samara"


def pictures() -> list[Any]:
    """RGB, red, green and blue ones."""
    made = []
    for channel in range(3):
        picture = np.full((20, 30, 3), 10, np.uint8)
        picture[..., channel] = 200
        made.append(picture)
    return made


class Capture:
    """As cv2.VideoCapture: blue, green, red."""

    made: list[Capture]

    def __init__(self, source: int | str) -> None:
        self.source = source
        self.left = [np.ascontiguousarray(p[..., ::-1]) for p in pictures()]
        self.released = False
        Capture.made.append(self)

    def isOpened(self) -> bool:
        return self.source != 7

    def read(self) -> tuple[bool, Any]:
        return (True, self.left.pop(0)) if self.left else (False, None)

    def release(self) -> None:
        self.released = True


@pytest.fixture
def opencv(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    Capture.made = []
    shown: list[Any] = []
    module = SimpleNamespace(
        VideoCapture=Capture, imshow=lambda _name, p: shown.append(p), shown=shown, key=-1
    )
    module.waitKey = lambda _ms: module.key
    monkeypatch.setitem(sys.modules, "cv2", module)
    return module


def labels(printed: str) -> list[str]:
    return re.findall(r"^\d+: [\d.]+ ms, Classification\((\w+) 0\.78\d\)$", printed, re.M)


def test_a_camera(run: Run, colours: Path, opencv: SimpleNamespace, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="NOT RUN: drawing (no pillow)")
    printed = run("camera.py", colours, "--draw", tmp_path / "out", "--show")
    assert labels(printed) == ["red", "green", "blue"]
    (capture,) = Capture.made
    assert (capture.source, capture.released) == (0, True)
    assert [p.name for p in sorted((tmp_path / "out").iterdir())] == [
        f"{i:06}.png" for i in range(3)
    ]
    for number, (picture, shown) in enumerate(zip(pictures(), opencv.shown, strict=True)):
        drawn = np.asarray(image.open(tmp_path / "out" / f"{number:06}.png"))
        assert np.array_equal(drawn, shown[..., ::-1])
        assert (drawn[-1, -1] == picture[-1, -1]).all()  # the label is at the top


def test_a_camera_stops(run: Run, colours: Path, opencv: SimpleNamespace) -> None:
    assert labels(run("camera.py", colours, "--source", "1", "--frames", "2")) == ["red", "green"]
    assert (Capture.made[0].source, Capture.made[0].released) == (1, True)
    opencv.key = ord("q")
    assert labels(run("camera.py", colours, "--source", "film.mp4", "--show")) == ["red"]
    assert Capture.made[1].source == "film.mp4"
    with pytest.raises(SystemExit, match="OpenCV cannot open 7"):
        run("camera.py", colours, "--source", "7")


def test_a_folder_needs_no_opencv(
    run: Run, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL", reason="NOT RUN: pictures in files (no pillow)")
    monkeypatch.setitem(sys.modules, "cv2", None)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i, picture in enumerate(pictures()):
        (folder / f"{i}.ppm").write_bytes(b"P6 30 20 255\n" + picture.tobytes())
    assert labels(run("camera.py", colours, "--source", folder)) == ["red", "green", "blue"]
    with pytest.raises(SystemExit, match="pip install opencv-python"):
        run("camera.py", colours)


# ---- the microphone ----


@pytest.fixture
def samples(rng: np.random.Generator) -> Any:
    return rng.integers(-9000, 9000, 16000).astype(np.int16)


def model(path: Path, **options: Any) -> Path:
    samara.manual_seed(0)
    net = samara.nn.Sequential(samara.nn.Flatten(), samara.nn.Linear(32, 3), samara.nn.Softmax(1))
    program = samara.trace(
        net.eval(), (samara.zeros(1, 4, 8),), input_names=["audio"], output_names=["y"]
    )
    samara.export(program, path, preprocess={"audio": SOUND}, **options)
    return path


def wav(path: Path, samples: Any) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.tobytes())
    return path


@pytest.mark.parametrize("seconds", ["0.01", "0.1", "0.33", "5"])
def test_portions_give_what_the_recording_gives(
    run: Run, tmp_path: Path, samples: Any, seconds: str
) -> None:
    path, file = model(tmp_path / "m.samara"), wav(tmp_path / "a.wav", samples)
    wanted = [str(outputs) for outputs in samara.Session(path).listen(samples)]
    printed = run("microphone.py", path, "--recording", file, "--seconds", seconds)
    got = re.split(r"^\d+: ", printed, flags=re.M)[1:]
    assert len(got) >= 23
    assert [text.rstrip("\n") for text in got] == wanted


def test_answers_have_labels(run: Run, tmp_path: Path, samples: Any) -> None:
    path = model(
        tmp_path / "m.samara", postprocess="classify y top=1", labels=["yes", "no", "stop"]
    )
    printed = run("microphone.py", path, "--recording", wav(tmp_path / "a.wav", samples))
    assert len(printed.splitlines()) >= 23
    assert all(
        re.fullmatch(r"\d+: Classification\((yes|no|stop) [\d.]+\)", x)
        for x in printed.splitlines()
    )


class Stream:
    """As sounddevice.InputStream, with Ctrl-C at the end."""

    samples: Any
    opened: tuple[Any, ...] = ()

    def __init__(self, rate: int, *, device: Any, channels: int, dtype: str) -> None:
        Stream.opened = (rate, device, channels, dtype)
        self.at = 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        Stream.opened += ("closed",)

    def read(self, count: int) -> tuple[Any, bool]:
        if self.at >= len(self.samples):
            raise KeyboardInterrupt
        part = self.samples[self.at : self.at + count].reshape(-1, 1)
        lost, self.at = self.at == 0, self.at + count
        return part, lost


def test_a_microphone(
    run: Run, tmp_path: Path, samples: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, file = model(tmp_path / "m.samara"), wav(tmp_path / "a.wav", samples)
    monkeypatch.setattr(Stream, "samples", samples, raising=False)
    monkeypatch.setitem(sys.modules, "sounddevice", SimpleNamespace(InputStream=Stream))
    printed = run("microphone.py", path, "--device", "3")
    assert printed == run("microphone.py", path, "--recording", file)
    assert Stream.opened == (16000, 3, 1, "int16", "closed")


def test_a_microphone_needs_its_package(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(SystemExit, match="pip install sounddevice"):
        run("microphone.py", model(tmp_path / "m.samara"))
