# SPDX-License-Identifier: Apache-2.0
"""Benchmark of samara beside onnxruntime, and of what the Python binding costs.

Usage: run.py [--runs N] [--threads N] [--json FILE] [MODEL…]. `make bench` builds what it needs and
runs it. One thread, engines in turns, medians; answers are compared; the share is of the multiply-
add peak measured in the same run. Exit status 1 when an answer differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from write_models import MODELS, write

from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.reports import opened
from samara.exporter.reports._measure import interleave, program_beside_library
from samara.exporter.reports.bench import BenchReport, bench
from samara.exporter.types.text import table
from samara.pybridge import Session

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "benchmarks"
PEER = "onnxruntime"
# Microseconds that Python may add to a call of C.
RUN_BUDGET, BOUND_BUDGET = 5.0, 1.0


def models(names: list[str], runs: int, threads: int) -> list[BenchReport]:
    """A report per model."""
    reports = []
    for path in write(FOLDER, names):
        with opened(path) as file:
            reports.append(bench(file, against=(PEER,), threads=(threads,), runs=runs))
    return reports


def models_text(reports: list[BenchReport]) -> str:
    """The table that `make bench` prints."""
    cells = []
    for r in reports:
        own = next(row for row in r.rows if row.engine == "samara")
        peer = next(row for row in r.rows if row.engine != "samara")
        other = f"{peer.median_ms:.3f}" if peer.median_ms is not None else peer.error
        ratio = "-" if peer.ratio is None else f"{peer.ratio:.2f}"
        share = "-" if own.peak_share is None else f"{100 * own.peak_share:.0f} %"
        rate = "-" if own.gflops is None else f"{own.gflops:.1f}"
        answers = "-" if peer.tolerances is None else f"{peer.tolerances:.2g}"
        cells.append(
            (Path(r.model).stem, f"{own.median_ms:.3f}", other, ratio, rate, share, answers)
        )
    heads = ("model", "samara ms", f"{PEER} ms", "samara/it", "GFLOP/s", "of peak", "difference")
    return table(heads, cells, right={1, 2, 3, 4, 5, 6})


def overhead() -> dict[str, float]:
    """Microseconds of one run of a tiny model: by the C call alone, by a bound call, by run()."""
    builder = ProgramBuilder()
    f = builder.function("main")
    x = f.input("x", "f32", [1, 16])
    f.finish([f.op("relu", x, name="y")], ["y"])
    path = FOLDER / "tiny.samara"
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_program(builder.finish(["main"]), path)
    session = Session(path, threads=1)
    feeds = {"x": np.zeros((1, 16), np.float32)}
    bound = session.bind(feeds, {"y": np.empty((1, 16), np.float32)})
    calls: list[Callable[[], object]] = [bound, lambda: session.run(feeds)]
    took = [statistics.median(times) * 1e6 for times in interleave(calls, 200)]
    found = {"bound": took[0], "run": took[1]}
    program = program_beside_library("call_bench")
    if program is not None:
        done = subprocess.run(
            [str(program), str(path), "20000"], capture_output=True, text=True, check=True
        )
        found["c"] = float(done.stdout.split()[0]) / 1e3
    return found


def overhead_text(found: dict[str, float]) -> str:
    """What Python adds, beside its budget."""
    if "c" not in found:
        return f"a tiny model: run {found['run']:.2f} us, bound call {found['bound']:.2f} us (no call_bench built)"
    lines = [f"a tiny model in C: {found['c']:.2f} us"]
    for name, budget in (("run", RUN_BUDGET), ("bound", BOUND_BUDGET)):
        extra = found[name] - found["c"]
        verdict = "within" if extra <= budget else "OVER"
        lines.append(
            f"  Python's {name} adds {extra:.2f} us, {verdict} its budget of {budget:g} us"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and say by the exit status whether the answers agreed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; default: all"
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    options = parser.parse_args()
    if unknown := set(options.models) - set(MODELS):
        parser.error(f"no model {sorted(unknown)[0]!r}; there are {', '.join(MODELS)}")
    reports = models(options.models, options.runs, options.threads)
    costs = overhead()
    first = reports[0]
    peak = "not measured" if first.peak_gflops is None else f"{first.peak_gflops:.1f} GFLOP/s"
    print(
        f"{first.machine}; {options.threads} thread(s); peak of one: {peak}; {options.runs} rounds, medians"
    )
    print(models_text(reports))
    print(overhead_text(costs))
    if options.json is not None:
        plain: dict[str, Any] = {"models": [r.to_json() for r in reports], "overhead_us": costs}
        options.json.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    return 0 if all(r.answers_agree for r in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
