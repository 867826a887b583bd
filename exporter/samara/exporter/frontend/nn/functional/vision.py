# SPDX-License-Identifier: Apache-2.0
"""Padding, resizing and sampling of images and sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.nn.functional.channel_order import (
    batched,
    channels_first,
    channels_last,
    per_axis,
)
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from samara.exporter.frontend.operands import as_tensor, plain_size
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import dmax
from samara.pybridge.errors import ShapeError, UnsupportedError

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Elements added (or, negative, taken away) around the last dimensions.

    `pad` has pairs (before, after) from the last dimension backwards. Modes: constant, reflect,
    replicate, circular.
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ShapeError(f"pad has {len(pad)} numbers for {input.ndim} dimensions")
    if mode not in _PAD_MODES:
        raise UnsupportedError(f"there is no pad mode {mode!r}", fix=", ".join(_PAD_MODES))
    before, after = [0] * input.ndim, [0] * input.ndim
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    x = input
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        begin, end = plain_size(dmax(-b, 0)), plain_size(dmax(-a, 0))
        if begin != 0 or end != 0:
            x = x.narrow(axis, begin, x.shape[axis] - begin - end)
    pads = tuple(plain_size(dmax(p, 0)) for p in (*before, *after))
    if all(p == 0 for p in pads):
        return x
    fill = None
    if mode == "constant" and value not in (None, 0):
        fill = as_tensor(np.asarray(value, x.dtype))
    return ops.pad(x, fill, pads=pads, mode=_PAD_MODES[mode])


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Spatial dimensions of [N, C, spatial…] to `size`, or by `scale_factor`.

    Modes: nearest, nearest-exact, linear, bilinear, trilinear, bicubic, area.
    """
    n = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ShapeError("interpolate needs either size or scale_factor")
    if size is not None:
        sizes = (size,) * n if isinstance(size, int) else tuple(size)
        scales = (0,) * n
    else:
        factors = (
            (float(scale_factor),) * n
            if isinstance(scale_factor, (int, float))
            else tuple(map(float, scale_factor))
        )
        sizes = tuple(_scaled(s, f) for s, f in zip(input.shape[2:], factors, strict=True))
        bits = tuple(int(np.float32(f).view(np.uint32)) for f in factors)
        scales = (0,) * n if recompute_scale_factor or mode == "area" else bits
    if len(sizes) != n:
        raise ShapeError(f"interpolate: {len(sizes)} sizes for {n} spatial dimensions")
    if mode == "area":
        return _AREA[n](input, sizes)
    attrs = _resize_attrs(mode, n, align_corners, antialias)
    y = ops.resize(channels_last(input), sizes=sizes, scales=scales, **attrs)
    return channels_first(y)


def _scaled(size: Any, factor: float) -> Any:
    if isinstance(size, int):
        return math.floor(size * factor)
    if factor != int(factor):
        raise UnsupportedError("a symbolic size needs a whole scale_factor")
    return size * int(factor)


def _resize_attrs(mode: str, n: int, align: bool | None, antialias: bool) -> dict[str, Any]:
    if mode == "nearest":
        return {"mode": "nearest", "coordinate": "asymmetric", "nearest": "floor"}
    if mode == "nearest-exact":
        return {"mode": "nearest", "coordinate": "half_pixel", "nearest": "round_prefer_ceil"}
    coordinate = "align_corners" if align else "half_pixel"
    if mode == _LINEAR.get(n):
        attrs: dict[str, Any] = {"mode": "linear", "coordinate": coordinate}
    elif mode == "bicubic" and n == 2:
        attrs = {"mode": "cubic", "coordinate": coordinate, "cubic_a": -0.5 if antialias else -0.75}
    else:
        raise UnsupportedError(
            f"interpolate has no mode {mode!r} for {n} spatial dimensions",
            fix="nearest, nearest-exact, area, linear (1), bilinear or bicubic (2), trilinear (3)",
        )
    if antialias:
        attrs.update(antialias=True, exclude_outside=True)
    return attrs


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """input [N, C, H, W] at the points grid [N, h, w, 2] of (x, y) in -1 … 1.

    Modes bilinear, nearest, bicubic; padding zeros, border, reflection; 5-d likewise with (x, y, z).
    (Jaderberg et al. 2015, arXiv:1506.02025.)
    """
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in modes:
        raise UnsupportedError(f"grid_sample has no mode {mode!r}", fix=", ".join(modes))
    y = ops.grid_sample(
        channels_last(input),
        grid,
        mode=modes[mode],
        padding=padding_mode,
        align_corners=bool(align_corners),
    )
    return channels_first(y)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points [N, H, W, 2] that affine maps theta [N, 2, 3] send an output of `size` to."""
    *_, h, w = size
    ys, xs = (_centres(int(n), bool(align_corners)) for n in (h, w))
    grid = np.stack(np.meshgrid(ys, xs, indexing="ij")[::-1], axis=-1)
    points = np.concatenate([grid, np.ones((*grid.shape[:-1], 1))], axis=-1).reshape(-1, 3)
    out = as_tensor(points.astype(theta.dtype)).matmul(theta.transpose(1, 2))
    return out.reshape((size[0], int(h), int(w), 2))


def _centres(n: int, align_corners: bool) -> Any:
    if align_corners:
        return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
    return (np.arange(n) * 2 + 1) / n - 1


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[…, C r², H, W] as […, C, H r, W r]."""
    r = upscale_factor
    *lead, c, h, w = input.shape
    x = input.reshape((*lead, c // (r * r), r, r, h, w))
    k = len(lead)
    x = x.permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2)
    return x.reshape((*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[…, C, H r, W r] as […, C r², H, W]."""
    r = downscale_factor
    *lead, c, h, w = input.shape
    x = input.reshape((*lead, c, h // r, r, w // r, r))
    k = len(lead)
    x = x.permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return x.reshape((*lead, c * r * r, h // r, w // r))


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Patches of [N, C, H, W] (or [C, H, W]) as columns: [N, C kh kw, patches]."""
    x, single = batched(input, 4, "unfold")
    kernel, pads, places = _patches(x.shape[2:], kernel_size, dilation, padding, stride)
    x = pad(x, (pads[1], pads[1], pads[0], pads[0]))
    n, c, h, w = x.shape
    columns = ops.gather(x.reshape((n, c, h * w)), as_tensor(places), axis=2)
    out = columns.reshape((n, c * kernel[0] * kernel[1], places.shape[1]))
    return out.squeeze(0) if single else out


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Columns [N, C kh kw, patches] (or without N) added up to [N, C, H, W]: unfold's adjoint."""
    x, single = batched(input, 3, "fold")
    size = per_axis(output_size, 2, "output_size")
    kernel, pads, places = _patches(size, kernel_size, dilation, padding, stride)
    count = kernel[0] * kernel[1]
    if x.shape[1] % count or x.shape[2] != places.shape[1]:
        raise ShapeError(
            f"fold of {list(input.shape)} with kernel {kernel}: needs a multiple of {count} rows "
            f"and {places.shape[1]} patches"
        )
    n, channels = x.shape[0], x.shape[1] // count
    h, w = size[0] + 2 * pads[0], size[1] + 2 * pads[1]
    empty = as_tensor(np.zeros((), x.dtype)).expand((n, channels, h * w))
    rows = x.reshape((n, channels, places.size))
    full = empty.index_add(2, as_tensor(places.reshape(-1)), rows).reshape((n, channels, h, w))
    out = full.narrow(2, pads[0], size[0]).narrow(3, pads[1], size[1])
    return out.squeeze(0) if single else out


def _patches(
    sizes: Sequence[Any], kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    """Kernel, padding, and the place in the padded image of each element of each patch."""
    kernel, steps = per_axis(kernel_size, 2, "kernel_size"), per_axis(stride, 2, "stride")
    spread, pads = per_axis(dilation, 2, "dilation"), per_axis(padding, 2, "padding")
    axes = []
    for n, k, s, d, p in zip(sizes, kernel, steps, spread, pads, strict=True):
        count = (int(n) + 2 * p - d * (k - 1) - 1) // s + 1
        axes.append(np.arange(k)[:, None] * d + np.arange(count) * s)
    rows, columns = axes
    width = int(sizes[1]) + 2 * pads[1]
    # [kh, kw, rows, columns] -> [kh kw, patches]
    places = rows[:, None, :, None] * width + columns[None, :, None, :]
    return kernel, pads, places.reshape(kernel[0] * kernel[1], -1)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of [N, C, …] dealt out from groups."""
    n, c, *rest = input.shape
    x = input.reshape((n, groups, c // groups, *rest))
    return x.transpose(1, 2).reshape((n, c, *rest))
