# SPDX-License-Identifier: Apache-2.0
"""The hash FNV-1a of many bytes at once."""

from __future__ import annotations

import functools
from typing import Final

import numpy as np

from samara.exporter.ir.program import Array

OFFSET: Final = 0xCBF29CE484222325
PRIME: Final = 0x100000001B3
_MODULUS: Final = 1 << 64
_LANES: Final = 8  # bytes of a word: a prefix sum over words advances so many runs at once
_BLOCK: Final = 1 << 15  # bytes, few enough for a cache


def fnv1a(data: bytes | bytearray | memoryview) -> int:
    """FNV-1a, 64 bits.

    Each byte b makes (h ^ b) * PRIME of the hash h. The xor changes only the low byte of h, by a difference that the
    low byte and b determine, so h is linear in these differences: sum(difference[i] * PRIME^(n - i)) + h * PRIME^n.
    """
    size = len(data)
    padded = np.zeros(-(-size // _LANES) * _LANES, np.uint8)
    padded[:size] = np.frombuffer(data, np.uint8)
    powers = _powers()
    value = OFFSET
    for start in range(0, padded.size, _BLOCK):
        block = padded[start : start + _BLOCK]
        factors = powers[powers.size - block.size :]
        differences = _differences(block, value & 0xFF).astype(np.uint64)
        value = (value * int(factors[0]) + int(differences @ factors)) % _MODULUS
    # A byte 0 multiplies the hash by PRIME.
    return value * pow(PRIME, size - padded.size, _MODULUS) % _MODULUS


@functools.cache
def _powers() -> Array:
    """PRIME^_BLOCK … PRIME^1, modulo 2^64."""
    return np.multiply.accumulate(np.full(_BLOCK, PRIME, np.uint64))[::-1]


def _differences(data: Array, low: int) -> Array:
    """(l ^ b) - l for each byte b of `data`, where l is the low byte of the hash before b; `low` is the first.

    The next l is (l ^ b) * 0xB3 modulo 256. As 0xB3 is odd, bit k of it is bit k of l ^ b, plus a carry from the bits
    below. So bit k of all l is a prefix sum modulo 2, once the lower bits are known. The prefix sums run over
    _LANES parts of the data side by side.
    """
    lanes = np.ascontiguousarray(data.reshape(_LANES, -1).T)  # [n / lanes, lanes]
    mixed = np.zeros_like(lanes)  # the known bits of l ^ b
    own = np.empty_like(lanes)
    for k in range(8):
        bit = np.uint8(1 << k)
        flips = ((mixed * np.uint8(PRIME & 0xFF)) ^ lanes) & bit
        sums = np.bitwise_xor.accumulate(flips.view(np.uint64)).view(np.uint8).reshape(lanes.shape)
        first = np.array([low & int(bit), *sums[-1, :-1]], np.uint8)
        own[0] = np.bitwise_xor.accumulate(first)
        own.view(np.uint64)[1:] = sums.view(np.uint64)[:-1] ^ own.view(np.uint64)[0]
        mixed |= own ^ (lanes & bit)
    return np.asarray((mixed.astype(np.int16) - (mixed ^ lanes)).T.reshape(-1))
