# SPDX-License-Identifier: Apache-2.0
"""Begin and end of slices as the operator `slice` takes them: counted from the front, and clamped."""

from __future__ import annotations

from samara.exporter.types import Dim, as_dim, dlt, dmax, dmin, select

# "To the end" is a huge number in foreign formats.
_FAR = 1 << 31


def stepped_bounds(dim: Dim, start: Dim, end: Dim, step: Dim) -> tuple[Dim, Dim]:
    """slice_bounds for a step that may be known only at run time."""
    if step.is_static:
        return slice_bounds(dim, start, end, step.as_int())
    up, down = slice_bounds(dim, start, end, 1), slice_bounds(dim, start, end, -1)
    back = dlt(step, 0)
    return select(back, down[0], up[0]), select(back, down[1], up[1])


def slice_bounds(dim: Dim, start: Dim, end: Dim, step: int) -> tuple[Dim, Dim]:
    """Start and end clamped: for step > 0 in 0..dim with begin <= end, for step < 0 in
    -1..dim-1.
    """
    low, high = (as_dim(0), dim) if step > 0 else (as_dim(-1), dim - 1)
    b, e = (_bound(v, dim, low, high) for v in (start, end))
    return (b, dmax(b, e)) if step > 0 else (b, dmin(b, e))


def _bound(v: Dim, dim: Dim, low: Dim, high: Dim) -> Dim:
    """`v` counted from the front and clamped to low..high."""
    if v.is_static and abs(v.as_int()) >= _FAR:
        return high if v.as_int() > 0 else low
    least, _ = v.bounds()
    if v.is_static or (least is not None and least >= 0):
        return dmax(dmin(v + dim if v.is_static and v.as_int() < 0 else v, high), low)
    # Clamped before the dim is added, because "to the end" may be the largest integer.
    near = dmax(dmin(v, high), low - dim)
    return select(dlt(near, 0), near + dim, near)
