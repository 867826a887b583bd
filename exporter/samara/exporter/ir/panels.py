# SPDX-License-Identifier: Apache-2.0
"""The weight layouts of the file: panels of 16 channels that every CPU kernel reads in place.

    PANEL    [groups][ceil(N / 16)][K][16]   K in the order (ky, kx, c), N channels per group
    DWPANEL  [ceil(C / 16)][taps][16]        depthwise, one output channel per input channel

Channels beyond the last are zero. A panel's bytes are rounded up to 64: that is the panel stride.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.ir.program import Array
from samara.exporter.ir.schema import Layout
from samara.exporter.types import DType
from samara.pybridge.dtypes import pack_nibbles

PANEL_CHANNELS: Final = 16
PANEL_ALIGNMENT: Final = 64


@dataclass(frozen=True, slots=True)
class Packed:
    """A constant as it is stored. `panel_stride` counts bytes and is 0 for PLAIN."""

    layout: Layout
    groups: int
    panel_stride: int
    data: bytes


def panel_stride(rows: int, itemsize: int) -> int:
    """Bytes from one panel of `rows` rows to the next."""
    return -(-rows * PANEL_CHANNELS * itemsize // PANEL_ALIGNMENT) * PANEL_ALIGNMENT


def packed_size(layout: Layout, shape: tuple[int, ...], groups: int, itemsize: int) -> int:
    """Bytes that a convolution's weight [O, k…, C / groups] takes in a layout."""
    if layout is Layout.PLAIN:
        return math.prod(shape) * itemsize
    n, rows = _rows(layout, shape, groups)
    panels = -(-n // PANEL_CHANNELS)
    return (groups if layout is Layout.PANEL else 1) * panels * panel_stride(rows, itemsize)


def _rows(layout: Layout, shape: tuple[int, ...], groups: int) -> tuple[int, int]:
    """(channels per group, rows of a panel) of a weight [O, k…, C / groups]."""
    return (shape[0] // groups if layout is Layout.PANEL else shape[0]), math.prod(shape[1:])


def pack_conv(w: Array, groups: int = 1) -> Packed:
    """A convolution's weight [O, k…, C / groups]."""
    if groups > 1 and groups == w.shape[0] and w.shape[-1] == 1:
        return _pack(w, Layout.DWPANEL, groups)
    return _pack(w, Layout.PANEL, groups)


def pack_matmul(w: Array, transposed: bool = False) -> Packed:
    """The right operand of a matrix product: [K, N], or [N, K] where `transposed`."""
    return _pack(w if transposed else w.T, Layout.PANEL, 1)


def pack_plain(array: Array, multiple: int = 1) -> Packed:
    """The array as it is, with zeros up to a multiple of that many elements; int4 and uint4 two to
    a byte, the first in the low half.
    """
    if array.dtype.kind == "V" and DType.from_numpy(array.dtype).is_packed:
        return Packed(Layout.PLAIN, 1, 0, pack_nibbles(array).tobytes())
    data = np.ascontiguousarray(array).tobytes()
    short = -array.size % multiple * array.itemsize
    return Packed(Layout.PLAIN, 1, 0, data + bytes(short))


def _pack(w: Array, layout: Layout, groups: int) -> Packed:
    channels, rows = _rows(layout, w.shape, groups)
    blocks = groups if layout is Layout.PANEL else 1
    panels = -(-channels // PANEL_CHANNELS)
    stride = panel_stride(rows, w.itemsize)
    padded = np.zeros((blocks, panels * PANEL_CHANNELS, rows), w.dtype)
    padded[:, :channels] = w.reshape(blocks, channels, rows)
    ordered = padded.reshape(blocks, panels, PANEL_CHANNELS, rows).transpose(0, 1, 3, 2)
    out = np.zeros((blocks * panels, stride), np.uint8)
    flat = np.ascontiguousarray(ordered).reshape(blocks * panels, rows * PANEL_CHANNELS)
    out[:, : flat.shape[1] * w.itemsize] = flat.view(np.uint8)
    return Packed(layout, groups, stride, out.tobytes())


def unpack_conv(packed: Packed, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """The inverse of `pack_conv`; `packed.data` has at least `packed_size` bytes."""
    channels, rows = _rows(packed.layout, shape, packed.groups)
    blocks = packed.groups if packed.layout is Layout.PANEL else 1
    panels = -(-channels // PANEL_CHANNELS)
    used = rows * PANEL_CHANNELS * dtype.itemsize
    raw = np.frombuffer(packed.data, np.uint8, blocks * panels * packed.panel_stride)
    flat = np.ascontiguousarray(raw.reshape(blocks * panels, packed.panel_stride)[:, :used])
    ordered = flat.view(dtype).reshape(blocks, panels, rows, PANEL_CHANNELS)
    padded = ordered.transpose(0, 1, 3, 2).reshape(blocks, panels * PANEL_CHANNELS, rows)
    return np.ascontiguousarray(padded[:, :channels]).reshape(shape)


def unpack_matmul(
    packed: Packed, shape: tuple[int, int], dtype: np.dtype[np.generic], transposed: bool = False
) -> Array:
    """The inverse of `pack_matmul`."""
    if transposed:
        return unpack_conv(packed, shape, dtype)
    return np.ascontiguousarray(unpack_conv(packed, (shape[1], shape[0]), dtype).T)
