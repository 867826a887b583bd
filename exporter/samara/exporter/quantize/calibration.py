# SPDX-License-Identifier: Apache-2.0
"""Calibration: run a float program on samples in the runtime and collect statistics of its tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ir import Array, Program, Value, to_bytes
from samara.exporter.ir.records import records_of
from samara.exporter.quantize._calibration_data import read_samples
from samara.exporter.quantize._layers import Floats, TensorStats
from samara.exporter.quantize.observers import Histogram, MovingAverage, finite, thinned
from samara.exporter.types import QuantizationError, SamaraError
from samara.pybridge import Model, Session

# Samples that are kept for measuring afterwards.
_KEPT_SAMPLES: Final = 16
_KEPT_BYTES: Final = 64 << 20
# Statistics per channel are collected up to this number of channels.
_MAX_CHANNELS: Final = 1 << 16
_WIDE: Final = 2048  # elements of a row that is long enough

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Statistics by tensor name, a few of the samples, and the number of samples. outputs: of the program on every
    sample, if they were wanted.
    """

    stats: Mapping[str, TensorStats]
    samples: tuple[Mapping[str, Array], ...]
    count: int
    outputs: tuple[Mapping[str, Array], ...] = ()

    def followed_by(self, other: Calibration) -> Calibration:
        """Statistics of the same tensors over these samples and then those of `other`, without outputs."""
        stats = {n: s.followed_by(other.stats[n]) for n, s in self.stats.items()}
        return Calibration(stats, self.samples + other.samples, self.count + other.count)


class _Kept:
    """A few samples, evenly spaced: when there are too many, every second is dropped."""

    def __init__(self) -> None:
        self.samples: list[Mapping[str, Array]] = []
        self._seen, self._every = 0, 1

    def add(self, feeds: Mapping[str, Array]) -> None:
        """Keep the sample or not."""
        if self._seen % self._every == 0:
            self.samples.append(feeds)
            size = sum(a.nbytes for f in self.samples for a in f.values())
            many = len(self.samples) > _KEPT_SAMPLES or size > _KEPT_BYTES
            if many and len(self.samples) > 1:
                self.samples, self._every = self.samples[::2], 2 * self._every
        self._seen += 1


def fed_inputs(program: Program) -> tuple[Value, ...]:
    """The inputs of the default entry that callers give."""
    f = program.main
    return tuple(v for v in f.inputs if v.name not in f.reads)


def calibrate(
    program: Program,
    data: Any,
    tensors: Iterable[str],
    *,
    before: Calibration | None = None,
    outputs: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Run the default entry on every sample and collect statistics of `tensors`.

    data: as for `read_samples`; an iterable is consumed once, and only a few samples are kept.
    Variables keep their values from sample to sample, as in a stream. before: statistics that the first
    `before.count` samples gave, in a program without variables whose tensors of these names have the same values;
    these samples are only observed for other tensors. outputs: whether outputs are kept. progress("calibrate",
    samples done). QuantizationError if the data does not fit, or has no sample.
    """
    names = list(dict.fromkeys(tensors))
    inputs = {v.name for v in fed_inputs(program)}
    known = {} if before is None else before.stats
    first = 0 if before is None else before.count
    stats = {
        n: copy.deepcopy(known[n]) if n in known else TensorStats(n, Histogram(), MovingAverage())
        for n in names
    }
    # A tensor that leaves the function under another name is an output in the runtime.
    output_of = _output_names(program)
    keep = [n for n in names if n not in inputs and n not in output_of]
    session = Session(
        Model(to_bytes(program)), function=program.entries[0], threads=threads, keep=keep
    )
    kept, recorded = _Kept(), []
    count = 0
    for feeds in read_samples(data, fed_inputs(program), records_of(program)):
        wanted = names if count >= first else [n for n in names if n not in known]
        if wanted or outputs:
            found = _run(session, feeds, count)
            if outputs:
                recorded.append(found)
        for name in wanted:
            if name in inputs:
                array = feeds[name]
            else:
                array = found[output_of[name]] if name in output_of else session.kept(name)
            observe(stats[name], array)
        kept.add(feeds)
        count += 1
        if progress is not None:
            progress("calibrate", count)
    if not count:
        raise QuantizationError(
            "there is no calibration sample", fix="give some typical inputs; 100 are plenty"
        )
    return Calibration(stats, tuple(kept.samples), count, tuple(recorded))


def _run(session: Session, feeds: Mapping[str, Array], number: int) -> dict[str, Array]:
    try:
        return session.run(feeds)
    except SamaraError as error:
        raise QuantizationError(
            f"the program does not run on calibration sample {number}: {error}",
            fix="give samples that the float program runs on",
        ) from error


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
        stats.without_channels()
        return
    count = array.size // channels
    # NumPy reduces long rows faster, so several rows are put side by side.
    beside = next(k for k in range(max(1, min(64, _WIDE // channels)), 0, -1) if count % k == 0)
    rows = array.reshape(-1, beside * channels)

    def folded(values: Array) -> Floats:
        return values.astype(np.float64).reshape(beside, channels)

    lo, hi = folded(rows.min(axis=0)).min(axis=0), folded(rows.max(axis=0)).max(axis=0)
    total = folded(rows.sum(axis=0, dtype=np.float64)).sum(axis=0)
    squares = folded(np.einsum("ij,ij->j", rows, rows)).sum(axis=0)
    if first:
        stats.channel_minimum, stats.channel_maximum = lo, hi
        stats.channel_sum, stats.channel_squares = total, squares
    else:
        stats.channel_minimum = np.minimum(stats.channel_minimum, lo)
        stats.channel_maximum = np.maximum(stats.channel_maximum, hi)
        stats.channel_sum = stats.channel_sum + total
        stats.channel_squares = stats.channel_squares + squares
    stats.rows += count


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
