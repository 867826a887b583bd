# SPDX-License-Identifier: Apache-2.0
"""Benchmark of samara and its peers, interleaved in one run.

    python -m benchmarks.run --models mobilenet_v2 --engines samara,ncnn --threads 1 --int8 --rounds 20

`make bench BENCH_ARGS="…"` builds what it needs and runs this. Every engine runs in a separate process; they
take turns, round by round, and waiting ones are stopped. Outputs are checked against float64; engines with
wrong outputs do not count. Everything is written to build/bench/results.json after every model; a run that was
stopped goes on where it was, unless --again. --page also writes docs/internals/benchmarks.md, in which models
that were not measured keep earlier results of the same kind of machine (benchmarks/page.json). Exit status 1:
samara's own output was wrong.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks import overview, page, reference
from benchmarks.engines import EARLIER, NAMES, Form, engine
from benchmarks.environments import ROOT, Missing, python_of
from benchmarks.files import Files, sources_digest
from benchmarks.results import (
    Cost,
    Own,
    Report,
    Row,
    group,
    lead,
    merged,
    plain,
    report_from,
    spread,
    summary,
)
from benchmarks.rounds import MemoryPeak, Times, Worker, interleave
from benchmarks.zoo import MODELS
from benchmarks.zoo.count import operations

FOLDER = ROOT / "build" / "bench"
PAGE = Path(__file__).with_name("page.json")  # the data of docs/internals/benchmarks.md
# The least signal-to-noise ratio of a valid output. float32 has at least four digits; random weights,
# which were not trained for it, leave little in int8.
BOUNDS_DB = {"float32": 60.0, "int8": 10.0}


class Contest:
    """One model in one form with one number of threads, on every engine."""

    def __init__(self, files: Files, model: str, form: str, threads: int) -> None:
        self.files, self.model, self.form, self.threads = files, model, form, threads
        self.key = model, form, threads  # as in `results.group`

    def rows(self, engines: Sequence[str], rounds: int, seconds: float, clock: str) -> list[Row]:
        """A row for every engine."""
        with ExitStack() as stack:
            rows: dict[str, Row] = {}
            workers = []
            for name in engines:
                row = Row(self.model, self.form, self.threads, name)
                form = engine(name).FORMS[self.form]
                row = replace(row, converter=form.converter if isinstance(form, Form) else "")
                try:
                    worker = self._start(name, "", stack)
                    rows[name] = self._opened(row, worker)
                    workers.append(worker)
                    worker.pause()
                except (Missing, OSError, ValueError) as missing:
                    rows[name] = replace(row, problem=str(missing))
            for name, times in interleave(workers, rounds, seconds).items():
                rows[name] = _timed(rows[name], times, clock)
        return list(rows.values())

    def costs(self, name: str) -> Cost:
        """The memory of the engine, in a process that does nothing else."""
        with ExitStack() as stack:
            worker = self._start(name, ".memory", stack)
            worker.ask("version")
            before = worker.ask("memory")
            with MemoryPeak(worker.pid) as peak:
                worker.ask("load")
                worker.ask("first")
                worker.ask("run 2 1")
            after = worker.ask("memory")
            private = max(peak.private, after["private"])
            return Cost(
                private - before["private"],
                peak.total() - before["total"],
                after["private"] - before["private"],
                after["total"] - before["total"],
            )

    def _start(self, name: str, suffix: str, stack: ExitStack) -> Worker:
        path = self.files.converted(self.model, name, self.form)
        home = self.files.model(self.model)
        python = python_of(self.files.environments, engine(name).ENVIRONMENT)
        base = f"{name}.{self.form}.{self.threads}{suffix}"
        self._answer = home / f"{base}.npy"
        words = [str(path), str(home / "input.npy"), str(self._answer), str(self.threads)]
        worker = Worker(python, name, words, home / f"{base}.log")
        stack.callback(worker.close)
        return worker

    def _opened(self, row: Row, worker: Worker) -> Row:
        row = replace(row, version=worker.ask("version"), load=worker.ask("load"))
        row = replace(row, first=worker.ask("first"))
        want = np.load(self.files.model(self.model) / "reference.npy")
        db = reference.sqnr_db(want, np.load(self._answer))
        bound = BOUNDS_DB[self.form]
        problem = "" if db >= bound else f"wrong answer: {db:.1f} dB, expected at least {bound:g}"
        return replace(row, sqnr_db=db if np.isfinite(db) else None, problem=problem)


def _timed(row: Row, times: Times | str, clock: str) -> Row:
    if isinstance(times, str):
        return replace(row, problem=times)
    least, median, p90 = spread(times.wall if clock == "wall" else times.cpu)
    return replace(row, least=least, median=median, p90=p90)


def contests(options: argparse.Namespace, files: Files) -> Iterator[Contest]:
    """Every model in every form with every number of threads."""
    for form in options.forms:
        for threads in options.threads:
            for model in options.models:
                yield Contest(files, model, form, threads)


def peaks() -> dict[str, float]:
    """The peak of one thread, from loops of multiply-adds in C; empty if they are not built."""
    from samara.exporter.measure.machine import program_beside_library

    found = {}
    for form, name in (("float32", "fma_peak"), ("int8", "dot_peak")):
        program = program_beside_library(name)
        if program is not None:
            done = subprocess.run([str(program), "0.5"], capture_output=True, text=True, check=True)
            found[form] = float(done.stdout.split()[0])
    return found


def own_count(path: Path) -> Own:
    """The memory that samara reports for a file with one thread."""
    from samara.pybridge import Session
    from samara.pybridge.memory_use import CountedModel

    function = Session(path, threads=1).function
    with CountedModel(path) as model:
        counted = model.session(function=function, threads=1)
        arena = counted.arena_bytes
        structures = model.model_bytes + counted.session_bytes - arena
        return Own(arena, counted.derived_bytes, structures, path.stat().st_size)


# Instruction sets on which a CPU's speed depends most, the best first, as the kernel calls them.
_LEVELS = ("avx512_vnni", "avx_vnni", "avx512f", "avx2", "i8mm", "asimddp")


def processor(cpuinfo: str) -> str:
    """The name of the CPU with its best instruction set, from the kernel's text. Virtual machines give CPUs of
    several generations one name.
    """
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in lines}
    flags = facts.get("flags", facts.get("Features", "")).split()
    best = next((level for level in _LEVELS if level in flags), "")
    name = facts.get("model name", platform.machine())
    return f"{name} ({best})" if best else name


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    options = options_of(arguments)
    try:
        report = (
            merged([_read(p) for p in options.from_json])
            if options.from_json
            else _measured(options)
        )
    except KeyboardInterrupt:
        print("stopped; the same command goes on after the last whole model", file=sys.stderr)
        return 130
    print(summary(report, options.engines))
    if options.page:
        kept = _kept(report)
        page.update(ROOT / "docs" / "internals" / "benchmarks.md", kept)
        overview.write(kept, ROOT)
    return 0 if all(r.counts for r in report.rows if r.engine == "samara") else 1


def _kept(report: Report) -> Report:
    """The report merged into the page's earlier data, if that is from the same kind of machine; saved for the next
    time.
    """
    before = _read(PAGE) if PAGE.is_file() else None
    if before is not None and before.machine == report.machine:
        report = merged([before, report])
    lines = plain(report)
    rows = ",\n".join(json.dumps(r) for r in lines.pop("rows"))
    PAGE.write_text(f'{json.dumps(lines)[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")
    return report


def _read(path: Path) -> Report:
    return report_from(json.loads(path.read_text(encoding="utf-8")))


def _measured(options: argparse.Namespace) -> Report:
    files = Files(FOLDER)
    FOLDER.mkdir(parents=True, exist_ok=True)
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    report = Report(
        machine=f"{processor(cpuinfo)}, {platform.system()} {platform.machine()}",
        date=datetime.date.today().isoformat(),
        rounds=options.rounds,
        seconds=options.seconds,
        clock=options.clock,
        build=_build(),
        peaks=peaks(),
        operations={n: operations(MODELS[n].build()) for n in options.models},
        rows=(),
    )
    wanted = list(contests(options, files))
    if not options.again:
        report = resumed(report, options.json, options.engines, options.memory)
    kept = group(report.rows)
    done = [c for c in wanted if c.key in kept]
    if done:
        print(
            f"{len(done)} of {len(wanted)} were measured before ({options.json}); --again measures all",
            file=sys.stderr,
        )
    for contest in wanted:
        if contest in done:
            continue
        report = _with(report, contest, options)
        # Written after every contest, because a run takes long and its results must not be lost.
        _write_whole(options.json, json.dumps(plain(report), indent=1) + "\n")
    return report


def _with(report: Report, contest: Contest, options: argparse.Namespace) -> Report:
    """The report with the rows of one more contest."""
    rows = contest.rows(options.engines, options.rounds, options.seconds, options.clock)
    own = dict(report.own)
    if options.memory and contest.threads == options.threads[0]:
        rows = [replace(r, cost=contest.costs(r.engine)) if r.counts else r for r in rows]
        if any(r.engine == "samara" and r.counts for r in rows):
            path = contest.files.converted(contest.model, "samara", contest.form)
            own[f"{contest.model} {contest.form}"] = own_count(path)
    ratio = lead(rows)
    text = "no comparison" if ratio is None else f"best peer : samara {ratio:.2f}"
    print(f"{contest.model} {contest.form} {contest.threads}: {text}", file=sys.stderr)
    return replace(report, rows=[*report.rows, *rows], own=own)


def resumed(report: Report, path: Path, engines: Sequence[str], memory: bool) -> Report:
    """The report with the contests of an earlier run in the file, if that measured the same build in the same way:
    those of which it has every engine and, where wanted, samara's memory.
    """
    if not path.is_file():
        return report
    earlier = _read(path)
    if not report.continues(earlier):
        return report
    rows: list[Row] = []
    for (model, form, _), found in group(earlier.rows).items():
        counted = not memory or f"{model} {form}" in earlier.own
        valid = any(r.engine == "samara" and r.counts for r in found)
        if set(engines) <= {r.engine for r in found} and (counted or not valid):
            rows += found
    operations_of = {**earlier.operations, **report.operations}
    return replace(report, rows=rows, own=earlier.own, operations=operations_of)


def _build() -> str:
    """A digest of samara's library and exporter, as the engine's process finds them."""
    digest = sources_digest(ROOT)
    library = os.environ.get("SAMARA_LIBRARY")
    if library:
        digest.update(Path(library).read_bytes())
    return digest.hexdigest()[:16]


def _write_whole(path: Path, text: str) -> None:
    """Write the file so that a stop in between leaves the earlier one."""
    beside = path.with_suffix(".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def names(known: Sequence[str]) -> object:
        def parse(text: str) -> list[str]:
            chosen = text.split(",")
            for name in chosen:
                if name not in known:
                    raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
            return chosen

        return parse

    parser.add_argument("--models", type=names(list(MODELS)), default=list(MODELS))  # type: ignore[arg-type]
    parser.add_argument("--engines", type=names((*NAMES, EARLIER)), default=list(NAMES))  # type: ignore[arg-type]
    parser.add_argument(
        "--threads", type=lambda text: [int(t) for t in text.split(",")], default=[1, 2]
    )
    parser.add_argument("--int8", action="store_true", help="only the int8 forms")
    parser.add_argument("--float32", action="store_true", help="only float32")
    parser.add_argument("--rounds", type=int, default=20, help="at least")
    parser.add_argument(
        "--seconds", type=float, default=10, help="of rounds at least, for small models"
    )
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: the processes' own time"
    )
    parser.add_argument(
        "--again", action="store_true", help="measure also what an earlier run of this build has"
    )
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument(
        "--page", action="store_true", help="also write docs/internals/benchmarks.md"
    )
    parser.add_argument(
        "--from-json",
        type=lambda text: [Path(p) for p in text.split(",")],
        metavar="A.json,B.json",
        help="measure nothing: show earlier results, the later ones first to count",
    )
    parser.add_argument("--json", type=Path, default=FOLDER / "results.json")
    options = parser.parse_args(arguments)
    both = options.int8 == options.float32
    options.forms = [f for f in BOUNDS_DB if both or getattr(options, f)]
    return options


if __name__ == "__main__":
    sys.exit(main())
