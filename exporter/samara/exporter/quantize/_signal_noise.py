# SPDX-License-Identifier: Apache-2.0
"""Signal-to-noise ratios: how far the tensors of two programs differ on the same samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from samara.exporter.ir import Array, Program, Value, to_bytes
from samara.pybridge import Model, Session

_MOST: Final = 1 << 17  # elements of an array that are compared
_CEILING: Final = 100.0  # dB; differences beyond do not matter
GAIN: Final = 0.1  # dB that a change must gain over all samples
_LOSS: Final = 0.25  # dB that a change may cost a single output
_ENOUGH: Final = 16  # samples that decide by their halves alone
_LARGE: Final = 3.0  # dB over all folds that decide with fewer samples: half of the noise
_ERRORS: Final = 2.0  # standard errors that the mean gain of fewer samples must reach


@dataclass(slots=True)
class Noise:
    """Sums of squares of a reference, and of the differences from it."""

    signal: float = 0.0
    noise: float = 0.0

    def add(self, want: Array, got: Array) -> None:
        """Add two arrays. Elements that are not finite in the reference are left out; large arrays are read
        with a stride.
        """
        a, b = want.ravel(), got.ravel()
        if a.size > _MOST:
            step = a.size // _MOST | 1
            a, b = a[::step], b[::step]
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            fine = np.isfinite(a)
            a, b = a[fine], np.where(np.isfinite(b[fine]), b[fine], 0.0)
        # einsum, because BLAS starts threads for a product of vectors.
        self.signal += float(np.einsum("i,i->", a, a))
        difference = a - b
        self.noise += float(np.einsum("i,i->", difference, difference))

    @property
    def sqnr_db(self) -> float:
        """10 log10(signal / noise): inf without noise, 0 without signal."""
        if self.noise == 0:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal > 0 else 0.0

    @property
    def share(self) -> float:
        """Noise power divided by signal power."""
        return self.noise / self.signal if self.signal > 0 else float(self.noise > 0)


# The noise of the outputs by name, for every sample.
SampleNoise = Sequence[Mapping[str, Noise]]


class Probe:
    """A program in a session that keeps some of its tensors."""

    def __init__(self, program: Program, tensors: Iterable[str] = ()) -> None:
        main = program.main
        names = list(main.output_names) or [v.name for v in main.outputs]
        self.outputs = [n for i, n in enumerate(names) if i not in main.writes]
        self._renamed = {
            v.name: n
            for i, (v, n) in enumerate(zip(main.outputs, names, strict=True))
            if i not in main.writes
        }
        self._values: dict[str, Value] = {v.name: v for v in main.values()}
        inputs = {v.name for v in main.inputs}
        self.tensors = [n for n in dict.fromkeys(tensors) if n in self._values and n not in inputs]
        keep = [n for n in self.tensors if n not in self._renamed]
        self._session = Session(
            Model(to_bytes(program)), function=program.entries[0], threads=1, keep=keep
        )

    def run(self, feeds: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        """(outputs, kept tensors) as real numbers."""
        out = self._session.run(feeds)
        found = {}
        for name in self.tensors:
            array = out[self._renamed[name]] if name in self._renamed else self._session.kept(name)
            quant = self._values[name].type.quant
            if quant is not None and quant.is_per_tensor:
                array = (array.astype(np.float32) - quant.zero_point) * np.float32(quant.scale)
            found[name] = array
        return {n: out[n] for n in self.outputs}, found


def output_noise(
    reference: Sequence[Mapping[str, Array]],
    program: Program,
    samples: Sequence[Mapping[str, Array]],
) -> dict[str, Noise]:
    """The noise of the float outputs of `program` against the recorded ones, by name."""
    return pooled(sample_noise(reference, program, samples))


def sample_noise(
    reference: Sequence[Mapping[str, Array]],
    program: Program,
    samples: Sequence[Mapping[str, Array]],
) -> list[dict[str, Noise]]:
    """The noise of the float outputs against the recorded ones, by name, for every sample."""
    probe = Probe(program)
    found = []
    for want, feeds in zip(reference, samples, strict=True):
        got, _ = probe.run(feeds)
        noise = {n: Noise() for n, a in want.items() if a.dtype.kind == "f"}
        for name, own in noise.items():
            own.add(want[name], got[name])
        found.append(noise)
    return found


def reference_outputs(
    program: Program, samples: Sequence[Mapping[str, Array]]
) -> list[dict[str, Array]]:
    """The outputs of a program on every sample."""
    probe = Probe(program)
    return [probe.run(feeds)[0] for feeds in samples]


def worst_db(noise: Mapping[str, Noise]) -> float:
    """The SQNR of the worst output; inf if no output is float."""
    return min((n.sqnr_db for n in noise.values()), default=math.inf)


def joint_share(noise: Mapping[str, Noise]) -> float:
    """The largest share of noise among the outputs."""
    return max((n.share for n in noise.values()), default=0.0)


def pooled(folds: Iterable[Mapping[str, Noise]]) -> dict[str, Noise]:
    """The noise of all folds together, by name."""
    total: dict[str, Noise] = {}
    for fold in folds:
        for name, noise in fold.items():
            own = total.setdefault(name, Noise())
            own.signal += noise.signal
            own.noise += noise.noise
    return total


def gains(before: Sequence[SampleNoise], after: Sequence[SampleNoise], least: float = GAIN) -> bool:
    """Whether a change gains on held-out samples: on average over the outputs `least` dB over all folds and
    nothing lost in any fold, and no output loses more than 0.25 dB.

    With fewer than 16 samples the gain must also be 3 dB over all folds, or the mean gain of a sample at least two
    standard errors: where outputs depend on chance (near ties of a softmax), few samples gain by several dB what
    others lose.
    """
    whole = _rises(pooled(chain(*before)), pooled(chain(*after)))
    if not whole or min(whole) < -_LOSS or sum(whole) < least * len(whole):
        return False
    if any(loses(a, b) for a, b in zip(before, after, strict=True)):
        return False
    each = [np.mean(_rises(a, b)) for a, b in zip(chain(*before), chain(*after), strict=True)]
    if len(each) >= _ENOUGH or sum(whole) >= _LARGE * len(whole):
        return True
    error = float(np.std(each, ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else 0.0
    return float(np.mean(each)) >= _ERRORS * error


def loses(before: SampleNoise, after: SampleNoise) -> bool:
    """Whether a change loses on the samples of one fold, on average over the outputs."""
    return sum(_rises(pooled(before), pooled(after))) < 0


def _rises(before: Mapping[str, Noise], after: Mapping[str, Noise]) -> list[float]:
    """By how many dB every output rises."""
    return [
        min(after[n].sqnr_db, _CEILING) - min(noise.sqnr_db, _CEILING)
        for n, noise in before.items()
    ]
