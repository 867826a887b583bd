# SPDX-License-Identifier: Apache-2.0
"""Selective builds compared with the full library: `python -m benchmarks.selective [--models A,B] [--opt s]`.

For every model a library with exactly what it needs is built for this machine. Both libraries run in one
process, in turns, on the same input with one thread. The table has the full library's median, and how much
longer the selective build takes: the median and quartiles of the ratios of turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.environments import Missing
from benchmarks.files import Files
from benchmarks.run import FOLDER
from benchmarks.zoo import MODELS

from samara.exporter.build import build
from samara.exporter.measure.machine import interleave
from samara.exporter.types.text import table
from samara.pybridge._native import NULL, ffi, library_path


@contextmanager
def opened(library: Path, model: Path) -> Iterator[Callable[[], object]]:
    """A callable for one run of the model's first function by that library; inputs are drawn once."""
    lib: Any = ffi.dlopen(os.fspath(library))
    held, session, error = (
        ffi.new(f"samara_{what} *") for what in ("model *", "session *", "error")
    )

    def check(status: int) -> None:
        if status:
            raise RuntimeError(f"{library}: {ffi.string(error.text).decode()} ({status})")

    check(lib.samara_model_open_path(os.fsencode(model), NULL, held, error))
    check(lib.samara_session_create(held[0], NULL, session, error))
    rng, tensor = np.random.default_rng(7), ffi.new("samara_tensor *")
    for index in range(lib.samara_model_input_count(held[0], NULL)):
        check(lib.samara_session_input(session[0], index, tensor))
        if tensor.dtype == lib.SAMARA_FLOAT32:
            drawn = rng.standard_normal(tensor.size_bytes // 4, dtype=np.float32).tobytes()
        else:
            drawn = rng.integers(0, 8, tensor.size_bytes, dtype=np.uint8).tobytes()
        ffi.memmove(tensor.data, drawn, len(drawn))

    def run() -> None:
        check(lib.samara_session_run(session[0]))

    try:
        yield run
    finally:
        lib.samara_session_destroy(session[0])
        lib.samara_model_close(held[0])


def compare(model: Path, folder: Path, opt: str, rounds: int) -> list[str]:
    """A row of the table, without the name."""
    built = build([model], out=folder, opt=opt, programs=False)
    (selective,) = (p for p in (folder / "lib").iterdir() if p.suffix in (".so", ".dylib"))
    with opened(library_path(), model) as full, opened(selective, model) as own:
        first, second = interleave([full, own], rounds)
    low, middle, high = statistics.quantiles([b / a for a, b in zip(first, second, strict=True)])
    return [
        f"{built.bill.counted:,}",
        f"{statistics.median(first) * 1e6:.1f}",
        *(f"{(ratio - 1) * 100:+.1f} %" for ratio in (middle, low, high)),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="mobilenet_v2,minilm,lstm,ds_cnn,resnet8,autoencoder")
    parser.add_argument("--opt", choices=("s", "2"), default="s")
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args(arguments)
    files, rows = Files(FOLDER), []
    with tempfile.TemporaryDirectory(prefix="samara-selective-") as scratch:
        for name in options.models.split(","):
            for form in ("float32", "int8"):
                try:
                    model = files.converted(name, "samara", form)
                except Missing as error:
                    print(f"NOT RUN: {name} {form}: {error}", file=sys.stderr)
                    continue
                row = compare(model, Path(scratch) / f"{name}-{form}", options.opt, options.rounds)
                rows.append([MODELS[name].title, form, *row])
                print(*rows[-1], sep="  ", file=sys.stderr)
    print(table(("model", "form", "bytes", "us", "longer", "from", "to"), rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
