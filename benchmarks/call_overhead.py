# SPDX-License-Identifier: Apache-2.0
"""The time that the Python binding adds to a call of C: `python -m benchmarks.call_overhead`."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure.machine import interleave, program_beside_library
from samara.pybridge import Session

# Microseconds that Python may add to a call of C: run() and a bound call.
RUN_BUDGET, BOUND_BUDGET = 5.0, 1.0


def overhead(folder: Path) -> dict[str, float]:
    """Microseconds of one run of a tiny model: the C call alone, a bound call, run()."""
    builder = ProgramBuilder()
    f = builder.function("main")
    x = f.input("x", "f32", [1, 16])
    f.finish([f.op("relu", x, name="y")], ["y"])
    path = folder / "tiny.samara"
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
    """The time that Python adds, with its budget."""
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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(overhead_text(overhead(Path(made))))
