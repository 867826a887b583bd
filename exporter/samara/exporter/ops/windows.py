# SPDX-License-Identifier: Apache-2.0
"""References of convolutions and pools: NHWC with 1 to 3 spatial axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.ops.numeric import Array, wide

Ints = tuple[int, ...]

# Elements of the windows that a convolution copies at a time, at most 32 MiB.
_BLOCK: Final = 1 << 22


def out_sizes(
    sizes: Sequence[int], kernel: Ints, strides: Ints, dilations: Ints, pads: Ints
) -> Ints:
    """Output sizes of a window that slides over `sizes`; pads are begins, then ends."""
    n = len(kernel)
    return tuple(
        (sizes[i] + pads[i] + pads[n + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in range(n)
    )


def padded(x: Array, pads: Ints, value: float) -> Array:
    """NHWC `x` with its spatial axes padded by `value`."""
    n = len(pads) // 2
    width = [(0, 0), *((pads[i], pads[n + i]) for i in range(n)), (0, 0)]
    return np.pad(x, width, constant_values=value) if any(pads) else x


def taps(
    x: Array, out: Ints, kernel: Ints, strides: Ints, dilations: Ints
) -> Iterator[tuple[Ints, Array]]:
    """For each kernel position, the elements of the padded `x` that it reads, [N, out…, C]."""
    for position in itertools.product(*(range(k) for k in kernel)):
        index: list[Any] = [
            slice(p * d, p * d + (o - 1) * s + 1, s) if o else slice(0, 0)
            for p, d, o, s in zip(position, dilations, out, strides, strict=True)
        ]
        yield position, x[(slice(None), *index, slice(None))]


def _tap(w: Array, position: Ints) -> Array:
    """The weights [O, C/groups] at one kernel position."""
    index: Any = (slice(None), *position)
    return np.asarray(w[index])


def _windows(x: Array, out: Ints, kernel: Ints, strides: Ints, dilations: Ints) -> Array:
    """The elements of the padded `x` under each window, a view [N, out…, k…, C]."""
    over = (step * n for step, n in zip(x.strides[1:-1], strides, strict=True))
    inside = (step * n for step, n in zip(x.strides[1:-1], dilations, strict=True))
    return np.lib.stride_tricks.as_strided(
        x,
        (x.shape[0], *out, *kernel, x.shape[-1]),
        (x.strides[0], *over, *inside, x.strides[-1]),
        writeable=False,
    )


def conv(x: Array, w: Array, *, strides: Ints, dilations: Ints, pads: Ints, groups: int) -> Array:
    """x [N, spatial…, C] with w [O, k…, C/groups] -> [N, out…, O], without bias."""
    kernel, outputs, depth = w.shape[1:-1], w.shape[0], w.shape[-1]
    out = out_sizes(x.shape[1:-1], kernel, strides, dilations, pads)
    if 0 in (*x.shape, *out, outputs):
        return np.zeros((x.shape[0], *out, outputs), x.dtype)
    seen = _windows(padded(x, pads, 0.0), out, kernel, strides, dilations)
    if depth == 1 and outputs == groups:
        return _conv_of_channels(seen, np.moveaxis(w[..., 0], 0, -1))
    return _conv_of_groups(seen, w, groups)


def _conv_of_channels(seen: Array, w: Array) -> Array:
    """Windows [N, out…, k…, C] with a kernel [k…, C] for each channel -> [N, out…, C]."""
    spatial = w.ndim - 1
    n, *outs = range(spatial + 1)
    taps_and_channel = list(range(spatial + 1, 2 * spatial + 2))
    axes = [n, *outs, *taps_and_channel]
    kernels = np.ascontiguousarray(w)
    return np.asarray(
        np.einsum(seen, axes, kernels, taps_and_channel, [n, *outs, taps_and_channel[-1]])
    )


def _conv_of_groups(seen: Array, w: Array, groups: int) -> Array:
    """Windows [N, out…, k…, C] with w [O, k…, C/groups] -> [N, out…, O]: matrix products over blocks of rows."""
    outputs, depth, spatial = w.shape[0], w.shape[-1], w.ndim - 2
    n, out = seen.shape[0], seen.shape[1 : spatial + 1]
    # [O, k…, C/G] -> [G, k… * C/G, O/G].
    weights = w.reshape(groups, outputs // groups, -1).transpose(0, 2, 1)
    y = np.empty((n, *out, outputs), seen.dtype)
    row = seen[0, 0].size
    samples = max(1, _BLOCK // (row * out[0]))
    rows = max(1, _BLOCK // row)
    for first, top in itertools.product(range(0, n, samples), range(0, out[0], rows)):
        here = slice(first, first + samples), slice(top, top + rows)
        part = seen[here]
        part = part.reshape(*part.shape[:-1], groups, depth)
        # [P, k…, G, C/G] -> [G, P, k… * C/G] @ [G, k… * C/G, O/G].
        part = np.moveaxis(part, -2, 0).reshape(groups, -1, weights.shape[1])
        y[here] = (part @ weights).transpose(1, 0, 2).reshape(y[here].shape)
    return y


def conv_transpose(
    x: Array,
    w: Array,
    *,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    output_padding: Ints,
    groups: int,
) -> Array:
    """Transposed convolution of x [N, spatial…, C] with w [O, k…, C/groups] -> [N, out…, O], without bias."""
    kernel, sizes = w.shape[1:-1], x.shape[1:-1]
    s = len(kernel)
    full = tuple(
        (sizes[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 + output_padding[i]
        for i in range(s)
    )
    n, outputs, depth = x.shape[0], w.shape[0], w.shape[-1]
    y = np.zeros((n, *full, outputs), x.dtype)
    rows = x.reshape(_pixels(x), groups, depth).transpose(1, 0, 2)
    for position, place in taps(y, sizes, kernel, strides, dilations):
        tap = _tap(w, position).reshape(groups, outputs // groups, depth)
        part = (rows @ tap.transpose(0, 2, 1)).transpose(1, 0, 2)
        place += part.reshape(place.shape)  # a view of y
    crop: Any = tuple(slice(pads[i], full[i] - pads[s + i]) for i in range(s))
    return y[(slice(None), *crop, slice(None))].copy()


def _pixels(x: Array) -> int:
    return math.prod(x.shape[:-1])


def conv_grad_input(
    dy: Array,
    w: Array,
    *,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    groups: int,
    size: Ints,
) -> Array:
    """The gradient of conv's x [N, size…, C], of dy [N, out…, O] and w [O, k…, C/groups]."""
    kernel, out, s = w.shape[1:-1], dy.shape[1:-1], len(size)
    depth, outputs = w.shape[-1], w.shape[0]
    full = tuple(size[i] + pads[i] + pads[s + i] for i in range(s))
    dx = np.zeros((dy.shape[0], *full, groups * depth), dy.dtype)
    rows = dy.reshape(_pixels(dy), groups, outputs // groups).transpose(1, 0, 2)
    for position, place in taps(dx, out, kernel, strides, dilations):
        part = rows @ _tap(w, position).reshape(groups, outputs // groups, depth)
        place += part.transpose(1, 0, 2).reshape(place.shape)  # a view of dx
    crop: Any = tuple(slice(pads[i], pads[i] + size[i]) for i in range(s))
    return dx[(slice(None), *crop, slice(None))].copy()


def conv_grad_weight(
    dy: Array,
    x: Array,
    *,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    groups: int,
    kernel: Ints,
) -> Array:
    """The gradient of conv's w [O, k…, C/groups], of dy [N, out…, O] and x [N, size…, C]."""
    out, outputs, depth = dy.shape[1:-1], dy.shape[-1], x.shape[-1] // groups
    dw = np.zeros((outputs, *kernel, depth), dy.dtype)
    # [P, G, O/G] -> [G, O/G, P]; sums over all pixels, so in float64 as all long sums are.
    rows = wide(dy).reshape(_pixels(dy), groups, outputs // groups).transpose(1, 2, 0)
    for position, part in taps(padded(wide(x), pads, 0.0), out, kernel, strides, dilations):
        wanted = rows @ part.reshape(_pixels(dy), groups, depth).transpose(1, 0, 2)
        _tap(dw, position)[...] = wanted.reshape(outputs, depth)
    return dw


def max_pool(x: Array, *, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints) -> Array:
    """The largest element under the window; padding never counts, NaN always wins."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    out = out_sizes(x.shape[1:-1], kernel, strides, dilations, pads)
    y = np.full((x.shape[0], *out, x.shape[-1]), lowest, x.dtype)
    for _, part in taps(padded(x, pads, lowest), out, kernel, strides, dilations):
        np.maximum(y, part, out=y)
    return y


def sum_pool(
    x: Array,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    extend: Ints | None = None,
    dtype: type[np.floating[Any]] = np.float64,
) -> Array:
    """The sum under the window in `dtype`, tap by tap; `extend` pads the ends further."""
    s = len(kernel)
    more = pads if extend is None else (*pads[:s], *(pads[s + i] + extend[i] for i in range(s)))
    out = out_sizes(x.shape[1:-1], kernel, strides, dilations, more)
    y = np.zeros((x.shape[0], *out, x.shape[-1]), dtype)
    for _, part in taps(padded(x, more, 0.0), out, kernel, strides, dilations):
        y += part
    return y


def largest(x: Array, *, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints) -> Array:
    """The number of the tap at the largest element, [N, out…, C]; -1 if there is only padding.

    The first of equal elements counts, and the last NaN, as in PyTorch.
    """
    out = out_sizes(x.shape[1:-1], kernel, strides, dilations, pads)
    best = np.full((x.shape[0], *out, x.shape[-1]), -np.inf, x.dtype)
    where = np.full(best.shape, -1, np.int64)
    inside = padded(np.ones((1, *x.shape[1:-1], 1), np.bool_), pads, 0.0)
    real = taps(inside, out, kernel, strides, dilations)
    found = taps(padded(x, pads, 0.0), out, kernel, strides, dilations)
    for tap, ((_, there), (_, part)) in enumerate(zip(real, found, strict=True)):
        larger = there & ((where < 0) | (part > best) | np.isnan(part))
        best = np.where(larger, part, best)
        where = np.where(larger, tap, where)
    return where


def max_pool_grad(
    dy: Array, x: Array, *, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints
) -> Array:
    """Each output's gradient, added at the largest element under its window."""
    where = largest(x, kernel=kernel, strides=strides, dilations=dilations, pads=pads)
    s = len(kernel)
    dx = np.zeros_like(padded(x, pads, 0.0), wide(dy).dtype)
    for tap, (_, place) in enumerate(taps(dx, dy.shape[1:-1], kernel, strides, dilations)):
        place += np.where(where == tap, dy, dy.dtype.type(0))
    crop: Any = tuple(slice(pads[i], pads[i] + x.shape[i + 1]) for i in range(s))
    return np.asarray(dx[(slice(None), *crop, slice(None))].astype(dy.dtype))


def max_pool_indices(
    x: Array, *, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints
) -> Array:
    """The flat spatial index of the largest element under each window."""
    where = largest(x, kernel=kernel, strides=strides, dilations=dilations, pads=pads)
    numbers = np.arange(math.prod(x.shape[1:-1])).reshape(1, *x.shape[1:-1], 1)
    places = np.full(where.shape, -1, np.int64)
    moved = taps(padded(numbers, pads, 0.0), where.shape[1:-1], kernel, strides, dilations)
    for tap, (_, part) in enumerate(moved):
        places = np.where(where == tap, part, places)
    return places


def spread_mean(
    dy: Array,
    count: Array,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    extend: Ints,
    size: Ints,
) -> Array:
    """dy / count, added to every element under its window, in float64."""
    s = len(kernel)
    share = wide(dy) / np.maximum(count, 1)
    full = tuple(size[i] + pads[i] + pads[s + i] + extend[i] for i in range(s))
    dx = np.zeros((dy.shape[0], *full, dy.shape[-1]), share.dtype)
    for _, place in taps(dx, dy.shape[1:-1], kernel, strides, dilations):
        place += share
    crop: Any = tuple(slice(pads[i], pads[i] + size[i]) for i in range(s))
    return dx[(slice(None), *crop, slice(None))]
