# SPDX-License-Identifier: Apache-2.0
"""Benchmark of single operators compared with onnxruntime: one row per form of each IR operator.

Usage: operators.py [--only REGEX] [--runs N] [--limit RATIO] [--json FILE] [--page FILE].
`make bench-ops` builds what it needs and runs it. One thread, engines in turns in one process, CPU time of the
thread, medians; outputs are compared. Exit status 1 if an operator has neither row nor reason, an output
differs, a row fails, or a ratio exceeds --limit.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from operator_models import Row
from operator_rows import NO_TWIN, rows

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ops import all_ops
from samara.exporter.types import BackendError, SamaraError
from samara.exporter.types.text import table
from samara.pybridge import Session, devices

Array = npt.NDArray[Any]

ROOT = Path(__file__).resolve().parent.parent
# A turn of an engine repeats its call until it takes about this long.
_TURN_SECONDS = 1e-3
_EVEN, _SLOWER = 0.8, 1.2  # ratios between which rows count as equally fast
# Bytes of a cache line.
_LINE = 64
# Allowed difference of float32 answers: absolute, relative, of the range.
_TOLERANCE = (1e-4, 1e-3, 2e-5)


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a row: microseconds of both engines, or what went wrong."""

    op: str
    form: str
    twin: str
    samara_us: float | None
    peer_us: float | None
    kernels: str
    problem: str = ""

    @property
    def ratio(self) -> float | None:
        """samara's time divided by onnxruntime's; None if one is missing."""
        if self.samara_us is None or self.peer_us is None:
            return None
        return self.samara_us / self.peer_us


def missing(every: Sequence[Row]) -> list[str]:
    """Faults of the table: IR operators without row or reason, and unknown names."""
    known = {op.name for op in all_ops()}
    have = {r.op for r in every}
    names = [r.name for r in every]
    return [
        *(f"{op}: neither a row nor a reason" for op in sorted(known - have - set(NO_TWIN))),
        *(f"{op}: both a row and a reason" for op in sorted(have & set(NO_TWIN))),
        *(f"{op}: no such operator" for op in sorted((have | set(NO_TWIN)) - known)),
        *(
            f"{name}: two rows of that name"
            for name in sorted({n for n in names if names.count(n) > 1})
        ),
    ]


def exported(row: Row, model: onnx.ModelProto, path: Path) -> list[str]:
    """Write the row's model as a .samara file and return its operators. SamaraError if the row's operator is not
    among them.
    """
    report = export(import_onnx(model), path, check=False)
    ran = [n.op.name for f in report.program.functions.values() for n in f.nodes]
    if row.op not in ran:
        raise SamaraError(
            f"{row.name}: the program runs {', '.join(ran) or 'nothing'}",
            fix="change the row so that its operator is measured",
        )
    return ran


def measure(row: Row, runs: int, folder: Path) -> Measured:
    """Time one row in both engines and compare their outputs."""
    twin = " + ".join(n.op_type for n in row.nodes)
    model, feeds = row.build()
    feeds = {k: aligned(v) for k, v in feeds.items()}
    try:
        ran = exported(row, model, folder / "row.samara")
        session = Session(folder / "row.samara", threads=1)
        first = session.run(feeds)
    except SamaraError as error:
        return Measured(row.op, row.form, twin, None, None, "", f"samara: {error}")
    own = _bound(session, feeds, first)
    try:
        peer, answers = _peer(model, feeds)
    except BackendError as error:
        took = _alternate([own], runs)[0]
        return Measured(row.op, row.form, twin, took, None, " ".join(ran), str(error))
    problem = _difference(first, answers, row.slack, row.steps)
    mine, theirs = _alternate([own, peer], runs)
    return Measured(row.op, row.form, twin, mine, theirs, " ".join(ran), problem)


def aligned(array: Array) -> Array:
    """The array at the start of a cache line, like tensors inside a model, which numpy does not guarantee."""
    store = np.empty(array.nbytes + _LINE, np.uint8)
    start = -store.ctypes.data % _LINE
    place = store[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


def _bound(
    session: Session, feeds: dict[str, Array], answers: dict[str, Array]
) -> Callable[[], object]:
    """A call of samara that reads and writes the same arrays every time; with fresh outputs if a shape depends on
    data.
    """
    if all(isinstance(d, int) for spec in session.outputs for d in spec.shape):
        return session.bind(feeds, {k: aligned(v) for k, v in answers.items()})
    return lambda: session.run(feeds)


def _peer(
    model: onnx.ModelProto, feeds: dict[str, Array]
) -> tuple[Callable[[], object], dict[str, Array]]:
    """A call of onnxruntime that reads and writes the same arrays every time, and its outputs.

    BackendError if it cannot run the model.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
        names = [o.name for o in session.get_outputs()]
        answers = dict(zip(names, session.run(names, feeds), strict=True))
    except Exception as error:  # onnxruntime has its own exception types
        raise BackendError(f"onnxruntime: {error}") from error
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    for output in session.get_outputs():
        if all(isinstance(d, int) for d in output.shape):
            place = onnxruntime.OrtValue.ortvalue_from_numpy(aligned(answers[output.name]))
            binding.bind_ortvalue_output(output.name, place)
        else:
            binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding), answers


def _difference(first: dict[str, Array], second: dict[str, Array], slack: float, steps: int) -> str:
    """What differs by more than `slack` times the tolerance, or `steps` for integers; empty if nothing does."""
    for name, value in second.items():
        mine = first[name]
        if mine.shape != value.shape or mine.dtype != value.dtype:
            return f"{name}: {mine.dtype}{mine.shape} beside {value.dtype}{value.shape}"
        if value.dtype.kind != "f":
            far = mine != value
            if steps:
                far = np.abs(mine.astype(np.int64) - value.astype(np.int64)) > steps
            if far.any():
                return f"{name}: {int(np.count_nonzero(far))} of {value.size} differ"
            continue
        absolute, relative, of_range = _TOLERANCE
        span = float(np.ptp(value)) if value.size else 0.0
        bound = slack * (absolute + relative * np.abs(value) + of_range * span)
        worst = float(np.max(np.abs(mine - value) / bound, initial=0.0))
        if not worst <= 1.0:
            return f"{name}: {worst:.2g} times the tolerance"
    return ""


def _alternate(calls: Sequence[Callable[[], object]], runs: int) -> list[float]:
    """Median microseconds of the thread's CPU time per call; the callables take turns."""
    repeats = []
    for call in calls:
        call()
        start = time.thread_time_ns()
        call()
        call()
        took = (time.thread_time_ns() - start) / 2e9
        repeats.append(max(1, min(500, int(_TURN_SECONDS / max(took, 1e-7)))))
    times: list[list[float]] = [[] for _ in calls]
    for r in range(runs):
        for k in range(len(calls)):
            i = (r + k) % len(calls)
            call = calls[i]
            start = time.thread_time_ns()
            for _ in range(repeats[i]):
                call()
            times[i].append((time.thread_time_ns() - start) / repeats[i] / 1e3)
    return [statistics.median(t) for t in times]


def text(done: Sequence[Measured]) -> str:
    """The table, failures first, then by falling ratio."""
    cells = []
    for m in _sorted(done):
        numbers = (_number(m.samara_us), _number(m.peer_us), _ratio(m))
        problem = " ".join(m.problem.split())[:120]
        cells.append((f"{m.op} {m.form}".strip(), m.twin, *numbers, m.kernels, problem))
    heads = ("row", "ONNX", "samara us", "onnxruntime us", "ratio", "runs as", "problem")
    return table(heads, cells, right={2, 3, 4})


def page(done: Sequence[Measured], runs: int) -> str:
    """The page `docs/internals/operator-speed.md`: rows in which samara is slower, the others by name."""
    found = [m.ratio for m in done if m.ratio is not None]
    above = [m for m in done if m.ratio is not None and m.ratio > 4]
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "<!-- Generated by `make bench-ops`. -->",
        "# Speed of single operators",
        "",
        "For those who want to know which operators are slow. Each row is an ONNX model of one operator with about"
        " 1 MB of data, run by samara and by ONNX Runtime "
        f"{onnxruntime.__version__} in turns",
        "in one process: one thread, bound inputs and outputs, medians of "
        f"{runs} turns of the thread's own processor time, answers compared.",
        f"A ratio below 1 means that samara is faster. Instruction set: {_isa()}.",
        "",
        f"{len(found)} rows, median ratio {statistics.median(found):.2f}, {len(above)} above 4. The table has the rows"
        f" above {_SLOWER}; `make bench-ops` prints all.",
        "",
        "| operator | form | ONNX | samara µs | ONNX Runtime µs | ratio |",
        "|---|---|---|---|---|---|",
    ]
    slower = [m for m in _sorted(done) if m.problem or (m.ratio or 0) > _SLOWER]
    for m in slower:
        cells = (m.op, m.form, m.twin, _number(m.samara_us), _number(m.peer_us), _ratio(m))
        lines.append(f"| {' | '.join(cells)} |")
    even = [m for m in _sorted(done) if m not in slower]
    for what, kept in (
        (f"{_EVEN} to {_SLOWER}", [m for m in even if (m.ratio or 0) >= _EVEN]),
        (f"below {_EVEN}", [m for m in even if 0 < (m.ratio or 0) < _EVEN]),
    ):
        names = ", ".join(f"{m.op} {m.form}".strip() for m in kept)
        lines += ["", f"Ratio {what} ({len(kept)} rows): {names or 'none'}."]
    lines += ["", "Operators without a twin in ONNX Runtime:", ""]
    reasons: dict[str, list[str]] = {}
    for op, why in NO_TWIN.items():
        reasons.setdefault(why, []).append(f"`{op}`")
    lines += [f"* {', '.join(ops)}: {why}." for why, ops in reasons.items()]
    alone = [m for m in done if m.peer_us is None]
    lines += [f"* `{m.op}` {m.form}: {m.problem.splitlines()[0]}" for m in alone]
    return "\n".join(lines) + "\n"


def _isa() -> str:
    return devices()[0].description.rpartition(" ")[2].replace(",", ", ")


def _sorted(done: Sequence[Measured]) -> list[Measured]:
    return sorted(done, key=lambda m: (not m.problem, -(m.ratio or 1e9), m.op))


def _number(us: float | None) -> str:
    return "-" if us is None else f"{us:.1f}"


def _ratio(m: Measured) -> str:
    return "-" if m.ratio is None else f"{m.ratio:.2f}"


def main() -> int:
    """Measure, print, and report by the exit status whether the table is complete and right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose name it matches")
    parser.add_argument("--runs", type=int, default=30, help="turns of each engine")
    parser.add_argument("--limit", type=float, help="highest ratio that passes")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    parser.add_argument("--page", type=Path, help="also write the Markdown page")
    options = parser.parse_args()
    every = rows()
    wrong = missing(every)
    for line in wrong:
        print(line)
    chosen = [r for r in every if re.search(options.only, r.name)]
    for op, why in NO_TWIN.items() if options.only else ():
        if re.search(options.only, op):
            print(f"{op} has no row: {why}")
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for i, r in enumerate(chosen):
            if sys.stderr.isatty():
                print(f"\r{i + 1}/{len(chosen)} {r.name:40}", end="", file=sys.stderr)
            done.append(measure(r, options.runs, Path(folder)))
    print(text(done))
    if options.json is not None:
        plain = [{**asdict(m), "ratio": m.ratio} for m in done]
        options.json.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    if options.page is not None:
        options.page.write_text(page(done, options.runs), encoding="utf-8")
    slow = [] if options.limit is None else [m for m in done if (m.ratio or 0) > options.limit]
    failed = [m for m in done if m.problem and not m.problem.startswith("onnxruntime:")]
    return 1 if wrong or slow or failed else 0


if __name__ == "__main__":
    sys.exit(main())
