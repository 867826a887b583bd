# SPDX-License-Identifier: Apache-2.0
"""A benchmark as one self-contained page: the rows as bars, the time of nodes by module, and what changed
since an earlier result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from samara.exporter.inspect.contents import family_of
from samara.exporter.inspect.page import page
from samara.exporter.measure.bench import BenchReport
from samara.exporter.measure.node_times import NodeTime
from samara.exporter.ops import all_ops
from samara.exporter.types.charts import Bar, bars, number_text
from samara.pybridge.notebook import html_facts, html_table

_CHANGES: Final = 30  # bars of the nodes that changed most
_NOISE: Final = 0.05  # of a node's time: a change below it is grey


def bench_page(report: BenchReport) -> str:
    """One page without any external resource. Everything that comes from the model is escaped."""
    parts = [_summary(report), _engines(report)]
    if report.nodes:
        parts += _changes(report) if report.baseline_nodes is not None else []
        parts += [_flame(report), _nodes(report)]
    return page(f"{report.model}: benchmark", parts, scripts=("flame.js", "tables.js"))


def _summary(report: BenchReport) -> str:
    facts = [("machine", report.machine), ("runtime", f"samara {report.version}")]
    facts += [("rounds", str(report.runs))]
    if report.sizes:
        facts.append(("sizes", ", ".join(f"{k}={v}" for k, v in report.sizes.items())))
    if report.flops:
        facts.append(("operations of a run", f"{number_text(report.flops / 1e6)} million"))
    if report.peak_gflops is not None:
        facts.append(("measured peak", f"{report.peak_gflops:.1f} GFLOP/s of one thread"))
    for c in report.cold:
        times = f"{c.open_ms:.2f} ms, {c.create_ms:.2f} ms, {c.first_run_ms:.2f} ms"
        facts.append((f"open, create, first run with {c.threads} threads {c.isa}".strip(), times))
    return f"<h1>{escape(report.model)}</h1>{html_facts(dict(facts))}"


def _engines(report: BenchReport) -> str:
    ratios = "".join(
        f"<p>{escape(key)}: {ratio:.3f} times the baseline.</p>"
        for key, ratio in (report.baseline or {}).items()
    )
    return f"<h2>Latency: median of a run</h2>{report.latency_bars()}{ratios}"


# ---- nodes by module ----


@dataclass(slots=True)
class _Frame:
    """A module, or a node; the time of a module is that of what it holds."""

    name: str
    us: float = 0.0
    node: NodeTime | None = None
    inner: dict[str, _Frame] = field(default_factory=dict)


def _flame(report: BenchReport) -> str:
    root = frames(report.nodes)
    families = {op.name: family_of(op) for op in all_ops()}
    used = sorted({families.get(n.op, "other") for n in report.nodes})
    legend = "".join(f'<span class="k-{name}">{name}</span>' for name in ("module", *used))
    return (
        "<h2>Time by module</h2>"
        f"<p>{root.us:,.1f} µs of nodes, on one thread. Below each module lies what it holds, as wide as its"
        " share. A click on a box makes it as wide as the page.</p>"
        f'<p class="key">{legend}</p><div class="flame">{_frame(root, root.us, families)}</div>'
    )


def frames(nodes: Sequence[NodeTime]) -> _Frame:
    """The nodes in their modules, those of branches and loops below the node that holds them."""
    root = _Frame("run")
    waiting = {n.path or n.node: n for n in reversed(nodes)}
    places: dict[str, _Frame] = {}

    def place(n: NodeTime) -> None:
        holder = _holder(n)
        if holder in waiting and holder not in places:
            place(waiting[holder])
        at = places.get(holder, root)
        above = [at]
        for name in n.module.split("/") if n.module else ():
            at = at.inner.setdefault(f"module {name}", _Frame(name))
            above.append(at)
        at.inner[f"node {len(at.inner)}"] = frame = _Frame(n.node, n.median_us, n)
        places.setdefault(n.path or n.node, frame)
        for module in above:
            if module.node is None:
                module.us += n.median_us

    placed = set()
    for n in nodes:
        path = n.path or n.node
        if path not in places or path in placed:  # another of the same name
            place(n)
        placed.add(path)
    return root


def _holder(n: NodeTime) -> str:
    """The path of the control node whose function holds the node, `If_0` of `If_0/then/conv`."""
    return n.path.removesuffix(n.node).rstrip("/").rpartition("/")[0] if n.path != n.node else ""


def _frame(f: _Frame, total: float, families: Mapping[str, str]) -> str:
    share = f.us / total if total > 0 else 0.0
    tip, label, kind = f"{f.name}: {f.us:,.1f} µs, {100 * share:.1f} %", f.name, "k-module"
    if f.node is not None:
        kind = f"k-{families.get(f.node.op, 'other')}"
        label = f"{f.node.op} {f.name.rpartition('/')[2]}"
        tip += f"\n{f.node.op}, {f.node.kernel}"
    inner = "".join(_frame(x, total, families) for x in f.inner.values())
    # What is left of a control node's time beside that of the nodes in its functions.
    rest = f.us - sum(x.us for x in f.inner.values())
    if inner and rest > 0:
        inner += f'<div class="rest" style="flex-grow:{rest:.3f}"></div>'
    below = f'<div class="row">{inner}</div>' if inner else ""
    return (
        f'<div class="frame" style="flex-grow:{max(f.us, 0.001):.3f}"><button type="button" class="{kind}"'
        f' title="{escape(tip)}">{escape(label)} <span>{100 * share:.1f} %</span></button>{below}</div>'
    )


# ---- tables and comparison ----


def _nodes(report: BenchReport) -> str:
    old = report.baseline_nodes
    heads = ["node", "op", "kernel", "times", "µs", "of the run", "GFLOP/s", "of the roof"]
    heads += ["before µs", "change"] if old is not None else []
    sourced = any(n.source for n in report.nodes)
    heads += ["from"] if sourced else []
    rows = []
    for n in report.nodes:
        before = None if old is None else old.get(n.path or n.node)
        cells = [
            n.path or n.node,
            n.op,
            n.kernel,
            str(n.executions),
            f"{n.median_us:.1f}",
            _percent(n.share),
            "" if n.gflops is None else f"{n.gflops:.1f}",
            _percent(n.roof_share),
        ]
        if old is not None:
            change = "new" if before is None else _change(n.median_us, before)
            cells += ["" if before is None else f"{before:.1f}", change]
        rows.append([*cells, n.source] if sourced else cells)
    text = html_table(heads, rows, right=range(3, len(heads) - sourced), sortable=True)
    more = ""
    if report.not_reached:
        more = f"<p>Not reached with these inputs: {escape(', '.join(report.not_reached))}</p>"
    return f'<h2>Nodes</h2><div class="wide">{text}</div>{more}'


def _changes(report: BenchReport) -> Iterable[str]:
    """Bars of the nodes whose times changed most, and which nodes only one of the results has."""
    old = report.baseline_nodes or {}
    yield "<h2>Slower and faster nodes</h2>"
    if not old:
        yield (
            "<p>The baseline has no times of nodes. Write it with"
            " <code>samara bench … --html old.html --json &gt; old.json</code>.</p>"
        )
        return
    both = [(n, old[n.path or n.node]) for n in report.nodes if (n.path or n.node) in old]
    both.sort(key=lambda pair: -abs(pair[0].median_us - pair[1]))
    rows = []
    for n, before in both[:_CHANGES]:
        delta = n.median_us - before
        quiet = before <= 0 or abs(delta) < _NOISE * before
        tip = f"{n.path or n.node} ({n.op}): {before:.1f} µs before, {n.median_us:.1f} µs now"
        shown = f"{delta:+.1f} µs, {_change(n.median_us, before)}"
        tone = "none" if quiet else "good" if delta < 0 else "poor"
        rows.append(Bar(n.path or n.node, delta, tone, shown, tip))
    total = sum(n.median_us - before for n, before in both)
    first = (
        f"The {_CHANGES} of {len(both)} nodes" if len(both) > _CHANGES else f"All {len(both)} nodes"
    )
    yield (
        f"<p>{first} that both results have, those that changed most first; together {total:+.1f} µs. Green is"
        f" faster now, red slower, grey a change below {100 * _NOISE:.0f} %.</p>"
    )
    yield bars(rows, unit="µs", width=980)
    names = {n.path or n.node for n in report.nodes}
    for said, missing in (
        ("Only now", [n for n in names if n not in old]),
        ("Only in the baseline", [n for n in old if n not in names]),
    ):
        if missing:
            yield f"<p>{said}: {escape(', '.join(sorted(missing)[:20]))}{' …' * (len(missing) > 20)}</p>"


def _change(now: float, before: float) -> str:
    return f"{100 * (now / before - 1):+.1f} %" if before > 0 else ""


def _percent(share: float | None) -> str:
    return "" if share is None or not math.isfinite(share) else f"{100 * share:.1f} %"
