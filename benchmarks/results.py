# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark, figures derived from them, and the printed tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes in addition to those of the process before it opened the model. peak: while loading and in the first
    runs; settled: after some runs. private: written memory of the process; total: all resident memory,
    mapped files included.
    """

    peak_private: int
    peak_total: int
    settled_private: int
    settled_total: int


@dataclass(frozen=True, slots=True)
class Row:
    """One engine on one model in one form with one number of threads. Times are nanoseconds.

    load: opening the file and preparing. sqnr_db: of its output against the float64 reference. problem: why
    there are no times, or why they do not count.
    """

    model: str
    form: str
    threads: int
    engine: str
    version: str = ""
    converter: str = ""
    load: int | None = None
    first: int | None = None
    least: int | None = None
    median: int | None = None
    p90: int | None = None
    sqnr_db: float | None = None
    cost: Cost | None = None
    problem: str = ""

    @property
    def counts(self) -> bool:
        """Whether its time may be compared."""
        return self.median is not None and not self.problem


@dataclass(frozen=True, slots=True)
class Own:
    """The memory that samara itself reports, in bytes, from which limits are derived."""

    arena: int
    derived: int
    structures: int
    file: int

    def private_limit(self) -> float:
        """The limit of written memory: arena, derived layouts and structures, plus 5 %."""
        return 1.05 * (self.arena + self.derived)

    def total_limit(self) -> float:
        """The limit of resident memory: file and arena, plus 10 %."""
        return 1.1 * (self.file + self.arena)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole benchmark. peaks: GFLOP/s and GOP/s of one thread, measured in the same run. operations: of one
    run of a model, with two per multiply-add. seconds: of rounds at least. build: a digest of samara's library and
    exporter.
    """

    machine: str
    date: str
    rounds: int
    clock: str
    peaks: Mapping[str, float]
    operations: Mapping[str, int]
    rows: Sequence[Row]
    own: Mapping[str, Own] = field(default_factory=dict)
    seconds: float = 0
    build: str = ""

    def continues(self, other: Report) -> bool:
        """Whether its rows may stand beside those of another report as if of one run."""
        same = ("machine", "clock", "rounds", "seconds", "build")
        return all(getattr(self, name) == getattr(other, name) for name in same)


def spread(samples: Sequence[int]) -> tuple[int, int, int]:
    """Minimum, median and 90th percentile."""
    ordered = sorted(samples)
    place = min(len(ordered) - 1, math.ceil(0.9 * len(ordered)) - 1)
    return ordered[0], int(statistics.median(ordered)), ordered[place]


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None without values."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def best_peer(rows: Iterable[Row]) -> Row | None:
    """The fastest valid row that is not samara's."""
    peers = [r for r in rows if r.engine != "samara" and r.counts]
    return min(peers, key=lambda r: r.median or 0, default=None)


def group(rows: Iterable[Row]) -> dict[tuple[str, str, int], list[Row]]:
    """Rows grouped by model, form and threads, in their order."""
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row.model, row.form, row.threads), []).append(row)
    return found


def lead(rows: Sequence[Row]) -> float | None:
    """The best peer's median divided by samara's: above 1 means that samara is faster."""
    own = next((r for r in rows if r.engine == "samara" and r.counts), None)
    peer = best_peer(rows)
    if own is None or peer is None or own.median is None or peer.median is None:
        return None
    return peer.median / own.median


def milliseconds(ns: int | None) -> str:
    """A time with three significant digits."""
    if ns is None:
        return "-"
    ms = ns / 1e6
    return f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 1 else f"{ms:.4f}"


def summary(report: Report, engines: Sequence[str]) -> str:
    """Medians of every engine on every model, the best peer's ratio to samara, and means."""
    lines = []
    groups = group(report.rows)
    for form, threads in sorted({(f, t) for _, f, t in groups}):
        peak = report.peaks.get("float32" if form == "float32" else "int8")
        cells: list[list[str]] = [
            ["model", *engines, "best peer", "peer : samara", "of peak"],
        ]
        leads = []
        for (model, f, t), rows in groups.items():
            if (f, t) != (form, threads):
                continue
            by = {r.engine: r for r in rows}
            ratio, peer, own = lead(rows), best_peer(rows), by.get("samara")
            leads += [] if ratio is None else [ratio]
            share = "-"
            if own is not None and own.median and peak:
                rate = report.operations[model] / own.median
                share = f"{100 * rate / (peak * threads):.0f} %"
            cells.append(
                [
                    model,
                    *(_cell(by.get(e)) for e in engines),
                    "-" if peer is None else peer.engine,
                    "-" if ratio is None else f"{ratio:.2f}",
                    share,
                ]
            )
        mean = geometric_mean(leads)
        lines += [f"{form}, {threads} thread(s), median ms", columns(cells)]
        if mean is not None:
            lines.append(f"geometric mean of peer : samara {mean:.3f}, least {min(leads):.2f}\n")
    why = [
        f"{r.model} {r.form} {r.threads} {r.engine}: {r.problem}" for r in report.rows if r.problem
    ]
    return "\n".join([*lines, *sorted(set(why))])


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    return "failed" if row.problem else milliseconds(row.median)


def columns(cells: Sequence[Sequence[str]]) -> str:
    """Cells in aligned columns, the first one left-aligned."""
    widths = [max(len(c) for c in column) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def report_from(plain: Mapping[str, Any]) -> Report:
    """The report that was written as JSON."""
    rows = [
        Row(**{**r, "cost": None if r.get("cost") is None else Cost(**r["cost"])})
        for r in plain["rows"]
    ]
    own = {k: Own(**v) for k, v in plain["own"].items()}
    return Report(**{**plain, "rows": rows, "own": own})


def plain(report: Report) -> dict[str, Any]:
    """The report as JSON, without empty fields of rows."""
    found = asdict(report)
    found["rows"] = [{k: v for k, v in r.items() if v not in (None, "")} for r in found["rows"]]
    return found


def merged(reports: Sequence[Report]) -> Report:
    """Merge several runs on the same machine. A model that was measured again replaces its rows, except for the
    memory of engines whose memory was not measured again.
    """
    contests: dict[tuple[str, str, int], tuple[Report, list[Row]]] = {}
    for report in reports:
        for key, rows in group(report.rows).items():
            _, before = contests.get(key, (report, []))
            costs = {r.engine: r.cost for r in before}
            kept = [
                r if r.cost or not r.counts else replace(r, cost=costs.get(r.engine)) for r in rows
            ]
            contests[key] = report, kept
    return replace(
        reports[-1],
        rounds=min(report.rounds for report, _ in contests.values()),
        peaks={k: v for r in reports for k, v in r.peaks.items()},
        operations={k: v for r in reports for k, v in r.operations.items()},
        rows=[row for _, rows in contests.values() for row in rows],
        own={k: v for r in reports for k, v in r.own.items()},
    )
