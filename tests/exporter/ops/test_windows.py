# SPDX-License-Identifier: Apache-2.0
"""References of convolutions: blocks of windows against the sum over taps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samara.exporter.ops import windows
from samara.exporter.ops.numeric import Array


def _by_taps(
    x: Array,
    w: Array,
    strides: windows.Ints,
    dilations: windows.Ints,
    pads: windows.Ints,
    groups: int,
) -> Array:
    """The convolution of whole numbers, output channel by output channel."""
    kernel, depth, per = w.shape[1:-1], w.shape[-1], w.shape[0] // groups
    out = windows.out_sizes(x.shape[1:-1], kernel, strides, dilations, pads)
    y = np.zeros((x.shape[0], *out, w.shape[0]), x.dtype)
    padded = windows.padded(x, pads, 0.0)
    for position, part in windows.taps(padded, out, kernel, strides, dilations):
        for o, c in itertools.product(range(w.shape[0]), range(depth)):
            y[..., o] += part[..., o // per * depth + c] * w[(o, *position, c)]
    return y


@pytest.mark.parametrize("block", [1, 40, 1 << 22])
@pytest.mark.parametrize(
    ("sizes", "kernel", "strides", "dilations", "pads", "groups", "depth", "per"),
    [
        ((9,), (3,), (2,), (1,), (1, 0), 1, 5, 4),
        ((7, 6), (3, 2), (1, 2), (2, 1), (2, 1, 0, 1), 1, 3, 2),
        ((7, 6), (3, 2), (1, 2), (2, 1), (2, 1, 0, 1), 3, 2, 2),
        ((7, 6), (3, 3), (2, 1), (1, 1), (1, 1, 1, 1), 4, 1, 1),
        ((7, 6), (3, 3), (2, 1), (1, 1), (1, 1, 1, 1), 4, 1, 3),
        ((4, 5, 3), (2, 1, 3), (1, 2, 1), (1, 1, 1), (0, 0, 1, 1, 0, 1), 2, 2, 1),
    ],
)
def test_conv_in_blocks(
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    sizes: windows.Ints,
    kernel: windows.Ints,
    strides: windows.Ints,
    dilations: windows.Ints,
    pads: windows.Ints,
    groups: int,
    depth: int,
    per: int,
) -> None:
    monkeypatch.setattr(windows, "_BLOCK", block)
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (3, *sizes, groups * depth)).astype(np.float32)
    w = rng.integers(-9, 9, (groups * per, *kernel, depth)).astype(np.float32)
    got = windows.conv(x, w, strides=strides, dilations=dilations, pads=pads, groups=groups)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, _by_taps(x, w, strides, dilations, pads, groups))


@pytest.mark.parametrize(("batch", "size", "channels", "outputs"), [(0, 4, 2, 2), (1, 2, 2, 2)])
def test_conv_of_nothing(batch: int, size: int, channels: int, outputs: int) -> None:
    x, w = np.ones((batch, size, channels), np.float32), np.ones((outputs, 3, channels), np.float32)
    y = windows.conv(x, w, strides=(1,), dilations=(1,), pads=(0, 0), groups=1)
    assert y.shape == (batch, size - 2, outputs)
    assert not y.size
