# SPDX-License-Identifier: Apache-2.0
"""The cost of wrong image records, for the tables of docs/guides/preprocessing-mistakes.md:
`python -m benchmarks.preprocess_mistakes`.

The nets are those of the folder SAMARA_MODELS. SqueezeNet gets the 20 labelled ImageNet pictures of the package
foolbox (`pip install --no-deps foolbox`; only its files are read, nothing is imported), or those of
`--pictures FOLDER`, named …_CLASS.jpg. The net for handwritten digits gets the 1,797 digits of scikit-learn.
Parts that are not installed are skipped with a message.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import samara
from samara.exporter.doctor._records import record_findings
from samara.exporter.ir import Program
from samara.exporter.ir.records import with_records

Pixels = npt.NDArray[np.uint8]
MEAN: Final = "mean=103.53,116.28,123.675"  # of ImageNet: blue, green, red
RIGHT: Final = f"bgr float16 nchw resize=256 crop=224 antialias {MEAN}"
DIGITS: Final = "gray float32 nchw resize=28x28"
LEAST: Final = 2.0**-24  # of float16; a probability of 0 counts as this


@dataclass(frozen=True, slots=True)
class Case:
    """A record, its fault, and what is done to the picture before it."""

    what: str
    record: str
    before: Callable[[Pixels], Pixels] | None = None


def wide(picture: Pixels) -> Pixels:
    """The middle rows in the 16:9 format of cameras."""
    height = round(picture.shape[1] * 9 / 16)
    top = (len(picture) - height) // 2
    return np.ascontiguousarray(picture[top : top + height])


def turned(picture: Pixels) -> Pixels:
    """As a camera of a phone held upright delivers it, without the rotation."""
    return np.ascontiguousarray(np.rot90(picture))


def margin(width: int) -> Callable[[Pixels], Pixels]:
    """A digit of 8x8 pixels with a margin of empty pixels."""
    return lambda picture: np.pad(picture, width)


PHOTOS: Final = (
    Case("right", RIGHT),
    Case("red and blue exchanged", RIGHT.replace("bgr", "rgb")),
    Case("no mean", RIGHT.replace(f" {MEAN}", "")),
    Case("0..1", RIGHT.replace(MEAN, "scale=0.003921569")),
    Case("mean and std of another net", f"{RIGHT} std=57.375,57.12,58.395"),
    Case("on its side", RIGHT, turned),
    Case("nearest pixels", RIGHT.replace("antialias", "filter=nearest")),
    Case("no antialias", RIGHT.replace(" antialias", "")),
    Case("wide pictures: right", RIGHT, wide),
    Case("wide pictures: squeezed", RIGHT.replace("resize=256 crop=224", "resize=224x224"), wide),
    Case(
        "wide pictures: bars around",
        RIGHT.replace("resize=256 crop=224", "letterbox=224x224"),
        wide,
    ),
    Case("nhwc", RIGHT.replace("nchw", "nhwc")),
    Case("no crop", RIGHT.replace("resize=256 crop=224", "resize=256x256")),
)
NUMBERS: Final = (
    Case("right", DIGITS, margin(2)),
    Case("no margin around the digit", DIGITS, margin(0)),
    Case("dark on light", f"{DIGITS} mean=255 scale=-1", margin(2)),
    Case("-1..1", f"{DIGITS} mean=127.5 std=127.5", margin(2)),
    Case("0..1", f"{DIGITS} scale=0.003921569", margin(2)),
    Case("nearest pixels", f"{DIGITS} filter=nearest", margin(2)),
)


@dataclass(frozen=True, slots=True)
class Result:
    """For all pictures: the number with the right class first, and among the first five; the mean of
    -log(probability of the right class)."""

    first: int
    five: int
    loss: float
    count: int


class Net:
    """A classifier that takes pictures by any record."""

    def __init__(self, name: str, softmax: bool) -> None:
        path = Path(os.environ["SAMARA_MODELS"]) / name / "model.onnx"
        self.program: Program = samara.import_onnx(path)
        self.input = self.program.main.inputs[0].name
        self.softmax = softmax
        with tempfile.TemporaryDirectory() as folder:
            samara.export(self.program, Path(folder) / "net.samara", check=False)
            self.session = samara.Session(Path(folder) / "net.samara")

    def measured(self, case: Case, pictures: Sequence[Pixels], labels: Sequence[int]) -> Result:
        """The scores of the net on the pictures."""
        first = five = 0
        losses = []
        for picture, label in zip(pictures, labels, strict=True):
            made = samara.preprocess(case.record, case.before(picture) if case.before else picture)
            (out,) = self.session.run({self.input: made}).values()
            scores = np.asarray(out, np.float64).reshape(-1)
            if self.softmax:
                scores = np.exp(scores - scores.max())
                scores /= scores.sum()
            best = np.argsort(-scores, kind="stable")
            first += int(best[0] == label)
            five += int(label in best[:5])
            losses.append(-np.log(max(scores[label], LEAST)))
        return Result(first, five, float(np.mean(losses)), len(labels))

    def said(self, case: Case, tensors: Sequence[Any]) -> tuple[str, str]:
        """What export and the doctor report for a record, and what the quantization report says when it is calibrated
        with tensors of the training's own code."""
        try:
            program = with_records(self.program, {self.input: case.record})
        except samara.SamaraError:
            return "refused", "-"
        found = [f"{f.level}: {f.reason}" for f in record_findings(program)]
        if not tensors:
            return "; ".join(found) or "nothing", "-"
        kinds = [
            f.kind for f in samara.quantize(program, tensors).report.findings if f.kind != "few"
        ]
        return "; ".join(found) or "nothing", ", ".join(kinds) or "nothing"


def photos(folder: Path | None) -> tuple[list[Pixels], list[int]]:
    """Labelled pictures; none if the package is not installed."""
    if folder is None:
        spec = importlib.util.find_spec("foolbox")
        if spec is None or not spec.submodule_search_locations:
            return [], []
        folder = Path(spec.submodule_search_locations[0]) / "data"
    paths = sorted(folder.glob("imagenet_*.jpg")) or sorted(folder.glob("*.jpg"))
    pictures = [samara.Image.open(path).pixels() for path in paths]
    return pictures, [int(path.stem.rsplit("_", 1)[1]) for path in paths]


def digits() -> tuple[list[Pixels], list[int]]:
    """8x8 pixels of 0..255, light on dark; none if scikit-learn is not installed."""
    if importlib.util.find_spec("sklearn") is None:
        return [], []
    from sklearn.datasets import load_digits

    given = load_digits()
    pictures = np.rint(given.images * (255 / 16)).astype(np.uint8)
    return list(pictures), [int(label) for label in given.target]


def table(
    net: Net,
    cases: Sequence[Case],
    pictures: list[Pixels],
    labels: list[int],
    tensors: Sequence[Any],
) -> Iterator[str]:
    """Rows of Markdown."""
    yield f"| record | right of {len(labels):,} | among five | loss | `doctor` | quantization |"
    yield "|---|---:|---:|---:|---|---|"
    for case in cases:
        doctor, quantized = net.said(case, tensors)
        if doctor.startswith(("refused", "missing")):
            yield f"| {case.what}: `{case.record}` | - | - | - | {doctor} | {quantized} |"
            continue
        got = net.measured(case, pictures, labels)
        row = f"{got.first:,} | {got.five:,} | {got.loss:.2f} | {doctor} | {quantized}"
        yield f"| {case.what}: `{case.record}` | {row} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, help="a folder of pictures named …_CLASS.jpg")
    options = parser.parse_args()
    if "SAMARA_MODELS" not in os.environ:
        parser.error("SAMARA_MODELS names the folder of nets, and is not set")
    pictures, labels = photos(options.pictures)
    if pictures:
        net = Net("squeezenet_fp16", softmax=False)
        tensors = [{net.input: samara.preprocess(RIGHT, picture)} for picture in pictures]
        print("\n".join(("SqueezeNet\n", *table(net, PHOTOS, pictures, labels, tensors))))
    else:
        print("NOT RUN: SqueezeNet (no foolbox, no --pictures)")
    pictures, labels = digits()
    if pictures:
        net = Net("mnist_cntk", softmax=True)
        right = NUMBERS[0]
        assert right.before is not None
        tensors = [
            {net.input: samara.preprocess(right.record, right.before(picture))}
            for picture in pictures[:64]
        ]
        print("\n".join(("\nDigits\n", *table(net, NUMBERS, pictures, labels, tensors))))
    else:
        print("NOT RUN: digits (no scikit-learn)")


if __name__ == "__main__":
    main()
