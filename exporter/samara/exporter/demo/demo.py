# SPDX-License-Identifier: Apache-2.0
"""The complete workflow on real data: train a net on handwritten digits, script and export it, run it in
Python and in C, compare.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.demo import digits_net
from samara.exporter.demo.digits_net import Floats, Ints
from samara.exporter.export import export
from samara.exporter.frontend.data import digits
from samara.exporter.ir import Program
from samara.exporter.measure.machine import program_beside_library
from samara.exporter.package.processes import run_text
from samara.exporter.quantize.quantize import quantize
from samara.exporter.types import BackendError, SamaraError, require
from samara.exporter.types.text import byte_text, table
from samara.pybridge import Model, Session
from samara.pybridge.array_files import write_array, write_arrays
from samara.pybridge.atomic import make_folder, write_bytes, write_text

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TIMED_RUNS = 300
_CALIBRATION = 200  # images
_SCHEMES = ("int8", "int8-dynamic", "int4-weights", "fp16")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Variant:
    """The net with fewer bits: scheme, accuracy on the test images, bytes of the file, and median microseconds
    for one image (all variants measured in turns).
    """

    name: str
    accuracy: float
    model_bytes: int
    microseconds: float


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The results of the demo.

    Accuracies are shares of the test images; c_accuracy None: no C program was built. variants: the float
    net and those with fewer bits.
    """

    folder: str
    train_images: int
    test_images: int
    fit_seconds: float
    trained_loss: float
    trained_accuracy: float
    python_accuracy: float
    c_accuracy: float | None
    largest_difference: float
    model_bytes: int
    onnx_bytes: int
    nodes_before: int
    nodes_after: int
    arena_bytes: int
    microseconds: float
    variants: tuple[Variant, ...]

    @property
    def ok(self) -> bool:
        """Whether all ways of running the float net give the same classes."""
        accuracies = {self.trained_accuracy, self.python_accuracy, self.c_accuracy} - {None}
        return len(accuracies) == 1 and self.largest_difference < 1e-4

    def to_json(self) -> dict[str, Any]:
        """The report as a plain dict."""
        return asdict(self) | {"ok": self.ok}

    def text(self) -> str:
        """The report for a terminal."""
        c = "not built" if self.c_accuracy is None else f"{100 * self.c_accuracy:.2f} %"
        return "\n".join(
            [
                f"trained on {self.train_images} handwritten digits in {self.fit_seconds:.1f} s,"
                f" loss {self.trained_loss:.3f}",
                f"accuracy on the {self.test_images} test digits",
                f"  the trainer, samara.nn            {100 * self.trained_accuracy:.2f} %",
                f"  C runtime from Python             {100 * self.python_accuracy:.2f} %",
                f"  C program samara-run              {c}",
                f"  largest difference of a probability  {self.largest_difference:.1e}",
                f"file     {byte_text(self.model_bytes)} (the ONNX file: {byte_text(self.onnx_bytes)});"
                f" {self.nodes_before} nodes became {self.nodes_after}",
                f"arena    {byte_text(self.arena_bytes)} for one image; a run allocates nothing",
                f"latency  {self.microseconds:.1f} us for one image, one thread",
                "with fewer bits",
                table(
                    ("scheme", "accuracy", "file", "one image"),
                    [
                        (
                            v.name,
                            f"{100 * v.accuracy:.2f} %",
                            byte_text(v.model_bytes),
                            f"{v.microseconds:.1f} us",
                        )
                        for v in self.variants
                    ],
                    right=(1, 2, 3),
                ),
                f"files are in {self.folder}: digits.samara, digits.SCHEME.samara, digits.onnx, one.npz,"
                " calibration.npz, labels.txt",
            ]
        )


def demo(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    progress: Progress = lambda _text, _done, _of: None,
) -> DemoReport:
    """Run the demo; its files stay in `folder`.

    progress(text, done, of) reports each step; the seed determines what is learned. BackendError if
    scikit-learn (for the data) or onnx is not installed.
    """
    require("the demo", "scikit-learn", "onnx", "ml_dtypes", kind=BackendError)
    train, test = (load_digits(part) for part in (True, False))
    losses = []

    def fitting(done: int, of: int, loss: float, right: float) -> None:
        losses.append(loss)
        progress(f"training, loss {loss:.3f}, accuracy {100 * right:.1f} %", done, of)

    start = time.perf_counter()
    net = digits_net.fit(*train, seed, fitting)
    fit_seconds = time.perf_counter() - start
    images, truth = test
    progress("exporting", 0, 2)
    place = Path(folder)
    paths = _write(place, net, images)
    report = export(
        digits_net.program(net), paths["samara"], golden=paths["one"], labels=paths["labels"]
    )
    progress("running", 1, 2)
    model = Model(paths["samara"])
    model.selftest()
    want = digits_net.probabilities(net, images)
    session = Session(model, threads=1)
    got = session.run({"image": images})["probability"]
    in_c = _run_in_c(paths["samara"], place, images)
    outcomes = [got] if in_c is None else [got, in_c]
    progress("running", 2, 2)
    files = {"float": paths["samara"], **_quantized(place, net, train, seed, progress)}
    times, arena = _latencies(files, images[:1])
    variants = tuple(
        Variant(
            name,
            accuracy(Session(path, threads=1).run({"image": images})["probability"], truth),
            path.stat().st_size,
            times[name],
        )
        for name, path in files.items()
    )
    return DemoReport(
        folder=os.fspath(place),
        train_images=len(train[0]),
        test_images=len(images),
        fit_seconds=fit_seconds,
        trained_loss=losses[-1],
        trained_accuracy=accuracy(want, truth),
        python_accuracy=accuracy(got, truth),
        c_accuracy=None if in_c is None else accuracy(in_c, truth),
        largest_difference=max(float(np.max(np.abs(o - want))) for o in outcomes),
        model_bytes=report.size_bytes,
        onnx_bytes=paths["onnx"].stat().st_size,
        nodes_before=report.nodes_before,
        nodes_after=report.nodes_after,
        arena_bytes=arena,
        microseconds=times["float"],
        variants=variants,
    )


def load_digits(train: bool) -> tuple[Floats, Ints]:
    """Images [N, 1, 8, 8] in 0..1 for training or testing, and their labels."""
    images, labels = digits(train).tensors
    return images.numpy(), labels.numpy()


def accuracy(probabilities: Floats, labels: Ints) -> float:
    """The share of rows whose largest element has the label's index."""
    return float(np.mean(np.argmax(probabilities, axis=1) == labels))


def _write(folder: Path, net: Any, test: Floats) -> dict[str, Path]:
    """Write the files that export reads."""
    names = {
        "onnx": "digits.onnx",
        "samara": "digits.samara",
        "one": "one.npz",
        "labels": "labels.txt",
    }
    paths = {key: folder / name for key, name in names.items()}
    make_folder(folder)
    write_bytes(paths["onnx"], digits_net.onnx_model(net))
    write_text(paths["labels"], "\n".join(NAMES) + "\n")
    write_arrays(paths["one"], {"image": test[:1]})
    return paths


def _run_in_c(model: Path, folder: Path, test: Floats) -> Floats | None:
    """Probabilities of the plain C program on the test set; None if it is not built."""
    program = program_beside_library("samara-run")
    if program is None:
        return None
    inputs, results = folder / "test.npy", folder / "from_c"
    write_array(inputs, test)
    shutil.rmtree(results, ignore_errors=True)
    make_folder(results)
    command = [str(program), str(model), "--input", f"image={inputs}", "--output", str(results)]
    done = run_text(command, timeout=60)
    if done.returncode != 0:
        raise SamaraError(f"samara-run failed: {done.stderr.strip() or done.stdout.strip()}")
    return np.asarray(np.load(results / "probability.npy"), np.float32)


def _quantized(
    folder: Path, net: Any, train: tuple[Floats, Ints], seed: int, progress: Progress
) -> dict[str, Path]:
    """Files of the net with fewer bits, by scheme."""
    samples = train[0][:_CALIBRATION]
    write_arrays(folder / "calibration.npz", {"image": samples})
    made: dict[str, Program] = {}
    for i, scheme in enumerate(_SCHEMES):
        progress(f"quantizing, {scheme}", i, len(_SCHEMES))
        made[scheme] = quantize(digits_net.program(net), {"image": samples}, scheme)

    def tuning(done: int, of: int, _loss: float, right: float) -> None:
        progress(f"training in int8, accuracy {100 * right:.1f} %", done, of)

    made["trained in int8"] = digits_net.program(
        digits_net.fit_quantized(net, *train, seed, tuning)
    )
    files = {}
    for name, program in made.items():
        files[name] = folder / f"digits.{name.replace(' ', '-')}.samara"
        export(program, files[name])
    return files


def _latencies(files: dict[str, Path], image: Floats) -> tuple[dict[str, float], int]:
    """Median microseconds of bound runs of one image, with the files in turns, and the arena of the first one."""
    sessions = {name: Session(path, threads=1) for name, path in files.items()}
    runs = {
        name: s.bind(
            {"image": image}, {"probability": np.empty((1, digits_net.CLASSES), np.float32)}
        )
        for name, s in sessions.items()
    }
    times: dict[str, list[float]] = {name: [] for name in files}
    for _ in range(_TIMED_RUNS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(t) * 1e6 for name, t in times.items()}
    return medians, next(iter(sessions.values())).arena_bytes
