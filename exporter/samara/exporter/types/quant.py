# SPDX-License-Identifier: Apache-2.0
"""Quantization parameters of a tensor: per tensor, per channel, or per block."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from samara.exporter.types.errors import QuantizationError

__all__ = ["Quant"]

_SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)


_LARGEST = float(np.finfo(np.float32).max)
_FLOAT32 = struct.Struct("<f")


def _float32(x: float) -> float:
    """x, at most _LARGEST, rounded to float32."""
    rounded: float = _FLOAT32.unpack(_FLOAT32.pack(x))[0]
    return rounded


@dataclass(frozen=True, slots=True)
class Quant:
    """real = (q - zero_point) * scale, with float32 scales and int8 zero points.

    Per tensor: `axis` is None, one scale. Per axis: `scales[i]` belongs to index i of `axis`.
    Per block: each run of `block` neighbours along `axis` shares a scale (the last run may be shorter).
    Scales have the tensor's shape with `axis` reduced to the number of blocks, flattened in C order.
    There are as many zero points as scales. Scales are Python floats that are exactly float32.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    block: int | None = None

    def __post_init__(self) -> None:
        if not self.scales or len(self.scales) != len(self.zero_points):
            raise QuantizationError(
                f"{len(self.scales)} scales with {len(self.zero_points)} zero points",
                fix="give each scale one zero point, and at least one of each",
            )
        for index, scale in enumerate(() if self._are_usable() else self.scales):
            if not (math.isfinite(scale) and scale >= _SMALLEST_NORMAL):
                raise QuantizationError(
                    f"scale {index} is {scale}, expected a finite positive normal float32",
                    fix="calibrate with data that is finite and not constantly zero",
                )
            # Compare with the largest float32 first, because numpy warns when rounding overflows.
            if scale > _LARGEST or float(np.float32(scale)) != scale:
                raise QuantizationError(
                    f"scale {index} is {scale!r}, which is not exactly a float32",
                    fix="build it with Quant.per_tensor, per_axis or per_block, which round",
                )
        for index, zero_point in enumerate(self.zero_points):
            if not -128 <= zero_point <= 127:
                raise QuantizationError(
                    f"zero point {index} is {zero_point}, expected -128 to 127",
                    fix="shift uint8 values and zero points by 128",
                )
        if self.axis is None and (self.block is not None or len(self.scales) != 1):
            raise QuantizationError(
                f"{len(self.scales)} scales without an axis", fix="name the axis they run along"
            )
        if self.axis is not None and self.axis < 0:
            raise QuantizationError(f"axis {self.axis} counts from the end", fix="add the rank")
        if self.block is not None and self.block < 1:
            raise QuantizationError(f"block size {self.block}, expected at least 1")

    def _are_usable(self) -> bool:
        """Whether all scales are right, which is found out faster for all at once than one by one."""
        if len(self.scales) == 1:
            scale = self.scales[0]
            return _SMALLEST_NORMAL <= scale <= _LARGEST and _float32(scale) == scale
        scales = np.array(self.scales, np.float64)
        with np.errstate(over="ignore"):
            exact = scales.astype(np.float32) == scales
        return bool((exact & (scales >= _SMALLEST_NORMAL) & (scales < np.inf)).all())

    @staticmethod
    def per_tensor(scale: float, zero_point: int = 0) -> Quant:
        """One scale, rounded to float32, for the whole tensor."""
        return Quant(_scales([scale]), (int(zero_point),))

    @staticmethod
    def per_axis(
        scales: npt.ArrayLike, axis: int, zero_points: Iterable[int] | None = None
    ) -> Quant:
        """A scale, rounded to float32, per index of `axis`; zero points are 0 unless given."""
        values = _scales(scales)
        return Quant(values, _zeros(zero_points, len(values)), axis)

    @staticmethod
    def per_block(
        scales: npt.ArrayLike, axis: int, block: int, zero_points: Iterable[int] | None = None
    ) -> Quant:
        """A scale, rounded to float32, per run of `block` along `axis` (order as in Quant)."""
        values = _scales(scales)
        return Quant(values, _zeros(zero_points, len(values)), axis, block)

    @property
    def is_per_tensor(self) -> bool:
        return self.axis is None

    @property
    def is_symmetric(self) -> bool:
        """Whether every zero point is 0."""
        return not any(self.zero_points)

    @property
    def scale(self) -> float:
        """The only scale; QuantizationError if there are several."""
        self._require_per_tensor()
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The only zero point; QuantizationError if there are several."""
        self._require_per_tensor()
        return self.zero_points[0]

    def scale_array(self) -> npt.NDArray[np.float32]:
        """The scales as a float32 vector."""
        return np.array(self.scales, dtype=np.float32)

    def zero_point_array(self) -> npt.NDArray[np.int32]:
        """The zero points as an int32 vector."""
        return np.array(self.zero_points, dtype=np.int32)

    def expected_count(self, shape: tuple[int, ...]) -> int:
        """The number of scales for a tensor of this shape."""
        if self.axis is None:
            return 1
        if self.axis >= len(shape):
            raise QuantizationError(f"axis {self.axis} of a tensor of rank {len(shape)}")
        if self.block is None:
            return shape[self.axis]
        blocks = -(-shape[self.axis] // self.block)
        return math.prod(shape[: self.axis]) * blocks * math.prod(shape[self.axis + 1 :])

    def with_axis(self, axis: int | None) -> Quant:
        """The same parameters along another axis, for a tensor with permuted dims."""
        return Quant(self.scales, self.zero_points, axis, self.block)

    def _require_per_tensor(self) -> None:
        if self.axis is not None:
            raise QuantizationError(
                f"one scale is needed, the tensor has {len(self.scales)} along axis {self.axis}"
            )

    def __str__(self) -> str:
        if self.axis is None:
            return f"scale={self.scales[0]:g}, zero_point={self.zero_points[0]}"
        text = f"{len(self.scales)} scales, axis={self.axis}"
        return text if self.block is None else f"{text}, block={self.block}"


def _scales(values: npt.ArrayLike) -> tuple[float, ...]:
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, dtype=np.float32)
    return tuple(float(value) for value in rounded.ravel())


def _zeros(zero_points: Iterable[int] | None, count: int) -> tuple[int, ...]:
    return (0,) * count if zero_points is None else tuple(int(z) for z in zero_points)
