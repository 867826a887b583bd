# SPDX-License-Identifier: Apache-2.0
"""Channels-first ONNX operators over the channels-last IR: transpose, operator, transpose.

The layout pass cancels transposes.
"""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.common.windows import same_padding
from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DimLike, as_dim, ceildiv, dmax, dmin, floordiv


def channels_last(n: NodeContext, x: Value) -> Value:
    """[N, C, spatial…] to [N, spatial…, C]."""
    moved: Value = n.emit("transpose", x, perm=(0, *range(2, x.type.rank), 1))
    return moved


def channels_first(n: NodeContext, y: Value) -> Any:
    """[N, spatial…, C] to [N, C, spatial…], as the node's result."""
    rank = y.type.rank
    return n.final("transpose", y, perm=(0, rank - 1, *range(1, rank - 1)))


def spatial_rank(n: NodeContext, x: Value) -> int:
    """Number of spatial axes of [N, C, spatial…]: 1 to 3."""
    rank = x.type.rank - 2
    if not 1 <= rank <= 3:
        raise n.wrong(f"needs an input of rank 3 to 5, got {x.type}")
    return rank


def window_pads(
    n: NodeContext,
    size: tuple[Dim, ...],
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
) -> list[Dim]:
    """`pads` (begins, then ends) of a conv or pool node, with auto_pad resolved."""
    mode = n.attr("auto_pad", "NOTSET")
    spatial = len(kernel)
    if mode in ("NOTSET", ""):
        pads = n.attr("pads", [0] * 2 * spatial)
        if len(pads) != 2 * spatial:
            raise n.wrong(f"pads must have {2 * spatial} elements, got {pads}")
        return [as_dim(p) for p in pads]
    if mode == "VALID":
        return [as_dim(0)] * (2 * spatial)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise n.wrong(f"auto_pad {mode!r} is not one of NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    begins, ends = [], []
    for dim, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        total = same_padding(dim, k, s, d)
        small = floordiv(total, 2)
        begins.append(small if mode == "SAME_UPPER" else total - small)
        ends.append(total - small if mode == "SAME_UPPER" else small)
    return [*begins, *ends]


def ceil_extension(
    size: tuple[Dim, ...],
    pads: list[Dim],
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
) -> list[Dim]:
    """The padding that ceil_mode adds at the end of each axis: enough for one more window that starts inside
    the padded input.
    """
    spatial = len(kernel)
    extra: list[Dim] = []
    for i, (dim, k, s, d) in enumerate(zip(size, kernel, strides, dilations, strict=True)):
        padded: DimLike = dim + pads[i] + pads[spatial + i]
        reach = (k - 1) * d + 1
        windows = ceildiv(padded - reach, s) + 1
        # A window may not start in the end padding.
        windows = _last_inside(windows, dim + pads[i], s)
        extra.append(dmax((windows - 1) * s + reach - padded, 0))
    return extra


def _last_inside(windows: Dim, limit: Dim, stride: int) -> Dim:
    return dmin(windows, ceildiv(limit, stride))
