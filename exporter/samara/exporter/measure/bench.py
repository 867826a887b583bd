# SPDX-License-Identifier: Apache-2.0
"""Latency of a model, interleaved with other engines in one run: medians, ratios of medians, and a check
of the outputs.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ir import Array, open_program
from samara.exporter.ir.program import QUANTIZATION
from samara.exporter.measure._trace import trace_of
from samara.exporter.measure.costs import flops_of, symbol_sizes
from samara.exporter.measure.device_use import DeviceUse, device_use, settle
from samara.exporter.measure.feeds import Feeds, Given, session_feeds
from samara.exporter.measure.inside import Inside, functions_inside
from samara.exporter.measure.machine import (
    Progress,
    Roof,
    interleave,
    measure_roof,
    peak_gflops,
)
from samara.exporter.measure.node_times import NodeTime, node_times, nodes_text
from samara.exporter.measure.peers import check_peer, open_peer
from samara.exporter.opening import OpenedFile
from samara.exporter.passes import difference
from samara.exporter.types import SamaraError, ShapeError
from samara.exporter.types.charts import Bar, bars
from samara.exporter.types.text import plain, table
from samara.pybridge import Model, Session
from samara.pybridge import __version__ as samara_version
from samara.pybridge.device import CPU, BackendChoice, host
from samara.pybridge.files import read_text
from samara.pybridge.notebook import html_report, html_table

_SLOWEST: Final = 15  # nodes that a notebook shows
_ROUNDED_STEPS: Final = 8  # of 8 bits, by which whole networks may differ from engine to engine


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One engine in one configuration. Times are milliseconds per inference; `best` is the fastest round.

    ratio: the median of the samara row with the same number of threads divided by this row's; above 1
    means faster than samara. gflops and peak share: None if the cost of the model or the peak is unknown.
    tolerances: the largest difference of its outputs from those of the first row, in units of the model
    tolerance (of a quantized model and another engine: the root mean square, in units of 8 steps); None for
    the first row. error: why it did not run. use: of the devices; None for a row of
    the CPU alone.
    """

    engine: str
    threads: int
    isa: str
    median_ms: float | None
    best_ms: float | None
    ratio: float | None
    gflops: float | None
    peak_share: float | None
    tolerances: float | None
    error: str = ""
    use: DeviceUse | None = None


@dataclass(frozen=True, slots=True)
class ColdRow:
    """Medians of the steps before the first result, in milliseconds: opening the file, creating the session,
    the first run.
    """

    threads: int
    isa: str
    open_ms: float
    create_ms: float
    first_run_ms: float


@dataclass(frozen=True, slots=True)
class BenchReport:
    """A benchmark of one model on one machine.

    peak_gflops: fused multiply-adds of one thread, measured in the same run; `roof` likewise, if nodes
    were timed. nodes_share: the sum of all nodes' times divided by the time of their run. not_reached:
    paths of requested nodes in branches that the inputs do not take. baseline: medians divided by
    those of an earlier result, by row; baseline_nodes: its nodes' times in microseconds, by path.
    """

    model: str
    machine: str
    version: str
    runs: int
    flops: int | None
    peak_gflops: float | None
    sizes: Mapping[str, int]
    rows: tuple[BenchRow, ...]
    cold: tuple[ColdRow, ...] = ()
    nodes: tuple[NodeTime, ...] = ()
    nodes_share: float | None = None
    not_reached: tuple[str, ...] = ()
    roof: Roof | None = None
    baseline: Mapping[str, float] | None = None
    baseline_nodes: Mapping[str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, which a later run reads with `baseline=`."""
        return dict(plain(self))

    @property
    def answers_agree(self) -> bool:
        """Whether every engine that ran gave the outputs of the first one."""
        return all(r.tolerances is None or r.tolerances <= 1.0 for r in self.rows)

    def text(self, *, nodes: bool = True) -> str:
        """Tables, and how they were measured; `nodes`: with that of nodes, where they were timed."""
        lines = [f"{self.model}: {self.runs} interleaved rounds on {self.machine}"]
        if self.sizes:
            lines.append("sizes: " + ", ".join(f"{k}={v}" for k, v in self.sizes.items()))
        if self.peak_gflops is not None:
            lines.append(f"measured peak: {self.peak_gflops:.1f} GFLOP/s of one thread")
        lines.append(self._rows_text())
        if self.cold:
            cells = [
                (str(c.threads), c.isa, _ms(c.open_ms), _ms(c.create_ms), _ms(c.first_run_ms))
                for c in self.cold
            ]
            lines.append(
                table(
                    ("threads", "isa", "open ms", "create ms", "first run ms"),
                    cells,
                    right={2, 3, 4},
                )
            )
        if self.nodes and nodes:
            lines.append(nodes_text(self.nodes, self.nodes_share, self.roof, self.not_reached))
        if self.baseline is not None:
            lines += [
                f"{key}: {ratio:.3f} times the baseline" for key, ratio in self.baseline.items()
            ]
        return "\n".join(lines)

    def latency_bars(self) -> str:
        """A chart with a bar per row: its median, and how it compares with samara."""
        rows = []
        for r in self.rows:
            if r.median_ms is None:
                rows.append(Bar(_name(r), f"failed: {r.error[:60]}", tip=r.error))
                continue
            ratio = "" if r.ratio is None else f", {r.ratio:.2f} times as fast as samara"
            wrong = r.tolerances is not None and not r.tolerances <= 1.0
            shown = f"{r.median_ms:.3f} ms{ratio}" + (", WRONG ANSWER" if wrong else "")
            rows.append(Bar(_name(r), r.median_ms, shown=shown))
        return bars(rows, unit="ms", width=980.0)

    def _repr_html_(self) -> str:
        facts = {"machine": self.machine, "rounds": str(self.runs)}
        slow = sorted(self.nodes, key=lambda n: -n.median_us)[:_SLOWEST]
        rows = [
            (
                n.path or n.node,
                n.op,
                n.kernel,
                f"{n.median_us:.1f}",
                "" if n.share is None else f"{100 * n.share:.1f} %",
            )
            for n in slow
        ]
        heads = ("slowest nodes", "operator", "kernel", "µs", "of the run")
        table = html_table(heads, rows, right={3, 4}) if rows else ""
        return html_report(f"Benchmark of {self.model}", facts, self.latency_bars(), table)

    def _rows_text(self) -> str:
        cells = []
        # Columns about devices, if some row has one.
        used = any(r.use is not None for r in self.rows)
        for r in self.rows:
            where = _where(r.use) if used else ()
            if r.error:
                cells.append((r.engine, str(r.threads), r.isa, *where, "failed", *"----", r.error))
                continue
            answers = "" if r.tolerances is None else f"{r.tolerances:.2g} of the tolerance"
            if r.tolerances is not None and not r.tolerances <= 1.0:
                answers = "WRONG: " + answers
            cells.append(
                (
                    r.engine,
                    str(r.threads),
                    r.isa,
                    *where,
                    _ms(r.median_ms),
                    _ms(r.best_ms),
                    "-" if r.ratio is None else f"{r.ratio:.2f}",
                    "-" if r.gflops is None else f"{r.gflops:.1f}",
                    "-" if r.peak_share is None else f"{100 * r.peak_share:.0f} %",
                    answers,
                )
            )
        heads = (
            "engine",
            "threads",
            "isa",
            *(("device", "nodes", "regions", "launches") if used else ()),
            "median ms",
            "best ms",
            "samara/it",
            "GFLOP/s",
            "of peak",
            "difference",
        )
        text = table(heads, cells, right={1, *range(4 if used else 3, len(heads) - 1)})
        failures = [r.use.text() for r in self.rows if r.use is not None and r.use.failure]
        return "\n".join([text, *failures])


@dataclass(slots=True)
class _Contender:
    """An engine under measurement: its name, the number of calls per round, and the times of the rounds."""

    engine: str
    threads: int
    isa: str
    call: Callable[[], object]
    outputs: Mapping[str, Array]
    repeats: int = 1
    seconds: list[float] | None = None
    session: Session | None = None  # if it runs on devices


def bench(
    file: OpenedFile,
    *,
    against: Sequence[str] = (),
    threads: Sequence[int] = (1,),
    isas: Sequence[str | None] = (None,),
    runs: int = 50,
    warmup: int = 3,
    cold: bool = False,
    node: str | None = None,
    function: str | None = None,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    baseline: str | os.PathLike[str] | None = None,
    backend: BackendChoice = CPU,
    tuned: str | bool | None = None,
    accuracy: str = "default",
    progress: Progress = lambda _done, _total: None,
) -> BenchReport:
    """Measure the model with every number of threads and ISA ceiling, and the engines in `against` with every
    number of threads.

    Engines take turns, one round each, so that other load on the machine affects all alike. A peer that
    cannot be loaded or run becomes a row with the reason. cold: also measure open, create and first run.
    inputs, files: as read_feeds takes them; other inputs get seeded random data. node: also time the nodes
    whose path or operator contains this text, or that a tensor of such a name was fused into. The path of
    a node in a branch or a loop begins with the control nodes that contain it. accuracy: as a Session
    takes it; cold starts use the default. backend: devices as a Session takes them, in turns with the CPU;
    nodes and cold starts are measured on the devices. Where the model's state grows, a run begins without rows.
    """
    if runs < 1:
        raise ShapeError(f"runs must be at least 1, got {runs}", fix="leave runs out for 50")
    for engine in against:
        check_peer(engine, file.kind, file.given)
    old, old_nodes = (None, None) if baseline is None else _read_baseline(baseline)
    model = Model(file.path)
    common: dict[str, Any] = {
        "function": function,
        "wait": True,
        "tuned": tuned,
        "accuracy": accuracy,
    }
    first = Session(model, threads=1, isa=isas[0], backend=backend, **common)
    chosen = session_feeds(first, inputs=inputs, files=files, shapes=shapes, seed=seed)
    flops = _model_flops(file, first, chosen)
    grows = any(v.length for v in open_program(file.path).variables)
    contenders: list[_Contender] = []
    failed: list[BenchRow] = []
    for count in threads:
        for isa in isas:
            for on in (CPU,) if backend == CPU else (CPU, backend):
                contenders.append(_samara(model, count, isa, on, common, chosen, grows))
        for engine in against:
            made = _peer(engine, file, count, chosen)
            contenders += [made] if isinstance(made, _Contender) else []
            failed += [made] if isinstance(made, BenchRow) else []
    before = peak_gflops()
    _measure(contenders, runs, warmup, progress)
    after = peak_gflops()
    peak = None if before is None or after is None else max(before, after)
    rounded = QUANTIZATION in model.metadata
    rows = [_result(c, contenders, flops, peak, rounded) for c in contenders] + failed
    roof = measure_roof(isas[0]) if node is not None else None
    timed = None if node is None else node_times(file, first, chosen, node, runs, roof)
    return BenchReport(
        model=file.given,
        machine=f"{platform.machine()} {host().description}",
        version=samara_version,
        runs=runs,
        flops=flops,
        peak_gflops=peak,
        sizes=dict(chosen.sizes),
        rows=tuple(rows),
        cold=tuple(
            _cold(file, function, t, i, backend, chosen, runs) for t in threads for i in isas
        )
        if cold
        else (),
        nodes=() if timed is None else timed.nodes,
        nodes_share=None if timed is None else timed.share,
        not_reached=() if timed is None else timed.not_reached,
        roof=roof,
        baseline=None if old is None else _against_baseline(old, rows),
        baseline_nodes=old_nodes,
    )


def trace(
    file: OpenedFile,
    *,
    function: str | None = None,
    threads: int = 1,
    isa: str | None = None,
    backend: BackendChoice = CPU,
    tuned: str | bool | None = None,
    accuracy: str = "default",
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> str:
    """A Chrome trace of one warm run. Options as `bench` takes them."""
    session = Session(
        file.path,
        function=function,
        threads=threads,
        backend=backend,
        wait=True,
        isa=isa,
        tuned=tuned,
        accuracy=accuracy,
    )
    feeds = session_feeds(session, inputs=inputs, files=files, shapes=shapes, seed=seed).arrays
    session.run(feeds)
    settle(session, feeds)
    session.reset()
    session.set_profiling(True)
    session.run(feeds)
    return trace_of(session, open_program(file.path))


# ---- contenders ----


def _samara(
    model: Model,
    threads: int,
    isa: str | None,
    backend: BackendChoice,
    common: Mapping[str, Any],
    chosen: Feeds,
    grows: bool,
) -> _Contender:
    session = Session(model, threads=threads, isa=isa, backend=backend, **common)
    outputs = session.run(chosen.arrays)
    settle(session, chosen.arrays)
    session.reset()
    feeds = dict(chosen.arrays)
    static = all(s is not None for s in session.output_shapes)
    call: Callable[[], object] = (
        session.bind(feeds, {n: np.empty_like(a) for n, a in outputs.items()})
        if static
        else lambda: session.run(feeds)
    )

    def begin_and_call() -> None:
        session.reset()
        call()

    watched = None if backend == CPU else session
    timed = begin_and_call if grows else call
    return _Contender("samara", threads, isa or "", timed, outputs, session=watched)


def _peer(engine: str, file: OpenedFile, threads: int, chosen: Feeds) -> _Contender | BenchRow:
    assert file.source is not None
    feeds = dict(chosen.arrays)
    try:
        peer = open_peer(engine, file.source, threads)
        outputs = peer.run(feeds)
    except Exception as error:  # noqa: BLE001  (a peer may raise anything; the row shows it)
        text = str(error).strip().splitlines()
        return BenchRow(
            engine,
            threads,
            "",
            None,
            None,
            None,
            None,
            None,
            None,
            text[0] if text else repr(error),
        )
    return _Contender(peer.name, threads, "", lambda: peer.run(feeds), outputs)


def _measure(contenders: Sequence[_Contender], runs: int, warmup: int, progress: Progress) -> None:
    seconds = interleave([c.call for c in contenders], runs, warmup, progress)
    for c, times in zip(contenders, seconds, strict=True):
        c.seconds = times


def _result(
    c: _Contender,
    every: Sequence[_Contender],
    flops: int | None,
    peak: float | None,
    rounded: bool,
) -> BenchRow:
    assert c.seconds is not None
    median = statistics.median(c.seconds)
    own = next(o for o in every if o.engine == "samara" and o.threads == c.threads)
    assert own.seconds is not None
    gflops = None if not flops else flops / median / 1e9
    worst = None
    if c is not every[0]:
        names = [n for n in every[0].outputs if n in c.outputs]
        # Of a quantized model every engine rounds in its own way, layer by layer.
        steps = _ROUNDED_STEPS if rounded and not c.engine.startswith("samara") else 0
        pairs = ((c.outputs[n], every[0].outputs[n]) for n in names)
        worst = max((difference(a, b, steps) for a, b in pairs), default=None)
    return BenchRow(
        engine=c.engine,
        threads=c.threads,
        isa=c.isa,
        median_ms=median * 1e3,
        best_ms=min(c.seconds) * 1e3,
        ratio=None if c is own else statistics.median(own.seconds) / median,
        gflops=gflops,
        peak_share=None if gflops is None or peak is None else gflops / (peak * c.threads),
        tolerances=worst,
        use=None if c.session is None else device_use(c.session),
    )


def _model_flops(file: OpenedFile, session: Session, chosen: Feeds) -> int | None:
    """Operations of one run of the function; branches and loops count as often as their nodes run. None if
    the cost of some node is unknown for these input shapes.
    """
    program = open_program(file.path)
    f = program.functions[session.function]
    inside = functions_inside(program, f.name, symbol_sizes(f, chosen.arrays))
    executions = _executions(session, chosen, inside)
    total = 0
    for name, times in executions.items():
        for n in inside[name].function.nodes:
            flops = 0 if "control" in n.op.flags else flops_of(n, inside[name].sizes)
            if flops is None:
                return None
            total += flops * times
    return total


def _executions(session: Session, chosen: Feeds, inside: Mapping[str, Inside]) -> dict[str, int]:
    """How often a run executes each function that it reaches."""
    if len(inside) == 1:
        return dict.fromkeys(inside, 1)
    session.set_profiling(True)
    session.run(chosen.arrays)
    times: dict[str, int] = {}
    for row in session.profile():
        times[row.function] = max(times.get(row.function, 0), row.count)
    session.set_profiling(False)
    session.reset()
    return {name: times[name] for name in inside if name in times}


# ---- cold starts, nodes, baselines ----


def _cold(
    file: OpenedFile,
    function: str | None,
    threads: int,
    isa: str | None,
    backend: BackendChoice,
    chosen: Feeds,
    runs: int,
) -> ColdRow:
    columns: list[list[float]] = [[], [], []]
    for _ in range(max(3, min(runs, 10))):
        marks = [time.perf_counter()]
        model = Model(file.path)
        marks.append(time.perf_counter())
        session = Session(model, function=function, threads=threads, isa=isa, backend=backend)
        session.resize({n: a.shape for n, a in chosen.arrays.items()})
        marks.append(time.perf_counter())
        session.run(chosen.arrays)
        marks.append(time.perf_counter())
        for column, a, b in zip(columns, marks, marks[1:], strict=False):
            column.append(b - a)
    opened, created, ran = (statistics.median(c) * 1e3 for c in columns)
    return ColdRow(threads, isa or "", opened, created, ran)


def _key(row: Mapping[str, Any]) -> str:
    use = row.get("use")  # missing in files of older versions
    isa = f" isa={row['isa']}" if row["isa"] else ""
    device = f" device={use['device']}" if use else ""
    return f"{row['engine']} threads={row['threads']}{isa}{device}"


def _read_baseline(path: str | os.PathLike[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The medians of its rows, and those of its nodes; none where it did not time nodes."""
    text = read_text(path, "baseline")
    try:
        result = json.loads(text)
        rows = {
            _key(r): float(r["median_ms"]) for r in result["rows"] if r["median_ms"] is not None
        }
        nodes = {n["path"] or n["node"]: float(n["median_us"]) for n in result.get("nodes", ())}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SamaraError(
            f"{os.fspath(path)} is not a result of samara bench",
            fix="write one with samara bench … --json > old.json",
        ) from None
    return rows, nodes


def _against_baseline(old: Mapping[str, float], rows: Sequence[BenchRow]) -> dict[str, float]:
    """New divided by old median for each row that both have: above 1 is slower than before."""
    return {
        _key(asdict(r)): r.median_ms / old[_key(asdict(r))]
        for r in rows
        if r.median_ms is not None and _key(asdict(r)) in old
    }


def _where(use: DeviceUse | None) -> tuple[str, ...]:
    if use is None:
        return "cpu", "", "", ""
    return use.device, f"{use.nodes} of {use.of_nodes}", str(use.regions), str(use.launches or "")


def _name(r: BenchRow) -> str:
    threads = f"{r.threads} thread{'s' if r.threads > 1 else ''}"
    device = r.use.device if r.use is not None else ""
    return ", ".join(part for part in (r.engine, threads, r.isa, device) if part)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
