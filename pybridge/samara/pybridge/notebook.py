# SPDX-License-Identifier: Apache-2.0
"""HTML of tables and reports, as notebooks and pages show them. Every text that is given is escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samara.pybridge.model import TensorSpec

# Without colours of its own, so that it fits the light and the dark theme of a notebook.
_STYLE = (
    ".samara-report{font-size:13px}.samara-report table{border-collapse:collapse;margin:6px 0}"
    ".samara-report th,.samara-report td{padding:2px 9px;text-align:left;border-bottom:1px solid rgba(128,128,128,.35)}"
    ".samara-report td.r{text-align:right}.samara-report td.m{font-family:ui-monospace,Menlo,Consolas,monospace}"
    ".samara-report dl{display:flex;flex-wrap:wrap;gap:4px 22px;margin:4px 0}"
    ".samara-report dt{opacity:.65;font-weight:400}"
    ".samara-report dd{margin:0}"
)


def html_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    ids: Sequence[str] = (),
    sortable: bool = False,
) -> str:
    """A table of texts; the columns `right` are flush right. ids: of the rows.

    sortable: a click on a head sorts, in pages that have a script for it.
    """
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = []
    for i, row in enumerate(rows):
        cells = "".join(
            f'<td class="{"r" if k in right else "m"}">{escape(cell)}</td>'
            for k, cell in enumerate(row)
        )
        body.append(f'<tr id="{escape(ids[i])}">{cells}</tr>' if ids else f"<tr>{cells}</tr>")
    mark = ' class="sortable"' if sortable else ""
    return f"<table{mark}><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def html_facts(facts: Mapping[str, str]) -> str:
    """Names with their values, side by side; empty without any."""
    said = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items())
    return f'<dl class="facts">{said}</dl>' if said else ""


def html_report(title: str, facts: Mapping[str, str], *parts: str) -> str:
    """What a notebook shows of an object: a title, facts, and parts that are HTML already."""
    return (
        f'<div class="samara-report"><style>{_STYLE}</style><div><b>{escape(title)}</b></div>'
        f"{html_facts(facts)}{''.join(parts)}</div>"
    )


def html_tensors(inputs: Iterable[TensorSpec], outputs: Iterable[TensorSpec]) -> str:
    """The table of a function's inputs and outputs, with a column for records if there are some."""
    rows = [
        (way, s.name, s.dtype, ", ".join(map(str, s.shape)) or "scalar", str(s.record or ""))
        for way, specs in (("input", inputs), ("output", outputs))
        for s in specs
    ]
    recorded = any(r[-1] for r in rows)
    heads = ("", "name", "dtype", "shape", *(("takes",) if recorded else ()))
    return html_table(heads, rows if recorded else [r[:-1] for r in rows])
