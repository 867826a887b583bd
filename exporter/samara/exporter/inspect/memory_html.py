# SPDX-License-Identifier: Apache-2.0
"""The memory section of the inspect page: the arena of every function over its nodes, as SVG."""

from __future__ import annotations

from html import escape
from typing import Final

from samara.exporter.inspect.memory_report import MemoryReport, PlanReport, plan_letters
from samara.exporter.types.text import byte_text
from samara.pybridge import MemoryRow
from samara.pybridge.notebook import html_table

_HEIGHT: Final = 340.0
_WIDTH: Final = 1000.0
_NODE: Final = (3.0, 42.0)  # narrowest and widest
_LEFT: Final = 74.0
_TOP: Final = 12.0
_BOTTOM: Final = 30.0
_LETTER_ROOM: Final = 11.0  # a piece lower or narrower shows no letter


def memory_section(m: MemoryReport) -> str:
    """Drawings and tables; empty where nothing was run. Everything from the model is escaped."""
    parts = [_plan(p) for p in m.plans]
    if m.blocks:
        rows = [(r.kind, r.function, r.name, f"{r.size_bytes:,}") for r in m.blocks]
        parts.append("<h2>Bytes of the session</h2>")
        parts.append(html_table(("kind", "function", "name", "bytes"), rows, right={3}))
    if m.contract:
        heads = ["function", "instruction sets", "threads", "arena", "shared scratch"]
        heads += ["scratch per thread", "blocks", "variables", "session", "model", "derived"]
        numbers = [
            (
                r.function,
                " ".join(r.isa),
                str(r.threads),
                *(f"{n:,}" for n in (r.arena, r.shared_scratch, r.thread_scratch, r.blocks)),
                *(f"{n:,}" for n in (r.variables, r.session, r.model, r.derived)),
            )
            for r in m.contract
        ]
        parts.append("<h2>Bytes that the file states</h2>")
        parts.append(html_table(heads, numbers, right=range(2, len(heads))))
        parts += [f"<p>{escape(line)}</p>" for line in m.differences]
    return "\n".join(parts)


def _plan(p: PlanReport) -> str:
    peak = escape(p.nodes[p.peak_node])
    letters = plan_letters(p)
    rows = []
    for index in p.peak_pieces:
        r = p.pieces[index]
        rows.append(
            (
                letters.get(index, ""),
                r.kind,
                r.name,
                f"{r.size_bytes:,}",
                f"{100 * r.size_bytes / p.peak_bytes:.1f} %",
                f"{r.offset:,}",
                f"{r.first} to {r.last}",
            )
        )
    heads = ("", "what", "of", "bytes", "share", "offset", "nodes")
    return (
        f"<h2>Arena of <code>{escape(p.function)}</code></h2>"
        f"<p>{p.arena_bytes:,} bytes over {len(p.nodes)} nodes. Most live during node {p.peak_node},"
        f" <code>{peak}</code>: {p.peak_bytes:,} bytes.</p>"
        f'<div class="wide">{_svg(p)}</div>{html_table(heads, rows, right={3, 4, 5})}'
    )


def _svg(p: PlanReport) -> str:
    count = len(p.nodes)
    step = min(_NODE[1], max(_NODE[0], (_WIDTH - _LEFT) / count))
    scale = _HEIGHT / p.arena_bytes
    width, height = _LEFT + step * count + 10, _TOP + _HEIGHT + _BOTTOM
    letters = plan_letters(p)
    body = [
        f'<rect x="{_LEFT + p.peak_node * step:.1f}" y="{_TOP}" width="{step:.1f}"'
        f' height="{_HEIGHT}" class="mark"/>'
    ]
    for i, r in enumerate(p.pieces):
        body.append(_piece(r, step, scale, i in p.peak_pieces, letters.get(i, "")))
    points = " ".join(
        f"{_LEFT + (n + 0.5) * step:.1f},{_TOP + _HEIGHT - live * scale:.1f}"
        for n, live in enumerate(p.live)
    )
    body.append(f'<polyline points="{points}" class="live"/>')
    base = _TOP + _HEIGHT
    body.append(
        f'<path d="M{_LEFT},{_TOP} V{base} H{width - 10}" class="axis"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 9}" text-anchor="end">{byte_text(p.arena_bytes)}</text>'
        f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">0</text>'
        f'<text x="{_LEFT}" y="{base + 16}" class="s">node 0</text>'
        f'<text x="{width - 10}" y="{base + 16}" class="s" text-anchor="end">node {count - 1};'
        f" dashed: bytes that live</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="arena" width="{width:.0f}" height="{height:.0f}"'
        f' role="img" aria-label="arena of {escape(p.function, quote=True)}">{"".join(body)}</svg>'
    )


def _piece(r: MemoryRow, step: float, scale: float, peak: bool, letter: str) -> str:
    x, wide = _LEFT + r.first * step, (r.last - r.first + 1) * step
    high = r.size_bytes * scale
    y = _TOP + _HEIGHT - r.offset * scale - high
    nodes = f"node {r.first}" if r.first == r.last else f"nodes {r.first} to {r.last}"
    told = f"{r.kind} {r.name}: {r.size_bytes:,} bytes at {r.offset:,}, {nodes}"
    mark = ""
    if letter and high > _LETTER_ROOM and wide > _LETTER_ROOM:
        middle = f'x="{x + wide / 2:.1f}" y="{y + high / 2 + 4:.1f}"'
        mark = f'<text {middle} text-anchor="middle" class="letter">{letter}</text>'
    kind = f"{r.kind} peak" if peak else r.kind
    return (
        f'<g><title>{escape(told)}</title><rect x="{x:.1f}" y="{y:.2f}" width="{wide:.1f}"'
        f' height="{max(high, 0.5):.2f}" class="{kind}"/>{mark}</g>'
    )
