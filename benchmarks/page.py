# SPDX-License-Identifier: Apache-2.0
"""The measured part of docs/internals/benchmarks.md: tables between two marks. The rest of the page is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.engines import NAMES
from benchmarks.results import (
    Report,
    Row,
    best_peer,
    geometric_mean,
    group,
    lead,
    milliseconds,
)
from benchmarks.zoo import MODELS

_FLOAT_DB = 90.0  # 8-bit integer arithmetic stays far below this
BEGIN = "<!-- begin of what `make bench BENCH_ARGS=--page` writes -->"
END = "<!-- end of what `make bench BENCH_ARGS=--page` writes -->"


def update(path: Path, report: Report) -> None:
    """Write the tables of a report between the marks of the page."""
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    path.write_text(f"{head}{BEGIN}\n{tables(report)}\n{END}{tail}", encoding="utf-8")


def tables(report: Report) -> str:
    """All tables, with the machine and settings of the measurement."""
    peaks = {"float32": "GFLOP/s of multiply-adds", "int8": "GOP/s of int8 dot products"}
    said = ", ".join(f"{report.peaks[k]:.0f} {v}" for k, v in peaks.items() if k in report.peaks)
    clock = "the wall's clock" if report.clock == "wall" else "the processes' own time"
    lines = [
        f"Measured on {report.date}: {report.machine}; one thread can do {said or '(not measured)'}. "
        f"{report.rounds} rounds, {clock}; medians in milliseconds.",
        "",
        *_versions(report),
        *_left_out(report),
    ]
    shown = {(r.form, r.threads) for r in report.rows}
    for form, threads in sorted(shown):
        for listed in (True, False):
            lines += _times(report, form, threads, listed)
    lines += _loads(report)
    lines += _memory(report)
    lines += _limits(report)
    lines += _problems(report)
    return "\n".join(lines).rstrip()


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table and an empty line; nothing without rows."""
    if not rows:
        return []
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return [*lines, *(f"| {' | '.join(r)} |" for r in rows), ""]


def _versions(report: Report) -> list[str]:
    found: dict[str, list[str]] = {}
    for row in report.rows:
        if row.version:
            found.setdefault(row.engine, [row.version, "", ""])
        if row.version and row.converter:
            found[row.engine][1 if row.form == "float32" else 2] = row.converter
    rows = [[name, *said] for name, said in found.items()]
    return table(("engine", "version", "its float32 file is made by", "its int8 file"), rows)


def _left_out(report: Report) -> list[str]:
    """What the report does not cover, and int8 files that compute in float."""
    said = []
    shown = {(r.form, r.threads) for r in report.rows}
    for form, threads in sorted(shown):
        ran: dict[str, set[str]] = {name: set() for name in NAMES}
        for row in report.rows:
            if (row.form, row.threads) == (form, threads):
                ran[row.engine].add(row.model)
        everything = set().union(*ran.values())
        absent = [m.title for name, m in MODELS.items() if name not in everything]
        fewer = [f"{n} ({len(m)} of {len(everything)})" for n, m in ran.items() if m < everything]
        what = [f"models {', '.join(absent)}"] if absent else []
        what += [f"all models on {', '.join(fewer)}"] if fewer else []
        if what:
            said.append(f"* Not measured in {form} with {threads} thread(s): {'; '.join(what)}.")
    missing = [f"{f} with {t}" for f in ("float32", "int8") for t in (1, 2) if (f, t) not in shown]
    if missing:
        said.append(f"* Not measured at all: {', '.join(missing)} thread(s).")
    float_like = [
        f"{r.engine} on {MODELS[r.model].title}"
        for r in report.rows
        if r.form == "int8" and r.counts and (r.sqnr_db or 0) > _FLOAT_DB
    ]
    if float_like:
        said.append(
            f"* Its int8 file computes in float, by its answer: {', '.join(dict.fromkeys(float_like))}."
        )
    return [*said, ""] if said else []


def _engines(report: Report) -> list[str]:
    return list(dict.fromkeys(r.engine for r in report.rows))


def _times(report: Report, form: str, threads: int, listed: bool) -> list[str]:
    rows, leads = [], []
    for (model, f, t), found in group(report.rows).items():
        if (f, t) != (form, threads) or MODELS[model].listed != listed:
            continue
        ratio, peer = lead(found), best_peer(found)
        leads += [] if ratio is None else [ratio]
        by = {r.engine: r for r in found}
        times = []
        for name in _engines(report):
            row = by.get(name)
            times.append("-" if row is None or not row.counts else milliseconds(row.median))
        said = "-" if ratio is None else f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"
        own = by.get("samara")
        rows.append(
            [
                MODELS[model].title,
                *times,
                peer.engine if peer else "-",
                said,
                _share(report, own, form),
            ]
        )
    if not rows:
        return []
    kind = "" if listed else ", nets that no target names"
    title = f"### {form}, {threads} thread{'s' if threads > 1 else ''}{kind}"
    heads = ("model", *_engines(report), "best peer", "it : samara", "samara of peak")
    mean = geometric_mean(leads)
    lines = [title, "", *table(heads, rows)]
    if mean is not None:
        behind = sum(x < 1 for x in leads)
        lines += [
            f"Geometric mean of best peer : samara {mean:.2f}, least {min(leads):.2f}; samara is behind "
            f"on {behind} of {len(leads)} (bold).",
            "",
        ]
    return lines


def _share(report: Report, own: Row | None, form: str) -> str:
    """samara's rate as a share of the peak of its threads."""
    peak = report.peaks.get(form)
    if own is None or own.median is None or not peak:
        return "-"
    return f"{100 * report.operations[own.model] / own.median / (peak * own.threads):.0f} %"


def _first(report: Report, form: str) -> Iterator[tuple[str, list[Row]]]:
    """Rows per model with the smallest number of threads."""
    least = min((r.threads for r in report.rows), default=1)
    for (model, f, threads), found in group(report.rows).items():
        if f == form and threads == least:
            yield model, found


def _loads(report: Report) -> list[str]:
    lines: list[str] = []
    for form in ("float32", "int8"):
        rows = []
        for model, found in _first(report, form):
            cells = [MODELS[model].title]
            for name in _engines(report):
                row = next((r for r in found if r.engine == name and r.load is not None), None)
                cells.append(
                    f"{milliseconds(row.load)} / {milliseconds(row.first)}" if row else "-"
                )
            rows.append(cells)
        if rows:
            title = f"### Load and first run, {form}"
            said = "Milliseconds to open the file and make ready / of the first run."
            lines += [title, "", said, "", *table(("model", *_engines(report)), rows)]
    return lines


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.1f}"


def _memory(report: Report) -> list[str]:
    lines: list[str] = []
    for form in ("float32", "int8"):
        rows = []
        for model, found in _first(report, form):
            costs = {r.engine: r.cost for r in found if r.cost}
            if costs:
                rows.append(
                    [MODELS[model].title]
                    + [
                        f"{_megabytes(c.peak_private)} / {_megabytes(c.peak_total)}" if c else "-"
                        for c in (costs.get(n) for n in _engines(report))
                    ]
                )
        if rows:
            title = f"### Peak memory, {form}"
            said = (
                "Megabytes over the process before it opened the model, while loading and in the first "
                "runs: written memory of its own / all that is resident, mapped files included."
            )
            lines += [title, "", said, "", *table(("model", *_engines(report)), rows)]
    return lines


def _limits(report: Report) -> list[str]:
    rows = []
    for key, own in report.own.items():
        model, form = key.split()
        row = next(
            (
                r
                for r in report.rows
                if (r.model, r.form, r.engine) == (model, form, "samara") and r.cost
            ),
            None,
        )
        if row is None or row.cost is None:
            continue
        cost = row.cost
        private, total = own.private_limit(), own.total_limit()
        sizes = (cost.settled_private, cost.settled_total, own.arena, own.derived, own.file)
        rows.append(
            [MODELS[model].title, form, *(_megabytes(v) for v in sizes)]
            + [
                f"{_megabytes(limit)} {'pass' if value <= limit else '**miss**'}"
                for value, limit in ((cost.settled_private, private), (cost.settled_total, total))
            ]
        )
    if not rows:
        return []
    heads = ("model", "form", "private dirty", "resident", "arena", "derived", "file")
    limits = ("private ≤ 1.05 (arena + derived)", "resident ≤ 1.1 (file + arena)")
    said = (
        "Megabytes after some runs. The process is Python's: what it allocates for the call, some tens of "
        "kilobytes, counts against the limits, which the smallest models cannot meet therefore."
    )
    return ["### samara's memory and its limits", "", said, "", *table((*heads, *limits), rows)]


def _problems(report: Report) -> list[str]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in report.rows:
        if row.problem:
            models = found.setdefault((row.engine, row.form, row.problem.replace("|", "/")), [])
            if MODELS[row.model].title not in models:
                models.append(MODELS[row.model].title)
    if not found:
        return []
    rows = [[engine, form, ", ".join(models), why] for (engine, form, why), models in found.items()]
    return ["### What did not run", "", *table(("engine", "form", "models", "why"), rows)]
