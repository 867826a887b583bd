# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables as text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_UNITS = ("", "k", "M", "G", "T")


def byte_text(count: int) -> str:
    """`640 B`, `12.3 KiB`, `4.00 MiB`."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024 or unit == "TiB":
            break
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def count_text(count: int | None) -> str:
    """`950`, `1.2M`; a dash for None."""
    if count is None:
        return "-"
    value = float(count)
    for unit in _UNITS:
        if abs(value) < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.3g}{unit}" if unit else str(count)


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()
) -> str:
    """Columns padded to their widest cell; `right` lists the right-aligned ones."""
    widths = [max(len(r[i]) for r in (heads, *rows)) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            c.rjust(w) if i in right else c.ljust(w)
            for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return ("  " + "  ".join(padded)).rstrip()

    return "\n".join(line(cells) for cells in (heads, *rows))


def plain(value: Any) -> Any:
    """Dataclasses, mappings and sequences as dicts and lists for JSON; infinities and NaN as strings."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
