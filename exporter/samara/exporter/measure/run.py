# SPDX-License-Identifier: Apache-2.0
"""One run of a model on files or random data: outputs, the best classes with their labels, and the time
of every node.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from samara.exporter.ir import Array, open_program
from samara.exporter.measure._trace import trace_of
from samara.exporter.measure.device_use import DeviceUse, device_use
from samara.exporter.measure.feeds import Given, media_named, pictures_of, session_feeds, sounds_of
from samara.exporter.measure.hearing import Heard, hear
from samara.exporter.types import ArgumentError, ShapeError
from samara.exporter.types.text import table
from samara.pybridge import Model, Session
from samara.pybridge.answers import (
    Answer,
    Classification,
    Detections,
    Mask,
    label_of,
    picture_kind,
    write_picture,
)
from samara.pybridge.answers import draw as draw_answer
from samara.pybridge.array_files import write_array, write_arrays
from samara.pybridge.atomic import check_writable, replacing_files, write_text
from samara.pybridge.device import CPU, BackendChoice
from samara.pybridge.errors import no_answer
from samara.pybridge.image import Image
from samara.pybridge.image_record import ImageRecord

# Characters that file names must not have; samara-run replaces the same ones.
_FORBIDDEN = re.compile(r'[/\\:*?"<>|]')
# Rows of a batch that --top shows.
_TOP_ROWS = 8


@dataclass(frozen=True, slots=True)
class Ranked:
    """The largest values along the last axis of one row of an output.

    `label` is the index as text where the file has no labels.
    """

    output: str
    row: int
    best: tuple[tuple[int, str, float], ...]  # index, label, value


@dataclass(frozen=True, slots=True)
class RunResult:
    """The results of a run. `sizes` are symbolic dims that were chosen because nothing fixed them.

    `use`: of the devices, if the run got some. `answer`: the meaning of the outputs, if the file says it.
    `heard`: for a recording, on whose parts the model ran one after the other: outputs have an axis of runs
    in front, and the time is that of one run.
    """

    outputs: Mapping[str, Array]
    milliseconds: float
    random_inputs: bool
    sizes: Mapping[str, int]
    top: tuple[Ranked, ...]
    use: DeviceUse | None = None
    answer: Answer | None = None
    heard: Heard | None = None

    def to_json(self) -> dict[str, Any]:
        """Shapes, ranges and the best classes; arrays are written to files instead."""
        return {
            "milliseconds": self.milliseconds,
            "random_inputs": self.random_inputs,
            "sizes": dict(self.sizes),
            "outputs": {n: summary(a) for n, a in self.outputs.items()},
            "top": [
                {"output": t.output, "row": t.row, "best": [list(b) for b in t.best]}
                for t in self.top
            ],
            "use": None if self.use is None else asdict(self.use),
            "answer": None if self.answer is None else _answer_json(self.answer),
            "heard": None if self.heard is None else _heard_json(self.heard),
        }

    def text(self) -> str:
        """A line per output, and the best classes."""
        lines = []
        if self.sizes:
            lines.append("sizes: " + ", ".join(f"{k}={v}" for k, v in self.sizes.items()))
        rows = [
            (n, str(a.dtype), "x".join(map(str, a.shape)) or "scalar", _range(a))
            for n, a in self.outputs.items()
        ]
        lines.append(table(("output", "dtype", "shape", "values"), rows))
        for t in self.top:
            lines.append(f"{t.output}[{t.row}]")
            lines += [f"  {value:10.4g}  {label}" for _, label, value in t.best]
        if self.answer is not None:
            lines.append(str(self.answer))
        if self.heard is not None:
            lines.append(self.heard.text())
        lines.append(f"{self.milliseconds:.3f} ms" + " a run" * (self.heard is not None))
        if self.use is not None:
            lines.append(self.use.text())
        return "\n".join(lines)


def run(
    path: str | os.PathLike[str],
    *,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    function: str | None = None,
    threads: int | None = None,
    isa: str | None = None,
    backend: BackendChoice = CPU,
    wait: bool = False,
    tuned: str | bool | None = None,
    accuracy: str = "default",
    seed: int = 0,
    top: int = 0,
    output: str | os.PathLike[str] | None = None,
    profile: str | os.PathLike[str] | None = None,
    draw: str | os.PathLike[str] | None = None,
) -> RunResult:
    """Run a `.samara` file once, or once for each tensor of a recording. Inputs without a file get seeded
    random data.

    inputs, files: as read_feeds takes them. top: how many classes to rank per matrix row. output: where to
    write the outputs, as write_outputs takes it. profile: a Chrome trace to write. draw: a picture to
    write, the input with the answer on it; UnsupportedError if the file does not say what its outputs
    mean. backend, wait, accuracy: as a Session takes them. The time is that of a second run with warm
    caches; the state is restored in between.
    """
    model = Model(path)
    if output is not None and output_kind(output) != "folder":
        check_writable(output)
    if profile is not None:
        check_writable(profile)
    if draw is not None:
        picture_kind(draw)
        check_writable(draw)
    session = Session(
        model,
        function=function,
        threads=threads,
        backend=backend,
        wait=wait,
        isa=isa,
        tuned=tuned,
        accuracy=accuracy,
    )
    inputs, files = media_named(inputs or {}, files, session.inputs)
    pictures = pictures_of(inputs, session.inputs)
    if draw is not None:
        _check_drawable(session, pictures)
    sounds = sounds_of(inputs, session.inputs)
    chosen = session_feeds(session, inputs=inputs, files=files, shapes=shapes, seed=seed)
    session.run(chosen.arrays)
    session.reset()
    session.set_profiling(profile is not None)
    answer, heard = None, None
    if sounds:
        outputs, took, heard = hear(session, sounds, chosen.arrays)
    else:
        start = time.perf_counter()
        outputs = session.run(chosen.arrays)
        took = time.perf_counter() - start
    if profile is not None:
        write_text(profile, trace_of(session, open_program(path)))
    if output is not None:
        write_outputs(output, outputs)
    if not sounds and model.function(session.function).answer is not None:
        session.reset()
        answer = session.predict({**chosen.arrays, **pictures})
        if draw is not None:
            (picture,) = pictures.values()
            write_picture(draw, draw_answer(picture, answer))
    labels = model.labels
    ranked = [r for n, a in outputs.items() for r in rank(n, a, top, labels)] if top else []
    use = None if backend == CPU else device_use(session)
    sizes = dict(chosen.sizes)
    return RunResult(outputs, took * 1e3, chosen.random, sizes, tuple(ranked), use, answer, heard)


def _check_drawable(session: Session, pictures: Mapping[str, Image]) -> None:
    """Check that there will be an answer, and one picture to draw it on."""
    if session.model.function(session.function).answer is None:
        raise no_answer(session.function)
    if len(pictures) != 1:
        pictured = (s.name for s in session.inputs if isinstance(s.record, ImageRecord))
        takes = next(pictured, None)
        raise ArgumentError(
            f"{len(pictures)} pictures are given to draw the answer on",
            fix="the model has no record of pictures: export it with preprocess="
            if takes is None
            else f"give one: --input {takes}=FILE.jpg",
        )


def _heard_json(heard: Heard) -> dict[str, Any]:
    return {
        "runs": heard.runs,
        "seconds": heard.seconds,
        "step_seconds": heard.step_seconds,
        "answers": [_answer_json(answer) for answer in heard.answers],
    }


def _answer_json(answer: Answer) -> dict[str, Any]:
    kind = type(answer).__name__
    if isinstance(answer, Classification):
        return {"kind": kind, "top": [asdict(guess) for guess in answer]}
    if isinstance(answer, Detections):
        boxes = [
            {
                "label": found.label,
                "index": found.index,
                "score": found.score,
                "box": list(found.box),
                "points": None if found.points is None else found.points.tolist(),
            }
            for found in answer
        ]
        return {"kind": kind, "boxes": boxes}
    if isinstance(answer, Mask):
        numbers, counts = np.unique(answer.classes, return_counts=True)
        height, width = answer.classes.shape
        pixels = {str(n): int(c) for n, c in zip(numbers.tolist(), counts, strict=True)}
        return {"kind": kind, "width": width, "height": height, "pixels": pixels}
    points = [
        {"label": label_of(answer.labels, i), "x": float(x), "y": float(y), "score": float(score)}
        for i, ((x, y), score) in enumerate(zip(answer.points, answer.scores, strict=True))
    ]
    return {"kind": kind, "points": points}


def rank(name: str, array: Array, top: int, labels: Sequence[str]) -> list[Ranked]:
    """The best `top` of each of the first rows of an output that can hold scores: numbers along a last axis of
    two or more.
    """
    shape = array.shape
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    if not shape or array.dtype.kind not in "fiu" or array.size == 0:
        return []
    count = shape[-1]
    texts = labels if len(labels) == count else [str(i) for i in range(count)]
    ranked = []
    for i, row in enumerate(array.reshape(-1, count)[:_TOP_ROWS]):
        order = np.argsort(-row.astype(np.float64), kind="stable")[:top]
        ranked.append(Ranked(name, i, tuple((int(k), texts[k], float(row[k])) for k in order)))
    return ranked


def summary(array: Array) -> dict[str, Any]:
    """dtype, shape and range of an array; the range is None if it is empty or has values that JSON lacks."""
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "min": finite.min().item() if finite.size else None,
        "max": finite.max().item() if finite.size else None,
        "finite": bool(finite.size == array.size),
    }


def output_kind(path: str | os.PathLike[str]) -> str:
    """How to write outputs to a path: "npz" for all of them in one file, "npy" for a model with one output,
    "folder" for a .npy of each in a folder that exists or whose name ends with a slash. A device or pipe
    gets an .npz. ArgumentError for another name.
    """
    name = os.fspath(path)
    if os.path.isdir(path) or name.endswith(("/", os.sep)):
        return "folder"
    suffix = os.path.splitext(name)[1].lower()
    if suffix in (".npz", ".npy"):
        return suffix[1:]
    if os.path.exists(path) and not os.path.isfile(path):
        return "npz"
    raise ArgumentError(
        f"output {name}: the name does not say what to write",
        fix=f"name it {name}.npz for all outputs in one file, {name}.npy for a sole output, or {name}/"
        " for a folder with a .npy of each; a certain output is chosen with samara export --outputs",
    )


def write_outputs(path: str | os.PathLike[str], outputs: Mapping[str, Array]) -> None:
    """Write the outputs of a run in the form of output_kind. ShapeError for one .npy and several outputs."""
    kind = output_kind(path)
    if kind == "npz":
        write_arrays(path, outputs)
    elif kind == "npy":
        if len(outputs) != 1:
            raise ShapeError(
                f"output {os.fspath(path)}: a .npy file holds one array, the model gives"
                f" {len(outputs)}: {', '.join(outputs)}",
                fix="name it .npz, or give a folder",
            )
        write_array(path, next(iter(outputs.values())))
    else:
        with replacing_files(path) as folder:
            for name, array in outputs.items():
                write_array(folder / f"{_FORBIDDEN.sub('_', name)}.npy", array)


def _range(array: Array) -> str:
    facts = summary(array)
    if array.size == 0:
        return "empty"
    if facts["min"] is None:
        return "nothing finite"
    if array.size == 1:
        return f"{facts['min']:.6g}" if array.dtype.kind == "f" else str(facts["min"])
    low, high = facts["min"], facts["max"]
    text = f"{low:.4g} to {high:.4g}" if array.dtype.kind == "f" else f"{low} to {high}"
    return text if facts["finite"] else text + ", not all finite"
