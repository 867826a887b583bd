# SPDX-License-Identifier: Apache-2.0
"""A camera picture as model input, compared with OpenCV and libyuv on one thread: `python -m benchmarks.preprocess`.

All sides take turns in one process. It prints medians, minima, ratios of medians, and the share of the floor
that samara reaches: the time in which one core copies the bytes that must be read and written. OpenCV
(`pip install opencv-python-headless`) converts, rotates, resizes, subtracts and multiplies in separate calls, as
usual. With `--libyuv libyuv.so` (Debian's package libyuv0) that library converts, rotates and scales bilinearly,
and a loop in C makes the elements; this needs a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import samara
from samara.exporter.ir import Program
from samara.pybridge._native import library
from samara.pybridge.preprocess import image_struct

ROUNDS = 200
HALF = 127.5
SCALE = 1 / 128  # of int8
CAMERA, SMALL = (1920, 1080), (224, 224)
SCREEN, MIDDLE = (640, 480), (320, 320)
BILINEAR, CLOCKWISE = 2, 90  # libyuv's kFilterBilinear, kRotate90

Bytes = npt.NDArray[np.uint8]
Run = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A picture, its record, the other libraries' functions by name, and the bytes that are read and written."""

    name: str
    image: samara.Image
    record: str
    others: dict[str, Run]
    touched: int
    wanted: float  # required speed relative to OpenCV


class Libyuv:
    """libyuv, and the C loops after it. Pixels have four bytes."""

    def __init__(self, path: str, folder: Path) -> None:
        self.library = ctypes.CDLL(path)
        loops = folder / "loops.so"
        source = Path(__file__).with_name("preprocess_loops.c")
        flags = ("-O3", "-march=native", "-fPIC", "-shared")
        subprocess.run(["cc", *flags, str(source), "-o", str(loops)], check=True)
        self.loops = ctypes.CDLL(str(loops))

    def scaled(self, pixels: Bytes, out: Bytes) -> None:
        (height, width, _), (rows, columns, _) = pixels.shape, out.shape
        old = (_address(pixels), 4 * width, width, height)
        _check(self.library.ARGBScale(*old, _address(out), 4 * columns, columns, rows, BILINEAR))

    def turned(self, pixels: Bytes, out: Bytes) -> None:
        height, width, _ = pixels.shape
        old, new = (_address(pixels), 4 * width), (_address(out), 4 * height)
        _check(self.library.ARGBRotate(*old, *new, width, height, CLOCKWISE))

    def converted(self, camera: Bytes, out: Bytes) -> None:
        height, width, _ = out.shape
        luma, chroma = _address(camera), _address(camera, height * width)
        planes = (luma, width, chroma, width)
        _check(self.library.NV21ToARGB(*planes, _address(out), 4 * width, width, height))


def _address(array: npt.NDArray[Any], offset: int = 0) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data + offset)


def _check(status: int) -> None:
    if status != 0:
        raise SystemExit(f"libyuv returned {status}")


def _pixels(size: tuple[int, int]) -> Bytes:
    return np.zeros((size[1], size[0], 4), np.uint8)


def camera_by_opencv(cv2: Any, camera: Bytes) -> Run:
    def run() -> Any:
        rgb = cv2.cvtColor(camera, cv2.COLOR_YUV2RGB_NV21)
        return _normalized(cv2, cv2.resize(cv2.rotate(rgb, cv2.ROTATE_90_CLOCKWISE), SMALL))

    return run


def screen_by_opencv(cv2: Any, screen: Bytes) -> Run:
    def run() -> Any:
        small = cv2.resize(cv2.cvtColor(screen, cv2.COLOR_RGBA2RGB), MIDDLE)
        return np.stack(cv2.split(_normalized(cv2, small)))

    return run


def _normalized(cv2: Any, picture: Any) -> Any:
    floats = picture.astype(np.float32)
    return cv2.multiply(cv2.subtract(floats, (HALF,) * 4), (1 / HALF,) * 4)


def camera_by_libyuv(yuv: Libyuv, camera: Bytes, *, turns_first: bool) -> Run:
    """Rotate the large picture, as OpenCV's users do; rotating the small one is faster."""
    whole, turned = _pixels(CAMERA), _pixels((CAMERA[1], CAMERA[0]))
    flat, small = _pixels(SMALL), _pixels(SMALL)
    levels = (np.arange(256) - HALF) / HALF / SCALE
    table = np.clip(np.rint(levels), -128, 127).astype(np.int8)
    out = np.zeros((*SMALL, 3), np.int8)
    count = ctypes.c_size_t(SMALL[0] * SMALL[1])

    def run() -> Any:
        yuv.converted(camera, whole)
        if turns_first:
            yuv.turned(whole, turned)
            yuv.scaled(turned, small)
        else:
            yuv.scaled(whole, flat)
            yuv.turned(flat, small)
        yuv.loops.pixels_to_int8(count, _address(small), _address(table), _address(out))
        return out

    return run


def screen_by_libyuv(yuv: Libyuv, screen: Bytes) -> Run:
    small, out = _pixels(MIDDLE), np.zeros((3, *MIDDLE), np.float32)
    count = ctypes.c_size_t(MIDDLE[0] * MIDDLE[1])
    mean, scale = ctypes.c_float(HALF), ctypes.c_float(1 / HALF)

    def run() -> Any:
        yuv.scaled(screen, small)
        yuv.loops.pixels_to_planes(count, _address(small), mean, scale, _address(out))
        return out

    return run


def tasks(cv2: Any, yuv: Libyuv | None) -> list[Task]:
    rng = np.random.default_rng(0)
    camera = rng.integers(0, 256, (CAMERA[1] * 3 // 2, CAMERA[0]), np.uint8)
    screen = rng.integers(0, 256, (SCREEN[1], SCREEN[0], 4), np.uint8)
    of_camera = {"OpenCV": camera_by_opencv(cv2, camera)}
    of_screen = {"OpenCV": screen_by_opencv(cv2, screen)}
    if yuv is not None:
        of_camera["libyuv"] = camera_by_libyuv(yuv, camera, turns_first=True)
        of_camera["libyuv, turned last"] = camera_by_libyuv(yuv, camera, turns_first=False)
        of_screen["libyuv"] = screen_by_libyuv(yuv, screen)
    lines = 2 * SMALL[0]  # lines of Y, and as many of chroma, each a whole number of cache lines
    return [
        Task(
            "1080p NV21, turned by 90 degrees, to 224x224 int8",
            samara.Image(camera.tobytes(), "nv21", *CAMERA, rotation=90),
            f"rgb int8 nhwc resize=224x224 mean={HALF} std={HALF} quant={SCALE},0",
            of_camera,
            lines * CAMERA[0] + lines * CAMERA[0] // 2 + 3 * SMALL[0] * SMALL[1],
            5,
        ),
        Task(
            "640x480 RGBA to 320x320 float32 NCHW",
            samara.Image(screen, "rgba"),
            f"rgb float32 nchw resize=320x320 mean={HALF} std={HALF}",
            of_screen,
            screen.nbytes + 3 * MIDDLE[0] * MIDDLE[1] * 4,
            2,
        ),
    ]


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


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(task: Task, folder: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds of samara, of the others, and of copying the bytes, in rounds in which all take turns."""
    session = session_for(task, folder)
    native, kept = image_struct(task.image)
    set_image, handle = library().samara_session_set_image, session.handle
    if set_image(handle, 0, native):
        raise SystemExit(f"{task.name}: the picture was refused")
    source = np.zeros(task.touched // 2, np.uint8)
    target = np.ones_like(source)
    sides: dict[str, Run] = {"samara": lambda: set_image(handle, 0, native)}
    sides |= task.others | {"floor": lambda: np.copyto(target, source)}
    took: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            took[name].append(seconds(run))
    del kept
    return took


def report(task: Task, took: dict[str, list[float]]) -> None:
    middle = {name: statistics.median(times) for name, times in took.items()}
    ours = middle["samara"]
    print(f"{task.name}: {middle['floor'] / ours:.0%} of the floor")
    for name, times in took.items():
        ratio = "" if name in ("samara", "floor") else f", {middle[name] / ours:.1f}x"
        wanted = f" (wanted {task.wanted:g}x)" if name == "OpenCV" else ""
        print(
            f"  {name}: {middle[name] * 1e3:.3f} ms, at best {min(times) * 1e3:.3f}{ratio}{wanted}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures as inputs, beside other libraries.")
    parser.add_argument("--libyuv", metavar="LIBYUV.SO", help="measure this library, too")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    try:
        import cv2
    except ImportError:
        print("NOT RUN: OpenCV is not installed (pip install opencv-python-headless)")
        return 1
    cv2.setNumThreads(1)
    print(
        f"samara {samara.__version__}, OpenCV {cv2.__version__}, one thread, medians of {given.rounds}"
    )
    with tempfile.TemporaryDirectory() as folder:
        yuv = None if given.libyuv is None else Libyuv(given.libyuv, Path(folder))
        for task in tasks(cv2, yuv):
            report(task, measure(task, Path(folder), given.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
