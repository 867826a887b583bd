# SPDX-License-Identifier: Apache-2.0
"""Whether a pass kept the answers: the program runs before and after it on sample inputs.

A pass that rounds nothing is judged by the outputs, number by number (`difference`).

Where tensors are rounded to few bits that is wrong twice. Float32 sums in another order, or integer
operators in the place of float ones, put a number that lies near the middle of two steps on the other
one: rightly so, and rarely. But each such step moves everything behind it, so that through fifty
layers the outputs of two right programs differ by several steps; how many depends on the net. And a
wrong zero point in the middle of a net, which moves *every* number of one tensor by a step, does no
more harm at the outputs than that. No bound on the outputs lets the one through and stops the other.

So such a pass is judged tensor by tensor. The run before it records every quantized tensor. The run
after it compares each quantized tensor of the same name and form, and then goes on with the recorded
one: what is compared is what one part of the net does to equal inputs, whatever its depth. What
rounding may do there is known (`moved`). Parts without such a tensor in common are bounded by the
program's own sensitivity: by what rounding noise alone does to the outputs (`_noise`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.interpret import Watch, run
from samara.exporter.ir.program import Array, Function, Program, Value
from samara.exporter.passes._pass import Pass
from samara.exporter.passes._samples import sample_inputs
from samara.exporter.types import SamaraError

__all__ = ["Checker", "Verdict", "checker_of", "difference", "moved"]

# The share of numbers that may move by a step. Sums of few quantized numbers lie in the middle of two
# steps half the time; the last bit of a float32 then decides, which is right half the time. That is
# also the share that an error as large as the rounding's own moves: the mean of |e| over -1/2..1/2.
# Counted over n numbers, a share is off by chance; a limit adds so many standard deviations.
_SHARE, _DEVIATIONS, _DEVIATIONS_OF_CHANNELS = 0.25, 3.0, 4.0
_MOST = 0.5  # that of two roundings; a wrong zero point moves all
# Numbers that may move by more than one step, but by no more than two: two roundings may fall together.
_FAR = 1e-3
# The root mean square, in steps, of the noise that one rounding adds by that share.
_NOISE_OF_ONE = _SHARE**0.5
# Runs with rounding noise: the outputs of a small net are few, and so is what one run says of them.
_NOISY_RUNS = 3

Answers = list[dict[str, dict[str, Array]]]  # per sample: {entry: outputs}
Recorded = dict[tuple[str, int, str], tuple[Value, Array]]  # by function, execution, name


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far a pass moved the answers, in tolerances (1.0 = at it), where, and the new answers.

    by_parts: equal parts were compared, whose small differences may add up in the new answers: they
    are the ones to keep from here on.
    """

    difference: float
    where: str
    answers: Answers
    by_parts: bool = False

    @property
    def holds(self) -> bool:
        return self.difference <= 1.0


@dataclass(slots=True)
class Checker:
    """Sample inputs, and the answers to keep on them."""

    samples: list[dict[str, Mapping[str, Array]]]  # per sample: {entry: feeds}
    reference: Answers = field(default_factory=list)

    def afresh(self, program: Program) -> Checker:
        """The same samples with the answers of another program to keep."""
        answers = [
            {e: run(program, dict(f), function=e) for e, f in s.items()} for s in self.samples
        ]
        return Checker(self.samples, answers)

    def judge(self, step: Pass, before: Program, after: Program) -> Verdict:
        """Compare a program with the one that the pass made of it."""
        answers: Answers = []
        for sample in self.samples:
            answers.append({})
            for entry, feeds in sample.items():
                try:
                    answers[-1][entry] = run(after, dict(feeds), function=entry)
                except SamaraError as error:
                    return Verdict(float("inf"), f"{entry}: {error}", answers)
        worst, where = 0.0, ""
        for got, want in zip(answers, self.reference, strict=True):
            for entry, name, a, b in _pairs(got, want):
                d = difference(a, b)
                if not d <= worst:
                    worst, where = d, _output(entry, name, before)
        if step.steps == 0 and (worst <= 1.0 or not _rounds(before)):
            return Verdict(worst, where, answers)
        worst, where = 0.0, ""
        for sample in self.samples:
            for entry, feeds in sample.items():
                d, at = _by_parts(before, after, entry, feeds, max(step.steps, 1))
                if not d <= worst:
                    worst, where = d, at
        return Verdict(worst, where, answers, True)


def checker_of(
    program: Program, samples: Sequence[Mapping[str, Array]] | None
) -> tuple[Checker | None, str]:
    """A checker, or why there is none. Samples are inputs of the default entry; where there are
    none, and for the other entries, inputs are drawn.
    """
    given = [dict(s) for s in samples or ()]
    default = program.entries[0]
    feeds: list[dict[str, Mapping[str, Array]]] = [{default: s} for s in given] or [{}]
    for name in program.entries:
        if given and name == default:
            continue
        drawn = sample_inputs(program, name)
        if drawn is None:
            return None, (
                f"no sizes were found for the symbolic dims of {name!r} that run; the check runs on"
                " golden inputs where they are given"
            )
        feeds[0][name] = drawn
    try:
        return Checker(feeds).afresh(program), ""
    except SamaraError as error:
        return None, (
            f"the program does not run on the samples: {error.message}; the check runs on golden"
            " inputs where they are given"
        )


# ---- numbers


def difference(got: Array, want: Array, steps: int = 0) -> float:
    """Largest |got - want| over 1e-4 + 1e-3 |want| + 2e-5 range(want); integers must be equal (inf
    when not), NaN meets NaN.

    steps: of answers that depend on roundings to 8 bits, the root mean square of |got - want| over
    that many steps instead: of 1 for bytes, of 1/255 of the range for floats.
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if want.dtype.kind != "f" and steps:
        return _stepwise(got.astype(np.float64), want.astype(np.float64), want, steps, 0.0)
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else float("inf")
    if want.size == 0:
        return 0.0
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    finite = b[np.isfinite(b)]
    span = float(finite.max() - finite.min()) if finite.size else 0.0
    slack = (20.0 if want.dtype == np.float16 else 1.0) * (1e-4 + 1e-3 * np.abs(b) + 2e-5 * span)
    if steps:
        return _stepwise(a, b, want, steps, slack)
    with np.errstate(invalid="ignore"):
        ratio = np.where(same, 0.0, np.abs(a - b) / slack)
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio)))


def _stepwise(a: Array, b: Array, want: Array, steps: int, slack: Array | float) -> float:
    """The root mean square of a difference that comes from roundings, over what `steps` steps of
    8 bits make; numbers that count or choose are not judged, for they may jump.
    """
    if want.dtype.kind == "f":
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return float("inf")
        a, b = a[finite], b[finite]
        slack = np.broadcast_to(slack, want.shape)[finite]
        unit: Array | float = slack + steps * (float(np.ptp(b)) if b.size else 0.0) / 255
    elif want.dtype.itemsize == 1 and want.dtype.kind in "iu":
        unit = float(steps)
    else:
        return 0.0
    return float(np.sqrt(np.mean(((a - b) / unit) ** 2))) if a.size else 0.0


def moved(got: Array, want: Array, steps: int = 1, roundings: int = 1) -> float:
    """How far a quantized tensor, made of equal inputs in two ways, is from being rounded otherwise.

    1.0 is at the limit: a quarter of the numbers moved, in the tensor and in each channel (its last
    axis), beside what chance adds; one number in a thousand by more than `steps`; any by twice as
    much. A right pass stays below, as measured: a share of 0.03, of 0.12 where half of all numbers
    lie in the middle of two steps, and one step. A wrong zero point moves all numbers, and in the
    layer that reads it each channel by its own share; a wrong scale or a missing clamp moves some far.
    Numbers at the ends of the tensor's range that stayed there were clamped and say nothing.

    roundings: how many lie between the equal inputs and this tensor, each allowed its quarter.
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    d = np.abs(got.astype(np.int64) - want.astype(np.int64))
    if not d.any():
        return 0.0
    told = (d > 0) | ((want != want.min()) & (want != want.max()))
    quarters = min(_SHARE * roundings, _MOST)
    share = _share(d > 0, told, None, quarters, _DEVIATIONS)
    if d.ndim > 1:
        across = tuple(range(d.ndim - 1))
        share = max(share, _share(d > 0, told, across, quarters, _DEVIATIONS_OF_CHANNELS))
    far = float((d > steps).sum()) / (1 + _FAR * int(told.sum()))
    return max(share, far, float(d.max()) / (2 * steps))


def _share(
    changed: Array, told: Array, axes: tuple[int, ...] | None, limit: float, deviations: float
) -> float:
    """The largest share of numbers changed among those that tell, over the share allowed."""
    count = np.maximum(told.sum(axis=axes), 1)
    allowed = limit + deviations * np.sqrt(limit * (1 - limit) / count)
    return float(np.max(changed.sum(axis=axes) / count / allowed))


# ---- part by part


def _rounds(program: Program) -> bool:
    return any(n.op is ops.quantize for f in program.functions.values() for n in f.nodes)


def _pairs(
    got: dict[str, dict[str, Array]], want: dict[str, dict[str, Array]]
) -> Iterator[tuple[str, str, Array, Array]]:
    for entry, outputs in want.items():
        for name, array in outputs.items():
            yield entry, name, got[entry][name], array


def _output(entry: str, name: str, program: Program) -> str:
    inside = f" of {entry!r}" if len(program.entries) > 1 else ""
    return f"output {name!r}{inside}"


class _Recorder:
    """Keeps every quantized tensor of a run."""

    def __init__(self) -> None:
        self.tensors: Recorded = {}
        self._runs: Counter[str] = Counter()

    def __call__(self, function: Function) -> Watch:
        turn = self._runs[function.name]
        self._runs[function.name] += 1

        def watch(v: Value, array: Array) -> Array:
            if v.type.dtype.is_quantized:
                self.tensors[function.name, turn, v.name] = (v, array)
            return array

        return watch


class _Follower:
    """Compares the quantized tensors of a run with recorded ones, and goes on with these."""

    def __init__(self, tensors: Recorded, steps: int) -> None:
        self.worst, self.where = 0.0, ""
        self.known = {(f, name) for f, _, name in tensors}
        self._tensors, self._steps = tensors, steps
        self._forms = {(f, name): v.type.quant for (f, _, name), (v, _) in tensors.items()}
        self._runs: Counter[str] = Counter()

    def __call__(self, function: Function) -> Watch:
        turn = self._runs[function.name]
        self._runs[function.name] += 1
        twice = self._rounded_twice(function)

        def watch(v: Value, array: Array) -> Array:
            if not v.type.dtype.is_quantized:
                return array
            value, want = self._tensors.get((function.name, turn, v.name), (None, array))
            if value is None or value.type.quant != v.type.quant or want.shape != array.shape:
                self.known.discard((function.name, v.name))
                return array
            d = moved(array, want, self._steps, 2 if v in twice else 1)
            if not d <= self.worst:
                self.worst, self.where = d, f"tensor {v.name!r}"
            return want

        return watch

    def _rounded_twice(self, function: Function) -> set[Value]:
        """Tensors that are made of a quantized one that the other program has not: a softmax in its
        own steps, say, which is then requantized. What only moves numbers does not round.
        """
        apart: set[Value] = set()
        twice: set[Value] = set()
        for node in function.nodes:
            behind = any(v in apart for v in node.inputs if v is not None)
            for v in node.outputs:
                quant = v.type.quant
                if quant is not None and self._forms.get((function.name, v.name)) == quant:
                    twice.update([v] if behind else [])
                elif behind or (quant is not None and not node.op.may_move):
                    apart.add(v)
        return twice


def _by_parts(
    before: Program, after: Program, entry: str, feeds: Mapping[str, Array], steps: int
) -> tuple[float, str]:
    """The largest difference over the quantized tensors and the outputs, each made of equal inputs,
    and where it is.
    """
    recorder = _Recorder()
    want = run(before, dict(feeds), function=entry, observe=recorder)
    follower = _Follower(recorder.tensors, steps)
    try:
        got = run(after, dict(feeds), function=entry, observe=follower)
    except SamaraError as error:
        return float("inf"), f"{entry}: {error}"
    worst, where = follower.worst, follower.where
    loose = _loose(before, entry, follower.known) | _loose(after, entry, follower.known)
    noise: dict[str, float] | None = None
    for name, array in want.items():
        d = difference(got[name], array)
        if d > 1.0 and name in loose:
            d = difference(got[name], array, steps) / _NOISE_OF_ONE
            if d > 1.0:
                noise = _noise(before, entry, feeds, want, steps) if noise is None else noise
                d /= max(1.0, noise[name] / _NOISE_OF_ONE)
        if not d <= worst:
            worst, where = d, _output(entry, name, before)
    return worst, where


def _loose(program: Program, entry: str, known: set[tuple[str, str]]) -> set[str]:
    """Outputs that depend on a rounding that the two programs do not share: on the way to them lies
    a quantized tensor that was not compared, or an operator that rounds inside.
    """
    f = program.functions[entry]
    loose: set[Value] = set()
    for node in f.nodes:
        given = [v for v in node.inputs if v is not None]
        # Bodies are not looked into. Real numbers times quantized ones may be rounded for that.
        inside = any(a.type == "function" for a in node.op.attrs) or (
            any(v.type.dtype.is_quantized for v in given)
            and any(v.type.dtype.is_float and not v.is_constant for v in given)
        )
        own = inside or any(v in loose for v in given)
        for v in node.outputs:
            if v.type.dtype.is_quantized and (entry, v.name) in known:
                continue
            if own or v.type.dtype.is_quantized:
                loose.add(v)
    names = f.output_names or tuple(v.name for v in f.outputs)
    return {name for name, v in zip(names, f.outputs, strict=True) if v in loose}


def _noise(
    program: Program, entry: str, feeds: Mapping[str, Array], want: Mapping[str, Array], steps: int
) -> dict[str, float]:
    """What rounding noise does to each output, in units of `difference`: the program runs with an
    error of up to half a step before each rounding, which is as large as that of the rounding.
    """
    found = dict.fromkeys(want, 0.0)
    for seed in range(_NOISY_RUNS):
        got = run(program, dict(feeds), function=entry, observe=_Disturber(seed))
        for name, array in want.items():
            found[name] = max(found[name], difference(got[name], array, steps))
    return found


class _Disturber:
    """Moves what lies anywhere within a step by up to half of one before it is rounded."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, function: Function) -> Watch:
        rounded = {v for n in function.nodes if n.op is ops.quantize for v in n.outputs}

        def watch(v: Value, array: Array) -> Array:
            if v not in rounded or not array.size:
                return array
            place, error = self._rng.uniform(-0.5, 0.5, (2, *array.shape))
            noisy = np.clip(array + np.rint(place + error), array.min(), array.max())
            return np.asarray(noisy, array.dtype)

        return watch
