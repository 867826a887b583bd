# SPDX-License-Identifier: Apache-2.0
"""The weight layouts of the file: panels of 16 channels that every CPU kernel reads in place.

    PANEL    [groups][ceil(N / 16)][K][16]   K in the order (ky, kx, c), N channels per group
             [groups][ceil(N / 16)][ceil(K / 4)][16][4] of int8, as products of four bytes read it
             [ceil(N / 16)][ceil(K / 32)][4][16][4] bytes of 4-bit weights [N, K]: of 32 rows, byte
             [j][n][i] holds row 4 j + i in its low half and row 16 + 4 j + i in its high half
    DWPANEL  [ceil(C / 16)][taps][16]        depthwise, one output channel per input channel

Padding channels, and padding rows that fill a group of four, are zero. The panel stride is a panel's
bytes rounded up to 64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.ir.program import Array
from samara.exporter.ir.schema import Layout
from samara.exporter.types import DType
from samara.pybridge.dtypes import pack_nibbles, unpack_nibbles

PANEL_CHANNELS: Final = 16
PANEL_ALIGNMENT: Final = 64
INT8_ROWS: Final = 4  # int8 rows that are stored together
NIBBLE_ROWS: Final = 32  # the same of 4-bit rows


@dataclass(frozen=True, slots=True)
class Packed:
    """A constant as it is stored. `panel_stride` is in bytes, 0 for PLAIN."""

    layout: Layout
    groups: int
    panel_stride: int
    data: bytes


def _together(layout: Layout, itemsize: int) -> int:
    return INT8_ROWS if itemsize == 1 and layout is Layout.PANEL else 1


def stored_rows(layout: Layout, rows: int, itemsize: int) -> int:
    """The stored rows of a panel, padding included."""
    together = _together(layout, itemsize)
    return -(-rows // together) * together


def panel_stride(rows: int, itemsize: int) -> int:
    """Bytes from one panel of `rows` stored rows to the next."""
    return -(-rows * PANEL_CHANNELS * itemsize // PANEL_ALIGNMENT) * PANEL_ALIGNMENT


def packed_size(layout: Layout, shape: tuple[int, ...], groups: int, itemsize: int) -> int:
    """Bytes that a convolution's weight [O, k…, C / groups] takes in a layout."""
    if layout is Layout.PLAIN:
        return math.prod(shape) * itemsize
    n, rows = _rows(layout, shape, groups)
    rows = stored_rows(layout, rows, itemsize)
    panels = -(-n // PANEL_CHANNELS)
    return (groups if layout is Layout.PANEL else 1) * panels * panel_stride(rows, itemsize)


def _rows(layout: Layout, shape: tuple[int, ...], groups: int) -> tuple[int, int]:
    """(channels per group, rows of a panel) of a weight [O, k…, C / groups]."""
    return (shape[0] // groups if layout is Layout.PANEL else shape[0]), math.prod(shape[1:])


def _conv_layout(shape: tuple[int, ...], groups: int) -> Layout:
    depthwise = groups > 1 and groups == shape[0] and shape[-1] == 1
    return Layout.DWPANEL if depthwise else Layout.PANEL


def conv_size(shape: tuple[int, ...], groups: int, itemsize: int) -> int:
    """Bytes of `pack_conv` for a weight of this shape."""
    return packed_size(_conv_layout(shape, groups), shape, groups, itemsize)


def pack_conv(w: Array, groups: int = 1) -> Packed:
    """A convolution's weight [O, k…, C / groups]."""
    return _pack(w, _conv_layout(w.shape, groups), groups)


def pack_matmul(w: Array, transposed: bool = False) -> Packed:
    """The right operand of a matrix product: [K, N], or [N, K] if `transposed`."""
    return _pack(w if transposed else w.T, Layout.PANEL, 1)


def blocks_stride(rows: int) -> int:
    """Bytes from one panel of `rows` rows of 4 bits to the next."""
    return -(-rows // NIBBLE_ROWS) * (NIBBLE_ROWS * PANEL_CHANNELS // 2)


def blocks_size(channels: int, rows: int) -> int:
    """Bytes of `pack_blocks` for weights [channels, rows]."""
    return -(-channels // PANEL_CHANNELS) * blocks_stride(rows)


def pack_blocks(w: Array) -> Packed:
    """int4 or uint4 weights [N, K] of matmul_blocks."""
    channels, rows = w.shape
    panels, groups = -(-channels // PANEL_CHANNELS), -(-rows // NIBBLE_ROWS)
    padded = np.zeros((panels * PANEL_CHANNELS, groups * NIBBLE_ROWS), np.uint8)
    padded[:channels, :rows] = np.ascontiguousarray(w).view(np.uint8) & 15
    halves = padded.reshape(panels, PANEL_CHANNELS, groups, 2, 4, 4).transpose(3, 0, 2, 4, 1, 5)
    data = np.ascontiguousarray(halves[0] | halves[1] << 4)
    return Packed(Layout.PANEL, 1, blocks_stride(rows), data.tobytes())


def unpack_blocks(packed: Packed, shape: tuple[int, int], dtype: np.dtype[np.generic]) -> Array:
    """The inverse of `pack_blocks`; `packed.data` has all the panels."""
    channels, rows = shape
    panels, groups = -(-channels // PANEL_CHANNELS), -(-rows // NIBBLE_ROWS)
    raw = np.frombuffer(packed.data, np.uint8, panels * packed.panel_stride)
    folded = raw.reshape(panels, groups, 4, PANEL_CHANNELS, 4)
    halves = np.stack([folded & 15, folded >> 4]).transpose(1, 4, 2, 0, 3, 5)
    numbers = halves.reshape(panels * PANEL_CHANNELS, groups * NIBBLE_ROWS)[:channels, :rows]
    return unpack_nibbles(pack_nibbles(np.ascontiguousarray(numbers)), dtype, shape)


def pack_plain(array: Array, multiple: int = 1) -> Packed:
    """The array in row-major order, with zeros up to a multiple of that many elements; two int4 or uint4 to a byte,
    the first in the low half.
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
    held = stored_rows(layout, rows, w.itemsize)
    stride = panel_stride(held, w.itemsize)
    whole = blocks, panels * PANEL_CHANNELS, held
    padded = w.reshape(blocks, channels, rows)
    if padded.shape != whole:
        padded = np.zeros(whole, w.dtype)
        padded[:, :channels, :rows] = w.reshape(blocks, channels, rows)
    together = _together(layout, w.itemsize)
    ordered = padded.reshape(blocks, panels, PANEL_CHANNELS, held // together, together).transpose(
        0, 1, 3, 2, 4
    )
    used = held * PANEL_CHANNELS * w.itemsize
    if used == stride:
        return Packed(layout, groups, stride, ordered.tobytes())
    out = np.zeros((blocks * panels, stride), np.uint8)
    flat = np.ascontiguousarray(ordered).reshape(blocks * panels, held * PANEL_CHANNELS)
    out[:, :used] = flat.view(np.uint8)
    return Packed(layout, groups, stride, out.tobytes())


def unpack_conv(packed: Packed, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """The inverse of `pack_conv`; `packed.data` has at least `packed_size` bytes."""
    channels, rows = _rows(packed.layout, shape, packed.groups)
    blocks = packed.groups if packed.layout is Layout.PANEL else 1
    panels = -(-channels // PANEL_CHANNELS)
    held = stored_rows(packed.layout, rows, dtype.itemsize)
    together = _together(packed.layout, dtype.itemsize)
    used = held * PANEL_CHANNELS * dtype.itemsize
    raw = np.frombuffer(packed.data, np.uint8, blocks * panels * packed.panel_stride)
    flat = np.ascontiguousarray(raw.reshape(blocks * panels, packed.panel_stride)[:, :used])
    ordered = flat.view(dtype).reshape(blocks, panels, held // together, PANEL_CHANNELS, together)
    padded = ordered.transpose(0, 1, 3, 2, 4).reshape(blocks, panels * PANEL_CHANNELS, held)
    return np.ascontiguousarray(padded[:, :channels, :rows]).reshape(shape)


def unpack_matmul(
    packed: Packed, shape: tuple[int, int], dtype: np.dtype[np.generic], transposed: bool = False
) -> Array:
    """The inverse of `pack_matmul`."""
    if transposed:
        return unpack_conv(packed, shape, dtype)
    return np.ascontiguousarray(unpack_conv(packed, (shape[1], shape[0]), dtype).T)
