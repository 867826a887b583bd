# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG text: bars, grouped bars and lines, linear or logarithmic.

Each function returns one `<svg>` element without external resources, usable as a file or inside a page.
Colours follow the reader's light or dark theme. All given texts are escaped.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, TypeAlias

# Colours of series in their order, in the light and in the dark theme; colour-blind readers can tell them apart.
SERIES_COLOURS: Final = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff9a4d"),
    ("#009e73", "#3ccf9f"),
    ("#b5558b", "#e59cc6"),
    ("#a67c00", "#e9c13c"),
    ("#5d6470", "#aab2bf"),
    ("#6a4fb3", "#b29cf0"),
    ("#9b2d2d", "#f08080"),
)
# Colours of bars by how good their value is.
TONE_COLOURS: Final = {
    "good": ("#3d9a50", "#5cc474"),
    "fair": ("#c98a00", "#e9b44c"),
    "poor": ("#cc3a35", "#f0726d"),
    "none": ("#a3a9b2", "#7c8490"),
}
_INK: Final = (("#20242a", "#e6e9ee"), ("#5b6470", "#a5aebb"), ("#e1e5ea", "#3a414b"))
_GROUND: Final = ("#ffffff", "#1b1f24")
_FONT: Final = 12.0
_PAD: Final = 14.0
_TITLE: Final = 24.0
_TICK: Final = 20.0
_LEGEND: Final = 20.0
_NAME_SHARE: Final = 0.42  # largest share of the width for the names beside bars

Cell: TypeAlias = float | str | None


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, and its value or a text that is printed instead.

    tone: "good", "fair", "poor" or "none" instead of the first series' colour. shown: text beside the bar
    instead of the number. tip: the tooltip. href: the link.
    """

    name: str
    value: Cell
    tone: str = ""
    shown: str = ""
    tip: str = ""
    href: str = ""


def bars(
    rows: Sequence[Bar],
    *,
    title: str = "",
    unit: str = "",
    log: bool = False,
    width: float = 760.0,
    limit: tuple[float, float] | None = None,
) -> str:
    """A horizontal bar for each row, in the given order; bars of negative values go to the left.

    log: a logarithmic axis; values must be positive. limit: the axis range; longer bars are cut off.
    """
    cells = [_Group(r.name, (r,)) for r in rows]
    return _bar_chart(cells, (), title, unit, log, width, limit)


def grouped_bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[Cell]],
    *,
    title: str = "",
    unit: str = "",
    log: bool = False,
    width: float = 760.0,
    limit: tuple[float, float] | None = None,
) -> str:
    """One horizontal bar of each series for each group, and a legend.

    series: {name: one value per group}. A text is printed instead of a bar ("does not load"), None as a
    dash. log: a logarithmic axis; values must be positive.
    """
    for name, values in series.items():
        if len(values) != len(groups):
            raise ValueError(f"series {name!r} has {len(values)} values for {len(groups)} groups")
    cells = [
        _Group(g, tuple(Bar(name, values[i]) for name, values in series.items()))
        for i, g in enumerate(groups)
    ]
    return _bar_chart(cells, tuple(series), title, unit, log, width, limit)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    width: float = 760.0,
    height: float = 320.0,
) -> str:
    """A line through the (x, y) points of each series, and a legend if there is more than one.

    Points that are not finite, or not positive on a logarithmic axis, interrupt their line.
    """

    def drawable(x: float, y: float) -> bool:
        finite = math.isfinite(x) and math.isfinite(y)
        return finite and (x > 0 or not log_x) and (y > 0 or not log_y)

    seen = [p for points in series.values() for p in points if drawable(*p)]
    top = _PAD + (_TITLE if title else 0) + (_LEGEND if len(series) > 1 else 0)
    bottom = height - _PAD - _TICK - (16 if x_label else 0)
    across = _axis([x for x, _ in seen], log_x, tight=True, count=8)
    up = _axis([y for _, y in seen], log_y, tight=False, count=6)
    labels = [number_text(t) for t in up.ticks]
    left = _PAD + max((text_width(t) for t in labels), default=0) + 8 + (16 if y_label else 0)
    right = width - _PAD - 8
    parts = []
    for tick, label in zip(up.ticks, labels, strict=True):
        y = bottom - up.at(tick) * (bottom - top)
        parts.append(_rule(left, y, right, y))
        parts.append(_label(left - 6, y + 4, label, "end", "t"))
    for tick in across.ticks:
        x = left + across.at(tick) * (right - left)
        parts.append(_rule(x, bottom, x, bottom + 4))
        parts.append(_label(x, bottom + 16, number_text(tick), "middle", "t"))
    if not seen:
        parts.append(_label((left + right) / 2, (top + bottom) / 2, "no values yet", "middle", "t"))
    for i, (name, points) in enumerate(series.items()):
        tone = f"c{i % len(SERIES_COLOURS)}"
        dashed = ' stroke-dasharray="5 3"' if i >= len(SERIES_COLOURS) else ""
        for run in _runs(points, drawable):
            spots = [
                (left + across.at(x) * (right - left), bottom - up.at(y) * (bottom - top))
                for x, y in run
            ]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
            if len(spots) > 1:
                parts.append(f'<polyline class="l {tone}l" points="{path}"{dashed}/>')
            if len(spots) <= 60:
                for (x, y), (px, py) in zip(spots, run, strict=True):
                    tip = f"{name}: {number_text(py)} at {number_text(px)}"
                    parts.append(
                        f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="2.6">'
                        f"<title>{_safe(tip)}</title></circle>"
                    )
    parts += _legend(tuple(series), left, top - 8) if len(series) > 1 else []
    if x_label:
        parts.append(_label((left + right) / 2, bottom + 34, x_label, "middle", "t"))
    if y_label:
        middle = (top + bottom) / 2
        parts.append(
            f'<text class="t" text-anchor="middle" transform="translate({_PAD + 8:.1f} {middle:.1f})'
            f' rotate(-90)">{_safe(y_label)}</text>'
        )
    return _chart(parts, title or y_label or "lines", title, width, height)


def number_text(value: float) -> str:
    """`0.0123`, `4.57`, `128`, `12,345`, `1.2e+09`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    size = abs(value)
    if size == 0 or (size < 1e-4 or size >= 1e9):
        return f"{value:.3g}"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def text_width(text: str, size: float = _FONT) -> float:
    """An estimate of the text's largest width in a sans-serif font of that size."""
    wide = sum(1 if unicodedata.east_asian_width(c) in "WF" else 0 for c in text)
    return (len(text) * 0.58 + wide * 0.45) * size


def shortened(text: str, room: float) -> str:
    """The end of the text that fits into that width: long names differ at their ends."""
    if text_width(text) <= room:
        return text
    keep = max(1, int(room / (0.58 * _FONT)) - 1)
    return "…" + text[-keep:]


# ---- bars ----


@dataclass(frozen=True, slots=True)
class _Group:
    """A name and its bars."""

    name: str
    bars: tuple[Bar, ...]


def _bar_chart(
    groups: Sequence[_Group],
    series: tuple[str, ...],
    title: str,
    unit: str,
    log: bool,
    width: float,
    limit: tuple[float, float] | None,
) -> str:
    thick = 16.0 if len(series) <= 1 else 14.0
    gap = 5.0 if len(series) <= 1 else 9.0
    top = _PAD + (_TITLE if title else 0) + (_LEGEND if len(series) > 1 else 0) + _TICK
    said = ", ".join(t for t in (unit, "logarithmic" if log else "") if t)
    beside = "" if title or series else said  # without a title the unit stands above the names
    names = max((text_width(t) for t in (*(g.name for g in groups), beside)), default=0.0)
    room = min(width * _NAME_SHARE, names)
    left = _PAD + room + 10
    shown = [_shown(b, unit) for g in groups for b in g.bars]
    right = width - _PAD - max((text_width(t) for t in shown), default=0.0) - 8
    right = max(right, left + 80)
    values = [v for g in groups for b in g.bars if (v := _number(b.value, log)) is not None]
    if log:  # bars start at a round number, so that the shortest is visible
        values += [0.8 * min(values)] if values else []
        axis = _axis(values, True, tight=False, count=6, limit=limit)
    else:
        axis = _axis(values, False, tight=True, count=6, zero=True, limit=limit)
    parts = []
    height = top + sum(len(g.bars) * thick + gap for g in groups) + _PAD - gap / 2
    for tick in axis.ticks:
        x = left + axis.at(tick) * (right - left)
        parts.append(_rule(x, top - 4, x, height - _PAD))
        parts.append(_label(x, top - 8, number_text(tick), "middle", "t"))
    if beside:
        parts.append(_label(left - 8, top - 8, beside, "end", "t"))
    elif said:
        parts.append(_label(width - _PAD, _PAD + 8, said, "end", "t"))
    y = top
    texts = iter(shown)
    base = left + axis.at(axis.low if log else 0.0) * (right - left)
    for g in groups:
        middle = y + len(g.bars) * thick / 2 + 4
        parts.append(_label(left - 8, middle, shortened(g.name, room), "end", "n", tip=g.name))
        for i, b in enumerate(g.bars):
            tone = b.tone if b.tone in TONE_COLOURS else f"c{i % len(SERIES_COLOURS)}"
            parts.append(
                _bar(b, g.name, next(texts), axis, base, (left, right), y, thick, tone, log)
            )
            y += thick
        y += gap
    if len(series) > 1:
        parts += _legend(series, left, top - _TICK - 8)
    return _chart(parts, title or unit or "bars", title, width, height)


def _bar(
    b: Bar,
    group: str,
    shown: str,
    axis: _Axis,
    base: float,
    ends: tuple[float, float],
    y: float,
    thick: float,
    tone: str,
    log: bool,
) -> str:
    left, right = ends
    value = _number(b.value, log)
    body = ""
    tip = b.tip or (f"{group}: {shown}" if b.name == group else f"{group}, {b.name}: {shown}")
    if value is None:
        text = _label(base + 6, y + thick - 4, shown, "start", "t")
    else:
        end = left + axis.at(value) * (right - left)
        start, stop = min(base, end), max(base, end)
        body = (
            f'<rect class="{tone}" x="{start:.1f}" y="{y + 1:.1f}" width="{max(1.0, stop - start):.1f}"'
            f' height="{thick - 2:.1f}" rx="1.5"/>'
        )
        behind = stop if end >= base or stop + 6 + text_width(shown) < right + 40 else base
        text = _label(behind + 6, y + thick - 4, shown, "start", "v")
    drawn = f"<g><title>{_safe(tip)}</title>{body}{text}</g>"
    return f'<a href="{_safe(b.href)}">{drawn}</a>' if b.href else drawn


def _number(value: Cell, log: bool) -> float | None:
    """The value if it can be drawn. The bar of an infinite value ends where the axis ends."""
    if value is None or isinstance(value, str) or math.isnan(value):
        return None
    return None if log and value <= 0 else float(value)


def _shown(b: Bar, unit: str) -> str:
    if b.shown:
        return b.shown
    if b.value is None:
        return "–"
    if isinstance(b.value, str):
        return b.value
    return f"{number_text(b.value)} {unit}".rstrip()


# ---- axes ----


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """The value's position on the axis, clipped to 0 … 1."""
        low, high = self.low, self.high
        if self.log:
            value = max(value, 1e-300)
            low, high = math.log10(low), math.log10(high)
            value = math.log10(value) if math.isfinite(value) else value
        return min(1.0, max(0.0, (value - low) / (high - low)))


def _axis(
    values: Sequence[float],
    log: bool,
    *,
    tight: bool,
    count: int,
    zero: bool = False,
    limit: tuple[float, float] | None = None,
) -> _Axis:
    """An axis over the values, extended to round numbers unless tight, and to 0 if asked."""
    finite = [v for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (1.0, 10.0) if log else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if limit is not None:
        low, high = limit
    if low == high:
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        if zero and finite and finite[0] == 0:
            low, high = 0.0, 1.0
    if log:
        ticks = _log_ticks(low, high)
        if limit is None and not tight:
            low = min(low, ticks[0])
    else:
        step = _step((high - low) / count)
        first = math.ceil(low / step - 1e-9) if tight or limit else math.floor(low / step + 1e-9)
        last = math.floor(high / step + 1e-9) if tight or limit else math.ceil(high / step - 1e-9)
        ticks = tuple(round(k * step, 12) for k in range(first, last + 1))
        if limit is None and not tight:
            low, high = min(low, ticks[0]), max(high, ticks[-1])
    return _Axis(low, high, log, tuple(t for t in ticks if low <= t <= high))


def _step(rough: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Powers of ten around the range, and their multiples by 2 and 5 if the range is short."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    each = (1, 2, 5) if last - first <= 2 else (1,)
    stride = max(1, (last - first) // 8)
    ticks = [s * 10.0**k for k in range(first, last + 1, stride) for s in each]
    below = [t for t in ticks if t <= low * (1 + 1e-9)]
    above = [t for t in ticks if t >= high * (1 - 1e-9)]
    return tuple(t for t in ticks if below[-1] <= t <= (above[0] if above else ticks[-1]))


def _runs(
    points: Sequence[tuple[float, float]], keep: Callable[[float, float], bool]
) -> Iterable[list[tuple[float, float]]]:
    """The runs of points that can be drawn."""
    for drawable, run in itertools.groupby(points, lambda p: keep(*p)):
        if drawable:
            yield list(run)


# ---- SVG elements ----


def _chart(parts: Iterable[str], label: str, title: str, width: float, height: float) -> str:
    head = _label(_PAD, _PAD + 8, title, "start", "h") if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="samara-chart" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{_safe(label)}"><style>{_STYLE}</style>'
        f'<rect class="bg" width="{width:.0f}" height="{height:.0f}" rx="6"/>'
        f"{head}{''.join(parts)}</svg>"
    )


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="r" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _label(x: float, y: float, text: str, anchor: str, kind: str, *, tip: str = "") -> str:
    title = f"<title>{_safe(tip)}</title>" if tip and tip != text else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{title}{_safe(text)}</text>'


def _legend(names: Sequence[str], x: float, y: float) -> list[str]:
    parts = []
    for i, name in enumerate(names):
        parts.append(
            f'<rect class="c{i % len(SERIES_COLOURS)}" x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" rx="2"/>'
        )
        parts.append(_label(x + 15, y, name, "start", "n"))
        x += 32 + text_width(name)
    return parts


def _safe(text: str) -> str:
    """Escaped for XML, without the control characters that XML does not allow."""
    return escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", text))


def _style() -> str:
    def rules(theme: int) -> str:
        s = ".samara-chart "
        out = [f"{s}.bg{{fill:{_GROUND[theme]}}}"]
        ink, quiet, faint = (pair[theme] for pair in _INK)
        out.append(f"{s}text{{fill:{ink}}}{s}.t{{fill:{quiet}}}{s}.r{{stroke:{faint}}}")
        for name, pair in (
            *((f"c{i}", p) for i, p in enumerate(SERIES_COLOURS)),
            *TONE_COLOURS.items(),
        ):
            out.append(f"{s}.{name}{{fill:{pair[theme]}}}")
        out += [f"{s}.c{i}l{{stroke:{p[theme]}}}" for i, p in enumerate(SERIES_COLOURS)]
        return "".join(out)

    return (
        ".samara-chart{max-width:100%;height:auto}"
        f".samara-chart text{{font:{_FONT:.0f}px system-ui,-apple-system,'Segoe UI',sans-serif}}"
        ".samara-chart .h{font-weight:600;font-size:14px}.samara-chart .t{font-size:11px}"
        ".samara-chart .r{fill:none}.samara-chart .l{fill:none;stroke-width:1.8}"
        ".samara-chart a:hover rect,.samara-chart a:focus rect{opacity:.7}"
        f"{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}"
    )


_STYLE: Final = _style()
