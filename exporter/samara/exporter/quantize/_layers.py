# SPDX-License-Identifier: Apache-2.0
"""What calibration observed and quantization chose for each layer; reports and searches use it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from samara.exporter.ir import Array, Program
from samara.exporter.quantize.observers import (
    Histogram,
    MovingAverage,
    Range,
    parse_observer,
    range_of,
)
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.types import Quant

Floats = npt.NDArray[np.float64]

# What "auto" settings are before any sample was held out.
PLAIN: Final = Recipe(observer="minmax", equalize=False, bias_correction=False)


@dataclass(slots=True)
class TensorStats:
    """Statistics of one float tensor of the entry function, from calibration.

    `channel_minimum`, `channel_maximum`, `channel_sum` and `channel_squares` (sum of squares) are per
    index of the last axis (empty if that axis changes its size or has too many indices); `rows` is the
    number of values per index. `histogram` counts values (a regular subset for large tensors);
    `minimum` and `maximum` cover all finite values.
    """

    name: str
    histogram: Histogram
    moving: MovingAverage
    samples: int = 0
    count: int = 0
    nonfinite: int = 0
    minimum: float = np.inf
    maximum: float = -np.inf
    rows: int = 0
    channel_minimum: Floats = field(default_factory=lambda: np.zeros(0))
    channel_maximum: Floats = field(default_factory=lambda: np.zeros(0))
    channel_sum: Floats = field(default_factory=lambda: np.zeros(0))
    channel_squares: Floats = field(default_factory=lambda: np.zeros(0))
    _ranges: dict[str, Range] = field(default_factory=dict)

    def forget(self) -> None:
        """New values were observed: ranges must be chosen again."""
        self._ranges.clear()

    def range_by(self, observer: str) -> Range:
        """The range that the observer of that name chooses; cached, because searches ask often."""
        if observer not in self._ranges:
            extremes = (self.minimum, self.maximum)
            name = parse_observer(observer)
            self._ranges[observer] = range_of(name, self.histogram, extremes, self.moving.range())
        return self._ranges[observer]

    def followed_by(self, other: TensorStats) -> TensorStats:
        """The statistics of these samples and then those of `other`; both stay as they are."""
        made = copy.deepcopy(self)
        made.forget()
        made.histogram.merge(other.histogram)
        made.moving.merge(other.moving)
        made.samples += other.samples
        made.count += other.count
        made.nonfinite += other.nonfinite
        made.minimum = min(self.minimum, other.minimum)
        made.maximum = max(self.maximum, other.maximum)
        if not self.rows or not other.rows or len(self.channel_sum) != len(other.channel_sum):
            made.without_channels()
            return made
        made.rows += other.rows
        made.channel_minimum = np.minimum(self.channel_minimum, other.channel_minimum)
        made.channel_maximum = np.maximum(self.channel_maximum, other.channel_maximum)
        made.channel_sum = self.channel_sum + other.channel_sum
        made.channel_squares = self.channel_squares + other.channel_squares
        return made

    def without_channels(self) -> None:
        """Give up the statistics per channel."""
        none = np.zeros(0)
        self.channel_minimum = self.channel_maximum = none
        self.channel_sum = self.channel_squares = none
        self.rows = 0

    @property
    def channel_mean(self) -> Floats:
        """The mean per index of the last axis."""
        return self.channel_sum / max(1, self.rows)

    def saturation(self, quant: Quant) -> float:
        """The fraction of observed values outside the range of `quant`."""
        lo = (-128 - quant.zero_point) * quant.scale
        hi = (127 - quant.zero_point) * quant.scale
        # Values that round to the last step are inside; bins count at their centres.
        slack = quant.scale / 2 + self.histogram.width
        return self.histogram.outside(lo - slack, hi + slack)


@dataclass(frozen=True, slots=True)
class RangeRecord:
    """The range of an activation, and the quantization parameters that follow from it.

    `shared_with` are other tensors that must have the same parameters (concat, reshape, …).
    """

    tensor: str
    observer: str
    lo: float
    hi: float
    quant: Quant
    shared_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WeightRecord:
    """A constant in fewer bits. `kind` says how: "int8 per channel", "int4 in blocks of 32", ….
    `sqnr_db` is the signal-to-noise ratio of the stored values alone.
    """

    tensor: str
    stored_as: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    bytes_before: int
    bytes_after: int
    sqnr_db: float
    dead_channels: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """One node of the float program, under its name in recipes.

    `scheme` is what was done with it ("float": unchanged), `reason` why that differs from the recipe,
    or a remark. `output` is the tensor at which its result is observed: its own, or that of the clamp
    behind it. `quantized` is the int8 tensor with that result in the quantized program, None if the
    result stays float.
    """

    name: str
    op: str
    scheme: str
    inputs: tuple[str, ...]
    output: str
    quantized: str | None = None
    reason: str = ""
    ranges: tuple[RangeRecord, ...] = ()
    weights: tuple[WeightRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A float program ready for quantization, with its calibration statistics. Recipes are tried on it.

    `program` is the optimized float program (its clamps still separate), `original` the user's program.
    `samples` are a few feeds, kept for measuring. `notes` are sentences for the report. `recipe` holds what
    "auto" came to. `folds` were each prepared from a part of the samples; their `samples` are others.
    `equalizes`: the recipe asked for equalization, or it was tried and gained nothing.
    """

    original: Program
    program: Program
    stats: Mapping[str, TensorStats]
    samples: tuple[Mapping[str, Array], ...]
    sample_count: int
    notes: tuple[str, ...] = ()
    recipe: Recipe = field(default_factory=lambda: PLAIN)
    folds: tuple[Prepared, ...] = ()
    equalizes: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """A recipe carried out on a Prepared: the program with integer operators, and its layers.

    `simulated` is the program before clusters became integer operators: the float program with
    quantize and dequantize in it, in which every float tensor still has its name (`.f32` is appended
    to that of the rounded one). Both have the inputs and outputs of the float program, whatever the
    recipe says of them, so that they can be compared with it.
    """

    prepared: Prepared
    recipe: Recipe
    program: Program
    simulated: Program
    layers: tuple[LayerRecord, ...]
    notes: tuple[str, ...] = ()
