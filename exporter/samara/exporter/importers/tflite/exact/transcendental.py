# SPDX-License-Identifier: Apache-2.0
"""gemmlowp's functions on fixed-point numbers, over whole arrays: what tables are made of.

A number with i integer bits is stored as x * 2^(width - 1 - i).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite.exact.fixed_point import divided, half_away

Integers = npt.NDArray[np.int64]


class Fixed16or32:
    """Arithmetic of one width; results saturate as the kernels' types do."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.most = (1 << (width - 1)) - 1

    def number(self, real: float, integer_bits: int = 0) -> int:
        """A constant. It is rounded from its 32-bit form, as the kernels do."""
        wide = min(half_away(real * 2 ** (31 - integer_bits)), (1 << 31) - 1)
        if self.width == 32:
            return wide
        return min(int(divided(wide, 16)), self.most)

    def held(self, x: Any) -> Integers:
        return np.clip(np.asarray(x, np.int64), -self.most - 1, self.most)

    def times(self, a: Any, b: Any) -> Integers:
        """The high half of twice a product, rounded with halves up."""
        product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
        return self.held((product + (1 << (self.width - 2))) >> (self.width - 1))

    def shifted(self, x: Any, power: int) -> Integers:
        """x * 2^power: saturated to the left, rounded with halves away from zero to the right."""
        x = np.asarray(x, np.int64)
        return self.held(x << power) if power >= 0 else divided(x, -power)

    # ---- functions

    def exp_of_negative(self, x: Any, integer_bits: int) -> Integers:
        """exp(x) for x <= 0, without integer bits."""
        x = np.asarray(x, np.int64)
        fraction = self.width - 1 - integer_bits
        quarter = 1 << (fraction - 2)
        inner = (x & (quarter - 1)) - quarter
        result = self._exp_near_zero(self.shifted(inner, integer_bits))
        rest = inner - x
        for power in range(-2, integer_bits):
            if power > 4:
                break
            factor = self.number(math.exp(-(2.0**power)))
            bit = (rest >> (fraction + power)) & 1
            result = np.where(bit != 0, self.times(result, factor), result)
        if integer_bits > 5:
            result = np.where(x < -(1 << (fraction + 5)), 0, result)
        return np.where(x == 0, self.most, result)

    def _exp_near_zero(self, x: Integers) -> Integers:
        """exp on [-1/4, 0): a Taylor series of degree 4 around -1/8."""
        y = x + (1 << (self.width - 4))
        y2 = self.times(y, y)
        y3, y4 = self.times(y2, y), self.times(y2, y2)
        third = self.number(1 / 3)
        tail = self.shifted(self.times(self.shifted(y4, -2) + y3, third) + y2, -1)
        first = self.number(math.exp(-1 / 8))
        return self.held(first + self.times(first, y + tail))

    def _half_sum_with_one(self, x: Any) -> Integers:
        total = np.asarray(x, np.int64) + self.most
        return np.where(total >= 0, (total + 1) >> 1, -((1 - total) >> 1))

    def _newton(self, x: Any) -> Integers:
        """1 / ((1 + x) / 2) for x in [0, 1], with 2 integer bits: three steps from 48/17 - 32/17 d."""
        half = self._half_sum_with_one(x)
        y = self.held(self.number(48 / 17, 2) + self.times(half, self.number(-32 / 17, 2)))
        one = 1 << (self.width - 3)
        for _ in range(3):
            rest = one - self.times(half, y)
            y = self.held(y + self.shifted(self.times(y, rest), 2))
        return y

    def reciprocal(self, x: Any) -> Integers:
        """1 / (1 + x) for x in [0, 1], without integer bits."""
        return self.shifted(self._newton(x), 1)

    def logistic(self, x: Any, integer_bits: int) -> Integers:
        """1 / (1 + exp(-x)), without integer bits."""
        x = np.asarray(x, np.int64)
        exp = self.exp_of_negative(-np.abs(x), integer_bits)
        positive = self.reciprocal(exp)
        result = np.where(x > 0, positive, self.most - positive)
        return np.where(x == 0, self.number(0.5), result)

    def tanh(self, x: Any, integer_bits: int) -> Integers:
        """tanh(x), without integer bits."""
        x = np.asarray(x, np.int64)
        exp = self.exp_of_negative(-np.abs(x), integer_bits + 1)
        one = 1 << (self.width - 3)
        positive = self.shifted(self._newton(exp) - one, 2)
        return np.where(x == 0, 0, np.where(x > 0, positive, -positive))


NARROW = Fixed16or32(16)
WIDE = Fixed16or32(32)
