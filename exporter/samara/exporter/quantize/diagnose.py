# SPDX-License-Identifier: Apache-2.0
"""Find faults of calibration data before they cost accuracy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ir import Array, Program, Value
from samara.exporter.ir.records import image_records_of
from samara.exporter.quantize._layers import Prepared, TensorStats
from samara.exporter.quantize.calibration import fed_inputs
from samara.exporter.types import QuantizationError

FEWEST: Final = 16  # examples below which the ranges depend on chance
_IMAGE_CHANNELS: Final = (2, 3, 4)
_IMAGE_SIDE: Final = 8
# Neighbours in an image are similar. If elements one channel count apart are this much more similar
# than neighbours, the memory holds channels where the shape says pixels.
_INTERLEAVED: Final = 0.6
_NARROW: Final = 1 / 16  # of the declared range: below it the data seems to have other units
_BEYOND: Final = 0.01  # of the declared range: tolerance for rounding
_METADATA: Final = "preprocessing"

Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of the calibration data. `kind` is "few", "constant", "range", "layout" or "finite"."""

    kind: str
    input: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.message}; {self.fix}"


def declared_ranges(
    program: Program, given: Ranges | None = None
) -> dict[str, tuple[float, float]]:
    """The range of each input: the given one, else that of the metadata entry "preprocessing", JSON
    {input: {"range": [lo, hi]}}, else the values that the input's record can make. QuantizationError
    for a name that is not an input, or limits that are not a range.
    """
    found: dict[str, tuple[float, float]] = {}
    try:
        stored = json.loads(program.metadata.get(_METADATA, "{}"))
    except ValueError:
        stored = {}
    if isinstance(stored, dict):
        for name, entry in stored.items():
            if isinstance(entry, dict) and "range" in entry:
                found[name] = _range(name, entry["range"])
    for name, record in image_records_of(program).items():
        found.setdefault(name, record.limits)
    names = [v.name for v in fed_inputs(program)]
    for name, limits in (given or {}).items():
        if name not in names:
            raise QuantizationError(
                f"a range is given for {name!r}, which is not an input",
                fix=f"inputs are {', '.join(names)}",
            )
        found[name] = _range(name, limits)
    return found


def _range(name: str, limits: Any) -> tuple[float, float]:
    try:
        lo, hi = (float(v) for v in limits)
    except (TypeError, ValueError):
        lo, hi = math.nan, math.nan
    if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
        raise QuantizationError(
            f"the declared range of {name!r} is {limits!r}", fix="give two numbers, the lower first"
        )
    return lo, hi


def diagnose(prepared: Prepared, ranges: Ranges | None = None) -> list[Finding]:
    """The faults of a program's calibration data; none without data."""
    if not prepared.sample_count:
        return []
    declared = declared_ranges(prepared.original, ranges)
    findings = _too_few(prepared)
    for v in fed_inputs(prepared.program):
        if not v.type.dtype.is_float:
            continue
        arrays = [s[v.name] for s in prepared.samples if v.name in s]
        stats = prepared.stats.get(v.name)
        for finding in (
            _not_finite(v, arrays, stats),
            _constant(v, arrays, stats, _is_state(prepared.program, v)),
            _out_of_range(v, arrays, stats, declared.get(v.name)),
            _wrong_layout(v, arrays),
        ):
            if finding is not None:
                findings.append(finding)
    return findings


def _is_state(program: Program, v: Value) -> bool:
    """Whether the program has an output of this shape too: then it may be a state that is fed back."""
    return any(o.type.shape == v.type.shape for o in program.main.outputs)


def examples_of(prepared: Prepared) -> int:
    """The number of examples in calibration. Samples whose inputs share a leading batch axis hold many."""
    inputs = fed_inputs(prepared.program)
    batches = [v for v in inputs if v.type.rank > 1 and not v.type.shape[0].is_static]
    if not batches or not prepared.samples:
        return prepared.sample_count
    sizes = [s[batches[0].name].shape[0] for s in prepared.samples if batches[0].name in s]
    mean: float = sum(sizes) / max(1, len(sizes))
    return round(mean * prepared.sample_count)


def _too_few(prepared: Prepared) -> list[Finding]:
    count = examples_of(prepared)
    if count >= FEWEST:
        return []
    return [
        Finding(
            "few",
            "",
            f"too few calibration samples: {count}, ranges settle at {FEWEST} or more",
            "give 100 or so that look like what the model will see",
        )
    ]


def _not_finite(v: Value, arrays: Sequence[Array], stats: TensorStats | None) -> Finding | None:
    bad = (
        stats.nonfinite if stats is not None else sum(int((~np.isfinite(a)).sum()) for a in arrays)
    )
    if not bad:
        return None
    return Finding(
        "finite",
        v.name,
        f"{bad} values of input {v.name!r} are NaN or infinite",
        "look at what makes the samples: a division by zero, an uninitialised array",
    )


def _constant(
    v: Value, arrays: Sequence[Array], stats: TensorStats | None, state: bool
) -> Finding | None:
    if state or not arrays:
        return None
    lo, hi = _extremes(arrays, stats)
    if hi - lo <= 1e-6 * max(abs(lo), abs(hi)):
        return Finding(
            "constant",
            v.name,
            f"input {v.name!r} is constant, {lo:g} in every sample",
            "give real inputs: zeros or ones exercise no range at all",
        )
    same = len(arrays) > 1 and all(
        a.shape == arrays[0].shape and np.array_equal(a, arrays[0]) for a in arrays[1:]
    )
    if same:
        return Finding(
            "constant",
            v.name,
            f"input {v.name!r} is the same in every sample",
            "give different samples",
        )
    return None


def _extremes(arrays: Sequence[Array], stats: TensorStats | None) -> tuple[float, float]:
    if stats is not None and stats.samples:
        return stats.minimum, stats.maximum
    return min(float(a.min()) for a in arrays if a.size), max(
        float(a.max()) for a in arrays if a.size
    )


def _out_of_range(
    v: Value,
    arrays: Sequence[Array],
    stats: TensorStats | None,
    declared: tuple[float, float] | None,
) -> Finding | None:
    if declared is None or not any(a.size for a in arrays):
        return None
    lo, hi = _extremes(arrays, stats)
    width = declared[1] - declared[0]
    text = f"{declared[0]:g} to {declared[1]:g}"
    if lo < declared[0] - _BEYOND * width or hi > declared[1] + _BEYOND * width:
        return Finding(
            "range",
            v.name,
            f"input {v.name!r} holds {lo:g} to {hi:g}, declared is {text}",
            "prepare the samples as the model's inputs are: scale, mean and deviation",
        )
    if hi - lo < _NARROW * width and hi - lo > 0:
        return Finding(
            "range",
            v.name,
            f"input {v.name!r} holds only {lo:g} to {hi:g} of the declared {text}",
            "the samples seem to be in other units: scale them as the model's inputs are",
        )
    return None


def _wrong_layout(v: Value, arrays: Sequence[Array]) -> Finding | None:
    """Images [N, C, H, W] (or [N, H, W, C]) whose memory was filled in the other order."""
    if v.type.rank != 4 or not arrays:
        return None
    shape = arrays[0].shape
    planar = shape[1] in _IMAGE_CHANNELS and min(shape[2:]) >= _IMAGE_SIDE
    packed = shape[3] in _IMAGE_CHANNELS and min(shape[1:3]) >= _IMAGE_SIDE
    if planar == packed:
        return None
    channels = shape[1] if planar else shape[3]
    ratios = [_likeness(a, channels, planar) for a in arrays if a.shape[1:] == shape[1:] and a.size]
    if not ratios or not np.median(ratios) < _INTERLEAVED:
        return None
    here, there = ("NCHW", "NHWC") if planar else ("NHWC", "NCHW")
    return Finding(
        "layout",
        v.name,
        f"input {v.name!r} is {here}, but the samples look like {there} in memory",
        "transpose them (numpy.transpose), do not reshape them",
    )


def _likeness(images: Array, channels: int, planar: bool) -> float:
    """The similarity of neighbours if memory were filled in the other order, divided by that in the order
    of the shape.
    """
    n = images.shape[0]
    flat = images.astype(np.float64).reshape(n, -1)
    if planar:  # as [H, W, C]: neighbours lie a channel count apart
        here, there = _step(flat, 1), _step(flat, channels)
    else:  # as [C, H, W]: neighbours lie side by side
        here, there = _step(flat, channels), _step(flat, 1)
    return there / here if here > 0 else 1.0


def _step(flat: Array, lag: int) -> float:
    return float(np.mean(np.abs(flat[:, lag:] - flat[:, :-lag])))
