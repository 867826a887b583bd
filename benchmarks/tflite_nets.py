# SPDX-License-Identifier: Apache-2.0
"""Real TFLite networks beside LiteRT, on the same file, by turns: python -m benchmarks.tflite_nets [NAME...]

Networks are folders with model.tflite in the folder SAMARA_TFLITE_MODELS. Printed are medians of one inference, with
one and with two threads, and LiteRT's time by samara's: above 1 samara is the faster one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from samara.exporter.measure.bench import BenchRow, bench
from samara.exporter.opening import opened
from samara.exporter.types.text import table

# Float and int8, from a microcontroller's to a phone's size.
NETS = (
    "mlperftiny_ic_int8",
    "coral_mobilenet_v1_025_128",
    "coral_movenet_lightning",
    "mlperftiny_vww_float32",
    "ultraface_slim320_tflite",
    "basic_pitch_tflite",
)
RUNS = 40


def rows_of(path: Path) -> list[tuple[str, ...]]:
    """A line per number of threads: name, threads, samara's and LiteRT's milliseconds, their ratio."""
    with opened(path) as file:
        report = bench(file, threads=(1, 2), against=("litert",), runs=RUNS)
    lines: list[tuple[str, ...]] = []
    for threads in (1, 2):
        ours, theirs = _pair(report.rows, threads)
        if ours.median_ms is None or theirs.median_ms is None:
            lines.append((path.parent.name, str(threads), "-", "-", theirs.error or "failed"))
            continue
        ratio = theirs.median_ms / ours.median_ms
        lines.append(
            (
                path.parent.name,
                str(threads),
                f"{ours.median_ms:.3f}",
                f"{theirs.median_ms:.3f}",
                f"{ratio:.2f}",
            )
        )
    return lines


def _pair(rows: tuple[BenchRow, ...], threads: int) -> tuple[BenchRow, BenchRow]:
    own = next(r for r in rows if r.threads == threads and r.engine.startswith("samara"))
    return own, next(r for r in rows if r.threads == threads and not r.engine.startswith("samara"))


def main() -> int:
    folder = os.environ.get("SAMARA_TFLITE_MODELS")
    if not folder:
        print("NOT RUN: TFLite networks beside LiteRT (SAMARA_TFLITE_MODELS is not set)")
        return 0
    lines: list[tuple[str, ...]] = []
    for name in sys.argv[1:] or NETS:
        lines += rows_of(Path(folder) / name / "model.tflite")
    print(
        table(
            ("network", "threads", "samara ms", "LiteRT ms", "LiteRT : samara"),
            lines,
            right={1, 2, 3, 4},
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
