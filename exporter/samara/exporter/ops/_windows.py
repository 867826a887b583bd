# SPDX-License-Identifier: Apache-2.0
"""References of convolutions and pools: NHWC with 1 to 3 spatial axes, one pass per kernel tap."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops._numeric import Array

Ints = tuple[int, ...]


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
    """For each kernel position, the elements of the padded `x` that it meets, [N, out…, C]."""
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


def conv(x: Array, w: Array, *, strides: Ints, dilations: Ints, pads: Ints, groups: int) -> Array:
    """x [N, spatial…, C] with w [O, k…, C/groups] -> [N, out…, O], without bias."""
    kernel = w.shape[1:-1]
    out = out_sizes(x.shape[1:-1], kernel, strides, dilations, pads)
    n, outputs, depth = x.shape[0], w.shape[0], w.shape[-1]
    y = np.zeros((n, *out, outputs), np.float32)
    for position, part in taps(padded(x, pads, 0.0), out, kernel, strides, dilations):
        tap = _tap(w, position)
        if groups == 1:
            y += part @ tap.T
        elif depth == 1 and outputs == groups:
            y += part * tap[:, 0]
        else:
            # [P, G, C/G] -> [G, P, C/G] @ [G, C/G, O/G].
            rows = part.reshape(-1, groups, depth).transpose(1, 0, 2)
            wide = rows @ tap.reshape(groups, outputs // groups, depth).transpose(0, 2, 1)
            y += wide.transpose(1, 0, 2).reshape(y.shape)
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
    """x [N, spatial…, C] spread by w [O, k…, C/groups] -> [N, out…, O], without bias."""
    kernel, sizes = w.shape[1:-1], x.shape[1:-1]
    s = len(kernel)
    full = tuple(
        (sizes[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 + output_padding[i]
        for i in range(s)
    )
    n, outputs, depth = x.shape[0], w.shape[0], w.shape[-1]
    y = np.zeros((n, *full, outputs), np.float32)
    rows = x.reshape(-1, groups, depth).transpose(1, 0, 2)
    for position, place in taps(y, sizes, kernel, strides, dilations):
        tap = _tap(w, position).reshape(groups, outputs // groups, depth)
        spread = (rows @ tap.transpose(0, 2, 1)).transpose(1, 0, 2)
        place += spread.reshape(place.shape)  # a view of y
    crop: Any = tuple(slice(pads[i], full[i] - pads[s + i]) for i in range(s))
    return y[(slice(None), *crop, slice(None))].copy()


def max_pool(x: Array, *, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints) -> Array:
    """The largest element under the window; padding never wins, NaN does."""
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
) -> Array:
    """The float64 sum under the window; `extend` pads the ends further."""
    s = len(kernel)
    more = pads if extend is None else (*pads[:s], *(pads[s + i] + extend[i] for i in range(s)))
    out = out_sizes(x.shape[1:-1], kernel, strides, dilations, more)
    y = np.zeros((x.shape[0], *out, x.shape[-1]), np.float64)
    for _, part in taps(padded(x, more, 0.0), out, kernel, strides, dilations):
        y += part
    return y
