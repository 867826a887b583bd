# SPDX-License-Identifier: Apache-2.0
"""Check whether a pass preserved the outputs, by running the program before and after it on samples.

If a pass changes no rounding, the outputs are compared element by element (`difference`).

If tensors are rounded to few bits, comparing outputs does not work, for two reasons. First, float32 sums
in another order, or integer operators in place of float ones, may round a value near the middle of two
steps to the other step. That is correct and rare, but each such step affects everything behind it:
after fifty layers the outputs of two correct programs differ by several steps, depending on the net.
Second, a wrong zero point inside a net moves *every* value of a tensor by a step, and does not change
the outputs more than that. So no bound on the outputs separates correct from wrong programs.

Such a pass is therefore checked tensor by tensor. The run before it records every quantized tensor. The
run after it compares each quantized tensor of the same name and form, and then continues with the
recorded one. Each comparison thus covers one part of the net with equal inputs, at any depth, and the
effect of rounding on one part is known (`moved`). Parts without a common quantized tensor are bounded
by the program's sensitivity: the effect of rounding noise on the outputs (`_noise`).

All runs together have a limit (`_work`). Where it does not allow a run of the whole program, the program
runs on smaller inputs; where it was made for its sizes, the parts that the pass changed are cut out and run
on random inputs, as many as the limit allows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.interpret import Observer, Watch, run
from samara.exporter.ir.program import Array, Function, Program, Value
from samara.exporter.passes._parts import changed_parts, cut_out, smaller
from samara.exporter.passes._pass import Pass
from samara.exporter.passes._samples import sample_inputs
from samara.exporter.passes._work import OverspentError, Work, least_seconds
from samara.exporter.types import SamaraError

__all__ = ["Checker", "Verdict", "checker_of", "difference", "moved"]

# The share of values that may move by a step. A sum of few quantized values lies in the middle of two
# steps half the time; then the last bit of a float32 decides, either way equally often. An error as
# large as the rounding error moves the same share: the mean of |e| over -1/2..1/2. The share over n
# values varies by chance, so a limit adds this many standard deviations.
_SHARE, _DEVIATIONS, _DEVIATIONS_OF_CHANNELS = 0.25, 3.0, 4.0
_MOST = 0.5  # share moved by two roundings; a wrong zero point moves all values
# The share that may move by more than one step, up to two, because two roundings may coincide.
_FAR = 1e-3
# Root mean square, in steps, of the noise of one rounding that moves this share.
_NOISE_OF_ONE = _SHARE**0.5
# Runs with rounding noise: a small net has few outputs, so one run would not be representative.
_NOISY_RUNS = 3

Answers = list[dict[str, dict[str, Array]]]  # per sample: {entry: outputs}
Recorded = dict[tuple[str, int, str], tuple[Value, Array]]  # by function, execution, name


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far a pass moved the outputs, in tolerances (1.0 = the limit), where, and the new outputs.

    by_parts: parts with equal inputs were compared. Their small differences may add up in the outputs, so
    later passes must be compared with the new outputs. scope: what was compared, if not whole runs; nothing
    was if `difference` is None.
    """

    difference: float | None
    where: str
    answers: Answers
    by_parts: bool = False
    scope: str = ""

    @property
    def holds(self) -> bool:
        return self.difference is None or self.difference <= 1.0


@dataclass(slots=True)
class Checker:
    """Sample inputs, the outputs to preserve on them, and the work that the check may still do.

    reference is None if one run of the program is too much work; then parts of it are checked.
    """

    samples: list[dict[str, Mapping[str, Array]]]  # per sample: {entry: feeds}
    work: Work
    reference: Answers | None = None
    seconds: float = 0.0  # estimated, of running all samples

    def afresh(self, program: Program, work: Work) -> Checker:
        """The same samples with the outputs of another program as reference. Samples that take more than half
        of the work are left out.
        """
        made = Checker(self.samples[:0], work, [])
        assert made.reference is not None
        half = work.limit / 2
        for sample in self.samples:
            start = work.seconds
            try:
                shapes = {e: {n: a.shape for n, a in f.items()} for e, f in sample.items()}
                if sum(least_seconds(program, e, s) for e, s in shapes.items()) > half:
                    raise OverspentError
                answers = {e: _run(program, f, e, work) for e, f in sample.items()}
            except OverspentError:
                if not made.samples:
                    return Checker(self.samples[:1], work, None)
                break
            if made.samples and work.seconds > half:
                break
            made.samples.append(sample)
            made.reference.append(answers)
            made.seconds += work.seconds - start
        return made

    def judge(self, step: Pass, before: Program, after: Program) -> Verdict | None:
        """Compare a program with the one that the pass made of it; None if the work that is left does not allow
        this comparison and another one later.
        """
        if self.reference is None:
            return self._judge_less(step, before, after)
        # By parts, the programs before and after run once more.
        price = self.seconds * (3 if _rounds(before) else 1)
        if 2 * price > self.work.left:
            return None
        try:
            return self._judge_whole(step, before, after)
        except OverspentError:
            return None

    def _judge_whole(self, step: Pass, before: Program, after: Program) -> Verdict:
        assert self.reference is not None
        answers: Answers = []
        for sample in self.samples:
            answers.append({})
            for entry, feeds in sample.items():
                try:
                    answers[-1][entry] = _run(after, feeds, entry, self.work)
                except SamaraError as error:
                    return Verdict(float("inf"), f"{entry}: {error}", answers)
        worst, where = 0.0, ""
        for got, want in zip(answers, self.reference, strict=True):
            for entry, name, a, b in _pairs(got, want):
                d = difference(a, b)
                self.work.count(a)
                if not d <= worst:
                    worst, where = d, _output(entry, name, before)
        if step.steps == 0 and (worst <= 1.0 or not _rounds(before)):
            return Verdict(worst, where, answers)
        worst, where = 0.0, ""
        for sample in self.samples:
            for entry, feeds in sample.items():
                d, at = _by_parts(before, after, entry, feeds, max(step.steps, 1), self.work)
                if not d <= worst:
                    worst, where = d, at
        return Verdict(worst, where, answers, True)

    def _judge_less(self, step: Pass, before: Program, after: Program) -> Verdict:
        """Compare on smaller inputs, or changed parts, until a third of the work that is left is done."""
        work = Work(self.work.left / 3)
        pairs = [
            smaller(replace(before, entries=(e,)), replace(after, entries=(e,)))
            for e in before.entries
        ]
        found = [None if pair is None else _judge_alone(step, *pair, work) for pair in pairs]
        worst = [v.difference for v in found if v is not None and v.difference is not None]
        # A program that was made for its sizes may differ in others, so only agreement counts.
        if len(worst) == len(pairs) and max(worst) <= 1.0:
            verdict = Verdict(max(worst), "", [], scope=SMALLER)
        else:
            verdict = _judge_parts(step, before, after, work)
        self.work.seconds += work.seconds
        return verdict


SMALLER = "smaller inputs"
PARTS = " parts"


def _judge_parts(step: Pass, before: Program, after: Program, work: Work) -> Verdict:
    """Compare changed parts on random inputs, in random order, until the work is done."""
    parts = [(e, *part) for e in before.entries for part in changed_parts(before, after, e)]
    done = 0
    worst, where = 0.0, ""
    for i in np.random.default_rng(0).permutation(len(parts)):
        if work.left <= 0:
            break
        work.cut(len(before.functions[parts[i][0]].nodes) + len(after.functions[parts[i][0]].nodes))
        pair = cut_out(before, after, *parts[i])
        if pair is None:
            continue
        less = smaller(*pair)
        found = None if less is None else _judge_alone(step, *less, work)
        if found is None or not found.holds:
            # A difference that smaller inputs show must be settled, whatever it takes.
            found = _judge_alone(step, *pair, work if found is None else Work(math.inf))
        if found is None or found.difference is None:
            continue
        done += 1
        if not found.difference <= worst:
            worst, where = found.difference, f"tensor {parts[i][1]!r}"
    return Verdict(worst if done else None, where, [], scope=f"{done} of {len(parts)}{PARTS}")


def _judge_alone(step: Pass, before: Program, after: Program, limit: Work) -> Verdict | None:
    """Compare two programs of one entry on random inputs; None if none suit both or the work does not suffice."""
    work = Work(limit.left)
    entry = before.entries[0]
    feeds = sample_inputs(before, entry, work.left / 2, within=True)
    if feeds is None:
        return None
    for array in feeds.values():
        work.count(array)
    try:
        checker = Checker([{entry: feeds}], work).afresh(before, work)
        return None if checker.reference is None else checker.judge(step, before, after)
    except SamaraError:
        return None
    finally:
        limit.seconds += work.seconds


def checker_of(
    program: Program, samples: Sequence[Mapping[str, Array]] | None, work: Work
) -> tuple[Checker | None, str]:
    """A checker, or the reason why there is none. Samples are inputs of the default entry; without samples,
    and for the other entries, inputs are random.
    """
    given = [dict(s) for s in samples or ()]
    default = program.entries[0]
    feeds: list[dict[str, Mapping[str, Array]]] = [{default: s} for s in given] or [{}]
    for name in program.entries:
        if given and name == default:
            continue
        drawn = sample_inputs(program, name, work.limit / 2)
        if drawn is None:
            return None, (
                f"no sizes were found for the symbolic dims of {name!r} on which it runs; give golden"
                " inputs to check the passes"
            )
        feeds[0][name] = drawn
    try:
        return Checker(feeds, work).afresh(program, work), ""
    except SamaraError as error:
        return None, (
            f"the program does not run on the samples: {error.message}; give golden inputs to check the"
            " passes"
        )


def _run(
    program: Program,
    feeds: Mapping[str, Array],
    entry: str,
    work: Work,
    observe: Observer | None = None,
) -> dict[str, Array]:
    return run(program, dict(feeds), function=entry, observe=observe, evaluate=work)


# ---- numbers


def difference(got: Array, want: Array, steps: int = 0) -> float:
    """The largest |got - want| divided by 1e-4 + 1e-3 |want| + 2e-5 range(want). Integers must be equal (else
    inf), and NaN must meet NaN.

    steps: for outputs that depend on roundings to 8 bits, the root mean square of |got - want| in units
    of this many steps instead; a step is 1 for bytes and 1/255 of the range for floats.
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
    """The root mean square of a difference caused by rounding, in units of `steps` steps of 8 bits. Integers
    that count or choose are not compared, because they may jump.
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
    """How far a quantized tensor differs from the same tensor computed another way from equal inputs.

    1.0 is the limit: a quarter of the values moved, in the tensor and in each channel (its last axis),
    plus an allowance for chance; one value in a thousand moved by more than `steps`; any by twice as
    much. Correct passes were measured below it: a share of 0.03, or 0.12 if half of all values lie in
    the middle of two steps, and one step. A wrong zero point moves all values, and in the layer that
    reads them each channel by another share; a wrong scale or a missing clamp moves some values far.
    Values that stayed at an end of the tensor's range were clamped and do not count.

    roundings: the number of roundings between the equal inputs and this tensor; each is allowed its
    quarter.
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
    """The largest share of changed values among those that count, divided by the allowed share."""
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
    """Records every quantized tensor of a run."""

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
    """Compares the quantized tensors of a run with recorded ones, and continues with the recorded ones."""

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
        """Tensors made of a quantized tensor that the other program lacks: for example a softmax that is
        rounded in its own steps and then requantized. Operators that only move values do not round.
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
    before: Program,
    after: Program,
    entry: str,
    feeds: Mapping[str, Array],
    steps: int,
    work: Work,
) -> tuple[float, str]:
    """The largest difference over the quantized tensors and the outputs, each computed from equal inputs, and
    where it is.
    """
    recorder = _Recorder()
    want = _run(before, feeds, entry, work, recorder)
    follower = _Follower(recorder.tensors, steps)
    try:
        got = _run(after, feeds, entry, work, follower)
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
                noise = _noise(before, entry, feeds, want, steps, work) if noise is None else noise
                d /= max(1.0, noise[name] / _NOISE_OF_ONE)
        if not d <= worst:
            worst, where = d, _output(entry, name, before)
    return worst, where


def _loose(program: Program, entry: str, known: set[tuple[str, str]]) -> set[str]:
    """Outputs that depend on a rounding that the two programs do not share: on the way to them is a quantized
    tensor that was not compared, or an operator that rounds inside.
    """
    f = program.functions[entry]
    loose: set[Value] = set()
    for node in f.nodes:
        given = [v for v in node.inputs if v is not None]
        # Bodies are not analysed. Reals multiplied by quantized values may be rounded for that.
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
    program: Program,
    entry: str,
    feeds: Mapping[str, Array],
    want: Mapping[str, Array],
    steps: int,
    work: Work,
) -> dict[str, float]:
    """The effect of rounding noise on each output, in units of `difference`: the program runs with a random
    error of up to half a step before each rounding, which is as large as the rounding error.
    """
    found = dict.fromkeys(want, 0.0)
    for seed in range(_NOISY_RUNS):
        got = _run(program, feeds, entry, work, _Disturber(seed))
        for name, array in want.items():
            found[name] = max(found[name], difference(got[name], array, steps))
    return found


class _Disturber:
    """Adds an error of up to half a step to values that are not at a step, before they are rounded."""

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
