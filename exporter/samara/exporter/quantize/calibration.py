# SPDX-License-Identifier: Apache-2.0
"""Calibration: run a float program on samples in the runtime and collect statistics of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ir import Array, Program, Value, to_bytes
from samara.exporter.ir.records import records_of
from samara.exporter.quantize._calibration_data import read_samples
from samara.exporter.quantize._layers import TensorStats
from samara.exporter.quantize.observers import Histogram, MovingAverage, finite, thinned
from samara.exporter.types import QuantizationError, SamaraError
from samara.pybridge import Model, Session

# Samples that are kept for measuring afterwards.
_KEPT_SAMPLES: Final = 16
_KEPT_BYTES: Final = 64 << 20
# Statistics per channel are collected up to this number of channels.
_MAX_CHANNELS: Final = 1 << 16

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Statistics by tensor name, the first few samples, and the number of samples."""

    stats: Mapping[str, TensorStats]
    samples: tuple[Mapping[str, Array], ...]
    count: int


def fed_inputs(program: Program) -> tuple[Value, ...]:
    """The inputs of the default entry that callers give."""
    f = program.main
    return tuple(v for v in f.inputs if v.name not in f.reads)


def calibrate(
    program: Program,
    data: Any,
    tensors: Iterable[str],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Run the default entry on every sample and collect statistics of `tensors`.

    data: as for `read_samples`; an iterable is consumed once, and only a few samples are kept.
    Variables keep their values from sample to sample, as in a stream. progress("calibrate", samples
    done). QuantizationError if the data does not fit, or has no sample.
    """
    names = list(dict.fromkeys(tensors))
    inputs = {v.name for v in fed_inputs(program)}
    wanted = [n for n in names if n not in inputs]
    stats = {n: TensorStats(n, Histogram(), MovingAverage()) for n in names}
    # A tensor that leaves the function under another name is an output in the runtime.
    output_of = _output_names(program)
    keep = [n for n in wanted if n not in output_of]
    session = Session(
        Model(to_bytes(program)), function=program.entries[0], threads=threads, keep=keep
    )
    kept: list[Mapping[str, Array]] = []
    count, every = 0, 1
    for feeds in read_samples(data, fed_inputs(program), records_of(program)):
        try:
            outputs = session.run(feeds)
        except SamaraError as error:
            raise QuantizationError(
                f"the program does not run on calibration sample {count}: {error}",
                fix="give samples that the float program runs on",
            ) from error
        for name in names:
            if name in inputs:
                array = feeds[name]
            else:
                array = outputs[output_of[name]] if name in output_of else session.kept(name)
            observe(stats[name], array)
        if count % every == 0:
            kept.append(feeds)
            # Keep samples evenly: when there are too many, drop every second.
            bytes_kept = sum(a.nbytes for f in kept for a in f.values())
            if len(kept) > 1 and (len(kept) > _KEPT_SAMPLES or bytes_kept > _KEPT_BYTES):
                kept, every = kept[::2], 2 * every
        count += 1
        if progress is not None:
            progress("calibrate", count)
    if not count:
        raise QuantizationError(
            "there is no calibration sample", fix="give some typical inputs; 100 are plenty"
        )
    return Calibration(stats, tuple(kept), count)


def observe(stats: TensorStats, array: Array) -> None:
    """Add one sample of a tensor."""
    stats.forget()
    seen = finite(array)
    stats.samples += 1
    stats.count += array.size
    stats.nonfinite += array.size - seen.size
    if not seen.size:
        return
    lo, hi = float(seen.min()), float(seen.max())
    stats.minimum, stats.maximum = min(stats.minimum, lo), max(stats.maximum, hi)
    stats.moving.add(lo, hi)
    stats.histogram.add(thinned(seen))
    if seen.size == array.size:
        _observe_channels(stats, array)


def _observe_channels(stats: TensorStats, array: Array) -> None:
    channels = array.shape[-1] if array.ndim > 1 else 0
    first = stats.samples == 1
    if not channels or channels > _MAX_CHANNELS or (not first and not _same(stats, channels)):
        none = np.zeros(0)
        stats.channel_minimum = stats.channel_maximum = none
        stats.channel_sum = stats.channel_squares = none
        stats.rows = 0
        return
    rows = array.reshape(-1, channels)
    lo, hi = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
    total = rows.sum(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->j", rows, rows).astype(np.float64)
    if first:
        stats.channel_minimum, stats.channel_maximum = lo, hi
        stats.channel_sum, stats.channel_squares = total, squares
    else:
        stats.channel_minimum = np.minimum(stats.channel_minimum, lo)
        stats.channel_maximum = np.maximum(stats.channel_maximum, hi)
        stats.channel_sum = stats.channel_sum + total
        stats.channel_squares = stats.channel_squares + squares
    stats.rows += rows.shape[0]


def _same(stats: TensorStats, channels: int) -> bool:
    return len(stats.channel_sum) == channels


def _output_names(program: Program) -> dict[str, str]:
    f = program.main
    names: Sequence[str] = f.output_names or [v.name for v in f.outputs]
    return {
        v.name: n
        for i, (v, n) in enumerate(zip(f.outputs, names, strict=True))
        if i not in f.writes
    }
