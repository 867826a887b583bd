# SPDX-License-Identifier: Apache-2.0
"""AffineGrid: sampling positions of an affine map, in the coordinates of GridSample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.scan import require_same, scalar
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim, dmax


@onnx_op("AffineGrid")
def affine_grid(n: NodeContext) -> Any:
    """theta [N, k, k + 1] times the homogeneous coordinates of all points: [N, spatial…, k]."""
    theta, sizes = n.value(0), n.dims(1, "size")
    k = len(sizes) - 2
    if k not in (2, 3) or theta.type.rank != 3:
        raise n.wrong(
            f"theta {theta.type} and {len(sizes)} sizes do not describe a grid of 2 or 3 axes"
        )
    for axis, want in ((0, sizes[0]), (1, as_dim(k)), (2, as_dim(k + 1))):
        require_same(n, theta.type.shape[axis], want, f"axis {axis} of theta")
    spatial = list(sizes[2:])
    aligned = bool(n.attr("align_corners", 0))
    points = as_dim(1)
    for d in spatial:
        points = points * d
    columns = [_column(n, spatial, a, aligned) for a in reversed(range(k))]  # x, y, z
    ones = n.emit("expand", n.const(np.float32(1)), shape=(*spatial, 1))
    base = n.emit("concat", *columns, ones, axis=k)
    base = n.emit("reshape", base, shape=(1, points, k + 1))
    kind = theta.type.dtype
    wide = theta if kind is DType.F32 else n.emit("cast", theta, to=DType.F32)
    grid = n.emit("matmul", base, wide, transpose_w=True)
    if kind is not DType.F32:
        grid = n.emit("cast", grid, to=kind)
    return n.final("reshape", grid, shape=(sizes[0], *spatial, k))


def _column(n: NodeContext, spatial: Sequence[Dim], axis: int, aligned: bool) -> Value:
    """The coordinate along `axis` of all points [spatial…, 1]: from -1 to 1 between the centres of the
    outermost elements if aligned, else between their outer edges. A single element lies at -1 if
    aligned.
    """
    size = spatial[axis]
    count = n.emit("cast", scalar(n, dmax(size - 1, 1) if aligned else size), to=DType.F32)
    at = n.emit("cast", n.emit("iota", length=size), to=DType.F32)
    if not aligned:
        at = n.emit("add", at, 0.5)
    at = n.emit("add", n.emit("div", n.emit("mul", at, 2.0), count), -1.0)
    shape = [size if a == axis else 1 for a in range(len(spatial))]
    row = n.emit("reshape", at, shape=(*shape, 1))
    column: Value = n.emit("expand", row, shape=(*spatial, 1))
    return column
