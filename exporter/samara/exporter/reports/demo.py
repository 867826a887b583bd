# SPDX-License-Identifier: Apache-2.0
"""The whole way on real data: fit a net on handwritten digits, export it, run it in Python and
in C, compare.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.export import export
from samara.exporter.reports import _digits
from samara.exporter.reports._digits import Floats, Ints, Net
from samara.exporter.reports._measure import program_beside_library
from samara.exporter.reports._text import byte_text
from samara.exporter.reports.run import write_arrays
from samara.exporter.types import BackendError, SamaraError
from samara.pybridge import Model, Session

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_EVERY = 5  # one image in so many is kept for the test
_TIMED_RUNS = 300


@dataclass(frozen=True, slots=True)
class DemoReport:
    """What the demo measured.

    Accuracies are shares of the test images; c_accuracy None: no C program was built.
    """

    folder: str
    train_images: int
    test_images: int
    fit_seconds: float
    numpy_accuracy: float
    python_accuracy: float
    c_accuracy: float | None
    largest_difference: float
    model_bytes: int
    onnx_bytes: int
    nodes_before: int
    nodes_after: int
    arena_bytes: int
    microseconds: float

    @property
    def ok(self) -> bool:
        """Whether all ways of running the net decide alike."""
        accuracies = {self.numpy_accuracy, self.python_accuracy, self.c_accuracy} - {None}
        return len(accuracies) == 1 and self.largest_difference < 1e-4

    def to_json(self) -> dict[str, Any]:
        """The report as a plain dict."""
        return asdict(self) | {"ok": self.ok}

    def text(self) -> str:
        """The report for a terminal."""
        c = "not built" if self.c_accuracy is None else f"{100 * self.c_accuracy:.2f} %"
        return "\n".join(
            [
                f"fitted on {self.train_images} handwritten digits in {self.fit_seconds:.1f} s (numpy)",
                f"accuracy on the {self.test_images} test digits",
                f"  numpy, the net as it was fitted   {100 * self.numpy_accuracy:.2f} %",
                f"  C runtime from Python             {100 * self.python_accuracy:.2f} %",
                f"  C program samara-run              {c}",
                f"  largest difference of a probability  {self.largest_difference:.1e}",
                f"file     {byte_text(self.model_bytes)} (the ONNX file: {byte_text(self.onnx_bytes)});"
                f" {self.nodes_before} nodes became {self.nodes_after}",
                f"arena    {byte_text(self.arena_bytes)} for one image; a run allocates nothing",
                f"latency  {self.microseconds:.1f} us for one image, one thread",
                f"files are in {self.folder}: digits.onnx, digits.samara, one.npz, labels.txt",
            ]
        )


def demo(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _text: None,
) -> DemoReport:
    """Run the demo, leaving its files in `folder`.

    BackendError when scikit-learn or onnx is not installed.
    """
    images, labels = load_digits()
    kept = np.arange(len(images)) % _EVERY == 0
    train, test, truth = images[~kept], images[kept], labels[kept]
    start = time.perf_counter()
    with _one_thread():
        net = _digits.fit(
            train, labels[~kept], seed, lambda done, of: progress(f"fitting, epoch {done} of {of}")
        )
    fit_seconds = time.perf_counter() - start
    progress("exporting")
    place = Path(folder)
    paths = _write(place, net, test)
    from samara.exporter.importers.onnx import import_onnx

    report = export(
        import_onnx(paths["onnx"]), paths["samara"], golden=paths["one"], labels=paths["labels"]
    )
    progress("running")
    model = Model(paths["samara"])
    model.selftest()
    want = net.probabilities(test)
    session = Session(model, threads=1)
    got = session.run({"image": test})["probability"]
    in_c = _run_in_c(paths["samara"], place, test)
    outcomes = [got] if in_c is None else [got, in_c]
    microseconds, arena = _latency(model, test[:1])
    return DemoReport(
        folder=os.fspath(place),
        train_images=len(train),
        test_images=len(test),
        fit_seconds=fit_seconds,
        numpy_accuracy=accuracy(want, truth),
        python_accuracy=accuracy(got, truth),
        c_accuracy=None if in_c is None else accuracy(in_c, truth),
        largest_difference=max(float(np.max(np.abs(o - want))) for o in outcomes),
        model_bytes=report.size_bytes,
        onnx_bytes=paths["onnx"].stat().st_size,
        nodes_before=report.nodes_before,
        nodes_after=report.nodes_after,
        arena_bytes=arena,
        microseconds=microseconds,
    )


def load_digits() -> tuple[Floats, Ints]:
    """scikit-learn's 1797 digits as [N, 1, 8, 8] in 0..1, and what they are."""
    try:
        from sklearn import datasets
    except ImportError:
        raise BackendError(
            "the demo needs scikit-learn for its data", fix="pip install 'samara[demo]'"
        ) from None
    images, labels = datasets.load_digits(return_X_y=True)
    side = _digits.SIDE
    return (
        np.asarray(images / 16.0, np.float32).reshape(-1, 1, side, side),
        np.asarray(labels, np.int64),
    )


def _one_thread() -> contextlib.AbstractContextManager[Any]:
    """Keeps numpy's BLAS to one thread: on products this small, waiting for others costs more
    than it saves.
    """
    import threadpoolctl

    limits: contextlib.AbstractContextManager[Any] = threadpoolctl.threadpool_limits(1)
    return limits


def accuracy(probabilities: Floats, labels: Ints) -> float:
    """The share of rows whose largest element is at the label."""
    return float(np.mean(np.argmax(probabilities, axis=1) == labels))


def _write(folder: Path, net: Net, test: Floats) -> dict[str, Path]:
    """The files that export reads."""
    names = {
        "onnx": "digits.onnx",
        "samara": "digits.samara",
        "one": "one.npz",
        "labels": "labels.txt",
    }
    paths = {key: folder / name for key, name in names.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths["onnx"].write_bytes(_digits.onnx_model(net))
        paths["labels"].write_text("\n".join(NAMES) + "\n", encoding="utf-8")
    except OSError as error:
        raise SamaraError(f"{folder} cannot be written: {error.strerror}") from None
    write_arrays(paths["one"], {"image": test[:1]})
    return paths


def _run_in_c(model: Path, folder: Path, test: Floats) -> Floats | None:
    """Probabilities of the plain C program on the test set; None where it is not built."""
    program = program_beside_library("samara-run")
    if program is None:
        return None
    inputs, results = folder / "test.npy", folder / "from_c"
    np.save(inputs, test)
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    command = [str(program), str(model), "--input", f"image={inputs}", "--output", str(results)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise SamaraError(f"samara-run failed: {done.stderr.strip() or done.stdout.strip()}")
    return np.asarray(np.load(results / "probability.npy"), np.float32)


def _latency(model: Model, image: Floats) -> tuple[float, int]:
    """Median microseconds of a bound run of one image, and the arena that it takes."""
    session = Session(model, threads=1)
    run = session.bind(
        {"image": image}, {"probability": np.empty((1, _digits.CLASSES), np.float32)}
    )
    times = []
    for _ in range(_TIMED_RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6, session.arena_bytes
