# SPDX-License-Identifier: Apache-2.0
"""Resize and Upsample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.cropping import as_float, resized_region
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import (
    Dim,
    as_dim,
    bits_f32,
    dlt,
    f32_bits,
    floordiv,
    scale_f32,
    select,
)

# Avoids division by 0 where the quotient does not matter: an axis of one element, or one result.
_SMALL = 1e-6


@onnx_op("Upsample")
def upsample(n: NodeContext) -> Any:
    x = n.value(0)
    if n.has_attr("width_scale"):  # opset 1
        pair = [float(n.attr("height_scale")), float(n.attr("width_scale"))]
        ones = [1.0] * (x.type.rank - 2)
        return _by_scales(n, x, [as_dim(f32_bits(s)) for s in (*ones, *pair)])
    if n.has_attr("scales"):
        return _by_scales(n, x, [as_dim(f32_bits(s)) for s in n.attr("scales")])
    return _by_scales(n, x, list(n.dims(1, "scales")))


def _by_scales(n: NodeContext, x: Value, bits: list[Dim]) -> Any:
    """Upsample, and Resize before opset 11."""
    sizes = [_scaled(d, b) for d, b in zip(x.type.shape, bits, strict=False)]
    return _resize(
        n, x, list(range(x.type.rank)), sizes, bits,
        mode=_mode(n), coordinate="asymmetric", nearest="floor",
    )  # fmt: skip


def _mode(n: NodeContext) -> str:
    """The interpolation mode; the oldest opsets call it bilinear."""
    mode = str(n.attr("mode", "nearest"))
    return "linear" if mode == "bilinear" else mode


@onnx_op("Resize")
def resize(n: NodeContext) -> Any:
    x = n.value(0)
    if n.opset < 11:
        return _by_scales(n, x, list(n.dims(1, "scales")))
    every = [as_dim(a) for a in range(x.type.rank)]
    axes = n.static_axes([as_dim(a) for a in n.attr("axes", every)], x.type.rank) or []
    zero = as_dim(0)
    if n.has(3):
        sizes = list(n.dims(3, "sizes"))
        bits = [zero] * len(sizes)
        sizes, bits = _keep_aspect(n, x, axes, sizes, bits)
    elif n.has(2):
        scales_now = n.constant(2)
        if scales_now is not None and scales_now.size == 0:
            raise n.wrong("neither scales nor sizes are given")
        bits = list(n.dims(2, "scales"))
        sizes = [_scaled(x.type.shape[a], b) for a, b in zip(axes, bits, strict=False)]
    else:
        raise n.wrong("neither scales nor sizes are given")
    coordinate = n.attr("coordinate_transformation_mode", "half_pixel")
    roi: list[float] = []
    how: dict[str, Any] = {
        "mode": n.attr("mode", "nearest"),
        "nearest": n.attr("nearest_mode", "round_prefer_floor"),
        "cubic_a": n.attr("cubic_coeff_a", -0.75),
        "exclude_outside": bool(n.attr("exclude_outside", 0)),
        "extrapolation": n.attr("extrapolation_value", 0.0),
        "antialias": bool(n.attr("antialias", 0)),
    }
    if coordinate == "tf_crop_and_resize":
        if not n.has(1):
            raise n.wrong("tf_crop_and_resize needs a roi")
        known = n.constant(1)
        if known is None:
            return _region(n, x, axes, sizes, bits, how)
        roi = _spatial_roi(x, axes, known.reshape(-1).tolist())
    elif coordinate == "align_corners" and not n.has(3) and how["mode"] != "nearest":
        coordinate, bits = _unrounded(n, x, axes, bits)
    return _resize(n, x, axes, sizes, bits, coordinate=coordinate, roi=roi, **how)


def _region(
    n: NodeContext, x: Value, axes: list[int], sizes: list[Dim], bits: list[Dim], how: dict[str, Any]
) -> Value:  # fmt: skip
    if how.pop("antialias"):
        raise n.unsupported(
            "antialiasing of a region that is known at run time only", "make roi a constant"
        )
    _check_counts(n, axes, sizes, bits)
    sizes, _ = _fixed_outer(n, x, axes, sizes, bits)
    return resized_region(n, x, axes, sizes, n.value(1), how)


def _unrounded(n: NodeContext, x: Value, axes: list[int], bits: list[Dim]) -> tuple[str, list[Dim]]:
    """align_corners by scales: the last element is aligned with the end of size * scale before that is rounded
    down. `asymmetric` does the same with the scale (size * scale - 1) / (size - 1).
    """
    pairs = list(zip(axes, bits, strict=False))
    if all(_is_whole(x.type.shape[a], b) for a, b in pairs):
        return "align_corners", bits
    out = list(bits)
    for i, (a, b) in enumerate(pairs):
        size = x.type.shape[a]
        if size.is_static and b.is_static:
            have, scale = size.as_int(), bits_f32(b.as_int())
            stretch = (have * scale - 1) / max(have - 1, _SMALL)
            out[i] = b if scale == 1.0 else as_dim(f32_bits(max(stretch, _SMALL)))
        elif a >= 2 or x.type.rank < 3:
            out[i] = _stretch(n, size, n.value(2), i)
    return "asymmetric", out


def _stretch(n: NodeContext, size: Dim, scales: Value, i: int) -> Dim:
    """The scale of _unrounded if size or scale are known only at run time."""
    have = as_float(n, size)
    scale = n.emit("slice", scales, begin=[i], end=[i + 1], step=[1])
    below = n.emit("max", n.emit("sub", have, 1.0), n.const(np.float32(_SMALL)))
    stretch = n.emit("div", n.emit("sub", n.emit("mul", scale, have), 1.0), below)
    return n.builder.read(n.emit("max", stretch, n.const(np.float32(_SMALL))), 0)


def _is_whole(size: Dim, bits: Dim) -> bool:
    """Whether size * scale is known to be a whole number."""
    if not bits.is_static:
        return False
    scale = bits_f32(bits.as_int())
    return scale == math.floor(scale) or (
        size.is_static and size.as_int() * scale == math.floor(size.as_int() * scale)
    )


def _scaled(dim: Dim, bits: Dim) -> Dim:
    """floor(dim * scale). An integer scale stays a product, which can be compared with other shapes."""
    if bits.is_static:
        scale = float(np.uint32(bits.as_int()).view(np.float32))
        if scale == math.floor(scale):
            return dim * int(scale)
    return scale_f32(dim, bits)


def _keep_aspect(
    n: NodeContext, x: Value, axes: list[int], sizes: list[Dim], bits: list[Dim]
) -> tuple[list[Dim], list[Dim]]:
    policy = n.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes, bits
    have = [x.type.shape[a] for a in axes]
    if policy not in ("not_larger", "not_smaller"):
        raise n.wrong(f"keep_aspect_ratio_policy {policy!r} is not known")
    if len(sizes) != len(have):
        raise n.wrong(f"{len(sizes)} sizes for {len(have)} axes")
    if not all(d.is_static for d in (*sizes, *have)):
        return _keep_aspect_at_run_time(n, policy, sizes, have)
    pairs = [(w.as_int(), h.as_int()) for w, h in zip(sizes, have, strict=True)]
    if any(h == 0 for _, h in pairs):
        raise n.wrong(f"an empty {x.type} has no aspect ratio")
    ratios = [w / h for w, h in pairs]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    resized = [as_dim(math.floor(scale * h + 0.5)) for _, h in pairs]
    return resized, [as_dim(f32_bits(scale))] * len(axes)


def _keep_aspect_at_run_time(
    n: NodeContext, policy: str, sizes: list[Dim], have: list[Dim]
) -> tuple[list[Dim], list[Dim]]:
    """The smallest or largest size / have as an exact fraction, which scales all axes."""
    above, below = sizes[0], have[0]
    for w, h in zip(sizes[1:], have[1:], strict=True):
        a, b = (w * below, above * h) if policy == "not_larger" else (above * h, w * below)
        above, below = select(dlt(a, b), w, above), select(dlt(a, b), h, below)
    resized = [floordiv(above * h * 2 + below, below * 2) for h in have]
    scale = n.emit("div", as_float(n, above), as_float(n, below))
    return resized, [n.builder.read(scale, 0)] * len(have)


def _spatial_roi(x: Value, axes: list[int], roi: list[float]) -> list[float]:
    """roi is (starts…, ends…) over `axes`; the IR needs it over the spatial axes of [N, C, spatial…]."""
    starts = dict(zip(axes, roi[: len(axes)], strict=True))
    ends = dict(zip(axes, roi[len(axes) :], strict=True))
    spatial = range(2, x.type.rank)
    return [*(starts.get(a, 0.0) for a in spatial), *(ends.get(a, 1.0) for a in spatial)]


def _fixed_outer(
    n: NodeContext, x: Value, axes: list[int], sizes: list[Dim], bits: list[Dim]
) -> tuple[list[Dim], list[Dim]]:
    """Run-time scales or sizes are assumed to leave batch and channels unchanged, and a guard checks it."""
    one = as_dim(f32_bits(1.0))
    sizes, bits = list(sizes), list(bits)
    for i, a in enumerate(axes):
        if a >= 2 or x.type.rank < 3 or (sizes[i].is_static and x.type.shape[a].is_static):
            continue
        message = f"axis {a} of a resize with run-time scales keeps its size"
        if not bits[i].is_static:
            n.builder.guards.append(Guard("eq", bits[i], one, message, n.label))
        elif sizes[i] != x.type.shape[a]:
            n.builder.guards.append(Guard("eq", sizes[i], x.type.shape[a], message, n.label))
        sizes[i], bits[i] = x.type.shape[a], one
    return sizes, bits


def _check_counts(n: NodeContext, axes: list[int], sizes: list[Dim], bits: list[Dim]) -> None:
    if len(sizes) != len(axes) or len(bits) != len(axes):
        raise n.wrong(f"{len(sizes)} sizes or scales for {len(axes)} axes")


def _resize(
    n: NodeContext, x: Value, axes: list[int], sizes: list[Dim], bits: list[Dim], **attrs: Any
) -> Any:
    """Resize over `axes` of x. Axes are moved so that the resized ones are spatial axes of a
    channels-last tensor.
    """
    rank = x.type.rank
    _check_counts(n, axes, sizes, bits)
    sizes, bits = _fixed_outer(n, x, axes, sizes, bits)
    changed = {
        a: (s, b)
        for a, s, b in zip(axes, sizes, bits, strict=True)
        if x.type.shape[a] != s or not (b.is_static and b.as_int() in (0, f32_bits(1.0)))
    }
    if attrs.get("roi"):
        changed = {a: (s, b) for a, s, b in zip(axes, sizes, bits, strict=True) if a >= 2}
    if not changed:
        return x
    batch_first = rank >= 3 and all(a >= 2 for a in changed)
    if batch_first:
        spatial = list(range(2, rank))
        perm = [0, *spatial, 1]
    else:  # unusual: a matrix, or batch or channels are resized
        spatial = sorted(changed)
        rest = [a for a in range(rank) if a not in changed]
        perm = [*rest[:1], *spatial, *rest[1:]]
    if len(spatial) > 3:
        raise n.unsupported(f"resizing {len(spatial)} axes", "resize at most three axes at once")
    y = n.emit("transpose", x, perm=perm)
    if not batch_first:
        others = [x.type.shape[a] for a in perm if a not in changed]
        lead = others[:1] or [as_dim(1)]
        tail = as_dim(1)
        for d in others[1:]:
            tail = tail * d
        y = n.emit("reshape", y, shape=(*lead, *(x.type.shape[a] for a in spatial), tail))
    same = as_dim(f32_bits(1.0))
    y = n.emit(
        "resize",
        y,
        sizes=[changed[a][0] if a in changed else x.type.shape[a] for a in spatial],
        scales=[changed[a][1] if a in changed else same for a in spatial],
        **attrs,
    )
    target = [changed[a][0] if a in changed else d for a, d in enumerate(x.type.shape)]
    if not batch_first:
        y = n.emit("reshape", y, shape=[target[a] for a in perm])
    inverse = [perm.index(a) for a in range(rank)]
    return n.final("transpose", y, perm=inverse)
