# SPDX-License-Identifier: Apache-2.0
"""A camera's picture as a model's input, beside OpenCV on one thread: `python -m benchmarks.preprocess`.

Both sides take turns in one process; printed are medians, their ratio, and which part of the floor samara
reaches: the time in which one core copies the bytes that must be read and written. OpenCV converts, turns,
resizes, subtracts and multiplies, as its users do: `pip install opencv-python-headless`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara.exporter.ir import Program
from samara.pybridge._native import library
from samara.pybridge.preprocess import image_struct

ROUNDS = 60
HALF = 127.5


@dataclass(frozen=True, slots=True)
class Task:
    """A picture, the record that it goes by, the same with OpenCV, and the bytes that are read and written."""

    name: str
    image: samara.Image
    record: str
    opencv: Callable[[Any], Any]
    touched: int
    wanted: float  # times as fast as OpenCV


def tasks() -> list[Task]:
    rng = np.random.default_rng(0)
    camera = rng.integers(0, 256, (1620, 1920), np.uint8)
    screen = rng.integers(0, 256, (480, 640, 4), np.uint8)

    def from_camera(cv2: Any) -> Any:
        rgb = cv2.cvtColor(camera, cv2.COLOR_YUV2RGB_NV21)
        small = cv2.resize(cv2.rotate(rgb, cv2.ROTATE_90_CLOCKWISE), (224, 224))
        return _normalized(cv2, small)

    def from_screen(cv2: Any) -> Any:
        small = cv2.resize(cv2.cvtColor(screen, cv2.COLOR_RGBA2RGB), (320, 320))
        return np.stack(cv2.split(_normalized(cv2, small)))

    lines = 2 * 224  # of 1080, and of the chroma as many, each a whole number of cache lines
    return [
        Task(
            "1080p NV21, turned by 90 degrees, to 224x224 int8",
            samara.Image(camera.tobytes(), "nv21", 1920, 1080, rotation=90),
            f"rgb int8 nhwc resize=224x224 mean={HALF} std={HALF} quant=0.0078125,0",
            from_camera,
            lines * 1920 + lines * 1920 // 2 + 3 * 224 * 224,
            5,
        ),
        Task(
            "640x480 RGBA to 320x320 float32 NCHW",
            samara.Image(screen, "rgba"),
            f"rgb float32 nchw resize=320x320 mean={HALF} std={HALF}",
            from_screen,
            screen.nbytes + 3 * 320 * 320 * 4,
            2,
        ),
    ]


def _normalized(cv2: Any, picture: Any) -> Any:
    floats = picture.astype(np.float32)
    return cv2.multiply(cv2.subtract(floats, (HALF,) * 4), (1 / HALF,) * 4)


def session_for(task: Task, folder: Path) -> samara.Session:
    """A session with an input that the record fits."""
    record = samara.ImageRecord.parse(task.record)
    shape = record.shape(*task.image.size)
    dtype = np.dtype(record.dtype)
    example = samara.tensor(np.zeros(shape, dtype))
    program: Program = samara.trace(
        lambda image: image.reshape(-1), (example,), input_names=["image"], output_names=["y"]
    )
    path = folder / "m.samara"
    samara.export(program, path, preprocess={"image": task.record})
    return samara.Session(path, threads=1)


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(task: Task, cv2: Any, folder: Path) -> tuple[float, float, float]:
    """Seconds of samara, of OpenCV and of copying the bytes: medians of rounds that take turns."""
    session = session_for(task, folder)
    native, kept = image_struct(task.image)
    set_image, handle = library().samara_session_set_image, session.handle
    if set_image(handle, 0, native):
        raise SystemExit(f"{task.name}: the picture was refused")
    source = np.zeros(task.touched // 2, np.uint8)
    target = np.ones_like(source)
    took: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(ROUNDS):
        took[0].append(seconds(lambda: set_image(handle, 0, native)))
        took[1].append(seconds(lambda: task.opencv(cv2)))
        took[2].append(seconds(lambda: np.copyto(target, source)))
    del kept
    ours, theirs, floor = map(statistics.median, took)
    return ours, theirs, floor


def main() -> int:
    try:
        import cv2
    except ImportError:
        print("NOT RUN: OpenCV is not installed (pip install opencv-python-headless)")
        return 1
    cv2.setNumThreads(1)
    print(f"samara {samara.__version__}, OpenCV {cv2.__version__}, one thread, {ROUNDS} rounds")
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks():
            ours, theirs, floor = measure(task, cv2, Path(folder))
            print(
                f"{task.name}: {ours * 1e3:.3f} ms, OpenCV {theirs * 1e3:.3f} ms,"
                f" {theirs / ours:.1f}x (wanted {task.wanted:g}x); floor {floor * 1e3:.3f} ms,"
                f" {floor / ours:.0%} of it"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
