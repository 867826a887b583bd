# SPDX-License-Identifier: Apache-2.0
"""Small models that the programs of tests/e2e/java run, and what Python says of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.pybridge import conftest as small

import samara
from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.testing import small_onnx
from samara.pybridge.tuned import tuned_header

LABELS = ["ant", "bee", "cat", "dög \U0001f600"]
SOUND = "logmel float32 ntf rate=16000 window=400 hop=160 bins=8 frames=6 step=2"
_PICTURE = {"image": "rgb float32 nchw resize=8x8 std=255"}
_BOXES = (
    "boxes corners box=out[0:4] score=out[4:6] points=out[6:10] units=ratio threshold=-1000 iou=1"
)
_WIDTH, _HEIGHT = 12, 10


def write(folder: Path) -> None:
    """The models, each as NAME.samara."""
    export(import_onnx(small_onnx()), folder / "small.samara", check=False)
    made: dict[str, Callable[[Path], Path]] = {
        "golden": lambda f: small.dense(f, golden=True),
        "static": lambda f: small.dense(f, rows=2),
        "dtypes": small.every_dtype,
        "counter": small.counter,
        "loop": small.counting_loop,
        "two": small.two_functions,
    }
    for name, make in made.items():
        path = make(folder)
        if path.name != f"{name}.samara":
            shutil.move(path, folder / f"{name}.samara")
    program = ProgramBuilder()
    f = program.function("main")
    table = np.arange(10, dtype=np.float32)
    picked = f.op("gather", table, f.input("at", "i64", [2]), axis=0, name="pick")
    f.finish([picked], ["y"])
    save_program(program.finish(["main"]), folder / "gather.samara")
    _write_tuned(folder)
    _write_meanings(folder)


def _write_tuned(folder: Path) -> None:
    """A convolution, and a file that chooses another algorithm for it than the first."""
    program = ProgramBuilder()
    f = program.function("main")
    weights = f.const(np.ones((4, 3, 3, 4), np.float32), "w")
    given: dict[str, Any] = {"strides": [1, 1], "dilations": [1, 1], "pads": [1, 1, 1, 1]}
    y = f.op("conv", f.input("x", "f32", [1, 8, 8, 4]), weights, name="blur", **given)
    f.finish([y], ["y"])
    save_program(program.finish(["main"]), folder / "conv.samara")
    session = samara.Session(folder / "conv.samara", threads=1)
    [choice] = session.choices()
    chosen = f"{tuned_header(session.model)}main\tblur\t{choice.algorithms[1][0]}\n"
    (folder / "conv.tuned").write_text(chosen, encoding="utf-8")


def _write_meanings(folder: Path) -> None:
    nn = samara.nn
    samara.manual_seed(3)
    conv = nn.Conv2d(3, 4, 3, padding=1)
    flat = nn.Sequential(nn.Flatten(), nn.Linear(192, 4))
    rows = nn.Sequential(nn.Flatten(), nn.Linear(192, 60), nn.Unflatten(1, (6, 10)))
    image = samara.zeros(1, 3, 8, 8)
    for name, net, record, labels in (
        ("classes", flat, "classify out softmax top=4", LABELS),
        ("boxes", rows, _BOXES, None),
        ("mask", conv, "mask out", None),
        ("points", conv, "keypoints heatmaps=out refine=quarter", None),
    ):
        program = samara.trace(net, (image,), input_names=["image"], output_names=["out"])
        path = folder / f"{name}.samara"
        export(program, path, check=False, preprocess=_PICTURE, postprocess=record, labels=labels)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    program = samara.trace(
        net, (samara.zeros(1, 6, 8),), input_names=["audio"], output_names=["scores"]
    )
    hears = {"audio": SOUND}
    export(program, folder / "sound.samara", check=False, preprocess=hears)
    means = "classify scores softmax"
    export(program, folder / "speech.samara", check=False, preprocess=hears, postprocess=means)


def _bits(values: object) -> str:
    return np.asarray(values, np.float32).astype(">f4").tobytes().hex()


def numbers(*shape: int) -> np.ndarray:
    """What Check.numbers gives."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 7 % 17) / 16 - 0.25).astype(np.float32).reshape(shape)


def values(folder: Path) -> str:
    """What Values prints."""
    score = samara.Session(folder / "small.samara").run({"image": numbers(2, 3, 8, 8)})["score"]
    session = samara.Session(folder / "static.samara", keep="h")
    y = session.run({"x": numbers(2, 4)})["y"]
    strict = samara.Session(folder / "static.samara", keep="all", accuracy="strict")
    strict.run({"x": numbers(2, 4)})
    lines = {"small": score, "h": session.kept("h"), "y": y}
    printed = [f"{name}={_bits(value)}" for name, value in lines.items()]
    return "\n".join([*printed, f"h={_bits(strict.kept('h'))}", ""])


def details(folder: Path) -> str:
    """What Details prints."""
    counter = samara.Session(folder / "counter.samara")
    x = {"x": np.array([1, 2], np.float32)}
    counter.state["total"] = np.array([100, 200], np.float32)
    counter.run(x)
    lines = [f"total={_bits(counter.state['total'])}"]
    counter.reset()
    lines += [f"{name}={_bits(counter.state['total'])}" for name in ("reset", "kept")]
    static = samara.Session(folder / "static.samara")
    lines += [f"copied={_bits(static.run({'x': numbers(2, 4)})['y'])}"] * 2

    def kernel(**options: Any) -> str:
        session = samara.Session(folder / "conv.samara", threads=1, **options)
        session.run({"x": np.zeros((1, 8, 8, 4), np.float32)})
        return session.profile()[0].kernel

    tuned = kernel(tuned=folder / "conv.tuned")
    plain = kernel(tuned=False)
    assert tuned != plain
    lines += [f"default={plain}", f"tuned={tuned}", f"scalar={kernel(tuned=False, isa='scalar')}"]
    lines.append(f"none={plain}")
    for row in static.placement():
        second = row.runner_up[0] if row.runner_up else "null"
        place = (
            f"{row.function} {row.node} {row.op} {row.device} {row.reason} {second} {row.region}"
        )
        lines.append(f"placed={place}")
    return "\n".join([*lines, f"bytes={static.arena_bytes} {static.total_bytes}", ""])


def meanings(folder: Path) -> str:
    """What Meanings prints."""
    size = 3 * _WIDTH * _HEIGHT
    pixels = (np.arange(size) * 31 % 251).astype(np.uint8)
    shaped = pixels.reshape(_HEIGHT, _WIDTH, 3)
    picture = samara.Image(shaped, "rgb")
    lines = []

    def answer(name: str, image: samara.Image) -> object:
        return samara.Session(folder / f"{name}.samara").predict(image)

    nv21 = pixels[: size // 2].tobytes()
    turned = samara.Image(shaped, "rgb", crop=(1, 2, 9, 7), rotation=270, mirror=True)
    of = {
        "classes": picture,
        "turned": turned,
        "strides": picture,
        "heap": picture,
        "nv21": samara.Image(nv21, "nv21", _WIDTH, _HEIGHT),
        "i420": samara.Image(nv21, "nv21", _WIDTH, _HEIGHT),
        "bt709": samara.Image(nv21, "nv21", _WIDTH, _HEIGHT, matrix="bt709", range="full"),
    }
    for name, image in of.items():
        found = answer("classes", image)
        assert isinstance(found, samara.Classification)
        lines.append(f"{name}_labels=" + " ".join(str(g.index) for g in found.top))
        lines.append(f"{name}={_bits([g.score for g in found.top])}")
    boxes = answer("boxes", samara.Image(shaped, "rgb", rotation=90))
    assert isinstance(boxes, samara.Detections)
    assert boxes.keypoints is not None
    points_of = boxes.keypoints.reshape(len(boxes), -1)
    rows = [[b.index, b.score, *b.box, *points_of[i]] for i, b in enumerate(boxes)]
    lines.append(f"boxes={_bits(rows)}")
    mask = answer("mask", samara.Image(shaped, "rgb", crop=(2, 2, 8, 6)))
    assert isinstance(mask, samara.Mask)
    lines.append(f"mask={_bits(mask.classes)}")
    points = answer("points", picture)
    assert isinstance(points, samara.Keypoints)
    lines += [f"points={_bits(points.points)}", f"points_scores={_bits(points.scores)}"]
    return "\n".join([*lines, *_heard(folder), ""])


def _samples() -> np.ndarray:
    return (np.arange(9000) * 7919 % 20011 - 10000).astype(np.int16)


def heard(folder: Path) -> str:
    """What Heard prints."""
    session = samara.Session(folder / "speech.samara")
    sound = samara.Audio(_samples(), 16000)
    scores = _bits([out["scores"] for out in session.listen(sound)])
    found = list(session.predict_each(sound))
    labels = ""
    for each in found:
        assert isinstance(each, samara.Classification)
        labels += str(each.index)
    assert len(labels) > 3
    broken = [f"broken={scores}", f"thrown={scores}"] * 3
    return "\n".join([f"listen={scores}", f"each={labels}", *broken, f"portions={labels}", ""])


def _heard(folder: Path) -> list[str]:
    samples = _samples()
    session = samara.Session(folder / "sound.samara")
    floats = samples.astype(np.float32) / np.float32(32768)

    def scores(audio: samara.Audio) -> str:
        return _bits([out["scores"] for out in session.listen(audio)])

    mono = samara.Audio(samples, 16000)
    return [
        f"sound={scores(mono)}",
        f"portions={len(list(session.listen(mono)))}",
        f"stereo={scores(samara.Audio(floats.reshape(-1, 2), 44100))}",
    ]
