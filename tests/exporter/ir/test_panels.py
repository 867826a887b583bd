# SPDX-License-Identifier: Apache-2.0
"""The weight layouts, byte for byte, because files depend on them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from samara.exporter.ir.panels import (
    pack_blocks,
    pack_conv,
    pack_matmul,
    pack_plain,
    packed_size,
    panel_stride,
    unpack_blocks,
    unpack_conv,
    unpack_matmul,
)
from samara.exporter.ir.schema import Layout
from samara.exporter.types import DType


def test_matmul_panel_bytes() -> None:
    # K = 2, N = 3: one panel of two rows, 13 zero channels each.
    w = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    packed = pack_matmul(w)
    expected = struct.pack("<32f", 1, 2, 3, *[0] * 13, 4, 5, 6, *[0] * 13)
    assert (packed.layout, packed.groups, packed.panel_stride) == (Layout.PANEL, 1, 128)
    assert packed.data == expected
    assert pack_matmul(np.ascontiguousarray(w.T), transposed=True) == packed


def test_conv_panel_bytes() -> None:
    # O = 17 makes two panels; K runs over (ky, kx, c).
    w = np.arange(17 * 1 * 2 * 2, dtype=np.float32).reshape(17, 1, 2, 2)
    packed = pack_conv(w)
    assert packed.panel_stride == 4 * 64
    rows = np.frombuffer(packed.data, np.float32).reshape(2, 4, 16)
    for o in range(17):
        assert rows[o // 16, :, o % 16].tolist() == [4 * o, 4 * o + 1, 4 * o + 2, 4 * o + 3]
    assert not rows[1, :, 1:].any()


def test_grouped_conv_panel_bytes() -> None:
    # Two groups of two output channels: a panel each.
    w = np.arange(1, 13, dtype=np.float32).reshape(4, 1, 1, 3)
    packed = pack_conv(w, groups=2)
    rows = np.frombuffer(packed.data, np.float32).reshape(2, 3, 16)
    assert (packed.layout, packed.groups, packed.panel_stride) == (Layout.PANEL, 2, 192)
    assert rows[0, :, :2].tolist() == [[1, 4], [2, 5], [3, 6]]
    assert rows[1, :, :2].tolist() == [[7, 10], [8, 11], [9, 12]]
    assert not rows[:, :, 2:].any()


def test_depthwise_panel_bytes() -> None:
    # C = 18, 3 taps, float16: 96 bytes of rows in a stride of 128.
    w = np.arange(54, dtype=np.float16).reshape(18, 3, 1)
    packed = pack_conv(w, groups=18)
    assert (packed.layout, packed.groups, packed.panel_stride) == (Layout.DWPANEL, 18, 128)
    assert len(packed.data) == 256
    first = np.frombuffer(packed.data[:96], np.float16).reshape(3, 16)
    second = np.frombuffer(packed.data[128:224], np.float16).reshape(3, 16)
    assert first[:, 5].tolist() == [15, 16, 17]
    assert second[:, 1].tolist() == [51, 52, 53]
    assert not second[:, 2:].any()
    assert packed.data[96:128] == bytes(32)


def test_int8_panel_bytes() -> None:
    # K = 5, N = 17: two panels of two groups of four rows, the last three rows zero.
    w = np.arange(85, dtype=np.int8).reshape(5, 17)
    packed = pack_matmul(w)
    assert (packed.layout, packed.panel_stride, len(packed.data)) == (Layout.PANEL, 128, 256)
    groups = np.frombuffer(packed.data, np.int8).reshape(2, 2, 16, 4)
    assert groups[0, 0, 3].tolist() == [3, 20, 37, 54]
    assert groups[0, 1, 3].tolist() == [71, 0, 0, 0]
    assert groups[1, 0, 0].tolist() == [16, 33, 50, 67]
    assert not groups[1, :, 1:].any()
    assert pack_matmul(np.ascontiguousarray(w.T), transposed=True) == packed


def test_int8_depthwise_panel_bytes() -> None:
    # C = 17, 5 taps: rows of 16 channels as in every other dtype.
    w = np.arange(85, dtype=np.int8).reshape(17, 5, 1)
    packed = pack_conv(w, groups=17)
    assert (packed.layout, packed.panel_stride, len(packed.data)) == (Layout.DWPANEL, 128, 256)
    first = np.frombuffer(packed.data[:80], np.int8).reshape(5, 16)
    assert first[:, 2].tolist() == [10, 11, 12, 13, 14]
    assert packed.data[128] == 80


def test_four_bit_panel_bytes() -> None:
    # N = 2, K = 33: one panel of two groups of 32 rows, of which the second has one.
    w = (np.arange(66).reshape(2, 33) % 16).astype(DType.U4.numpy)
    packed = pack_blocks(w)
    assert (packed.layout, packed.panel_stride, len(packed.data)) == (Layout.PANEL, 512, 512)
    groups = np.frombuffer(packed.data, np.uint8).reshape(2, 4, 16, 4)
    # Row 4 j + i below, row 16 + 4 j + i above: these are equal modulo 16.
    assert groups[0, 1, 0].tolist() == [0x44, 0x55, 0x66, 0x77]
    assert groups[0, 0, 1].tolist() == [0x11, 0x22, 0x33, 0x44]
    assert groups[1, 0, :2, 0].tolist() == [0, 1]
    assert not groups[0, :, 2:].any()
    assert not groups[1, 1:].any()


@pytest.mark.parametrize("kind", [DType.I4, DType.U4])
@pytest.mark.parametrize("shape", [(1, 1), (17, 33), (16, 32), (5, 100)])
def test_four_bit_round_trip(shape: tuple[int, int], kind: DType, rng: np.random.Generator) -> None:
    low = -8 if kind is DType.I4 else 0
    w = rng.integers(low, low + 16, shape).astype(np.int8).astype(kind.numpy)
    back = unpack_blocks(pack_blocks(w), shape, w.dtype)
    assert back.dtype == w.dtype
    assert np.array_equal(back.view(np.uint8) & 15, w.view(np.uint8) & 15)


def test_one_channel_is_no_depthwise() -> None:
    assert pack_conv(np.ones((1, 3, 3, 1), np.float32), groups=1).layout is Layout.PANEL


def test_plain_is_padded_with_zeros() -> None:
    packed = pack_plain(np.array([1, 2, 3], np.float32), 16)
    assert packed.data == struct.pack("<16f", 1, 2, 3, *[0] * 13)
    assert pack_plain(np.array(2.0, np.float32)).data == struct.pack("<f", 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize(
    ("shape", "groups"),
    [((1, 1, 1), 1), ((16, 3, 3, 5), 1), ((33, 2, 7), 1), ((6, 3, 3, 4), 3), ((20, 3, 3, 1), 20),
     ((40, 5, 1), 20), ((31, 1, 3, 3, 2), 31)],
)  # fmt: skip
def test_conv_round_trip(
    shape: tuple[int, ...], groups: int, dtype: type[np.generic], rng: np.random.Generator
) -> None:
    w = (rng.standard_normal(shape) * 40).astype(dtype)
    packed = pack_conv(w, groups)
    assert len(packed.data) == packed_size(packed.layout, shape, groups, w.itemsize)
    assert packed.panel_stride % 64 == 0
    assert np.array_equal(unpack_conv(packed, shape, w.dtype), w)


@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (64, 16), (5, 48)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_matmul_round_trip(
    shape: tuple[int, int], transposed: bool, dtype: type[np.generic], rng: np.random.Generator
) -> None:
    w = (rng.standard_normal(shape) * 40).astype(dtype)
    packed = pack_matmul(w, transposed)
    back = unpack_matmul(packed, shape, w.dtype, transposed)
    assert np.array_equal(back, w)
    assert back.flags.c_contiguous


def test_stride_is_rounded() -> None:
    assert panel_stride(1, 4) == 64
    assert panel_stride(3, 2) == 128
    assert panel_stride(4, 2) == 128
