# SPDX-License-Identifier: Apache-2.0
"""Running passes: switchable, checked on sample inputs, bisected when an answer changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from samara.exporter.ir.program import Array, Program
from samara.exporter.ir.verify import verify
from samara.exporter.passes._pass import Pass
from samara.exporter.passes._samples import sample_inputs
from samara.exporter.types import SamaraError


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did: nodes before and after, and the largest difference it made on the samples.

    `difference` is in units of the tolerance (1.0 = at it), None when the pass was not checked (it
    changed nothing, or there are no samples).
    """

    name: str
    nodes_before: int
    nodes_after: int
    changed: bool
    difference: float | None = None


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """Rows of the passes that ran, and why they could not be checked when they could not."""

    rows: tuple[PassReport, ...] = ()
    unchecked: str = ""


@dataclass(slots=True)
class _Checker:
    samples: list[dict[str, dict[str, Array]]]  # per sample: {entry: feeds}
    reference: list[dict[str, dict[str, Array]]] = field(default_factory=list)


def node_count(program: Program) -> int:
    """Nodes in all functions."""
    return sum(len(f.nodes) for f in program.functions.values())


def run_passes(
    program: Program,
    passes: Sequence[Pass],
    *,
    disable: Collection[str] = (),
    check: bool = False,
    bisect: bool = False,
    samples: Sequence[Mapping[str, Array]] | None = None,
) -> tuple[Program, OptimizeReport]:
    """Run `passes` in order; returns the Program and what each did.

    check: run the reference interpreter on sample inputs before the first pass and after every one
    that changed something; the first whose answer leaves the tolerance raises SamaraError naming
    it. With bisect the error also says whether that pass alone, run on the original program, is to
    blame. samples: inputs of the default entry; None draws random ones. Names in `disable` are
    skipped; an unknown one is an error.
    """
    known = {p.name for p in passes}
    for name in disable:
        if name not in known:
            raise SamaraError(
                f"there is no pass {name!r}", fix=f"passes are {', '.join(sorted(known))}"
            )
    checker, unchecked = _checker(program, samples) if check or bisect else (None, "")
    original = program
    rows = []
    for step in passes:
        if step.name in disable:
            continue
        before = program
        try:
            program = step.run(program)
            if program is not before:
                verify(program)
        except SamaraError as error:
            raise SamaraError(
                f"pass {step.name!r} broke the program: {error}",
                fix=f"export with disable=[{step.name!r}] and report this",
            ) from error
        changed = program is not before
        difference = None
        if changed and checker is not None:
            steps = _steps(step, before)
            difference, where, answers = _difference(program, checker, steps)
            if not difference <= 1.0:
                raise SamaraError(
                    _blame(step, difference, where, bisect, original, checker),
                    fix=f"export with disable=[{step.name!r}] and report this",
                )
            if step.steps:  # from here on these are the answers to keep
                checker.reference = answers
        rows.append(
            PassReport(step.name, node_count(before), node_count(program), changed, difference)
        )
    return program, OptimizeReport(tuple(rows), unchecked)


def _checker(
    program: Program, samples: Sequence[Mapping[str, Array]] | None
) -> tuple[_Checker | None, str]:
    entry = program.entries[0]
    if samples is not None:
        feeds = [{entry: dict(s)} for s in samples]
    else:
        drawn = {}
        for name in program.entries:
            inputs = sample_inputs(program, name)
            if inputs is None:
                return (
                    None,
                    f"no sizes were found for the symbolic dims of {name!r}; give samples to check the passes",
                )
            drawn[name] = inputs
        feeds = [drawn]
    checker = _Checker(feeds)
    try:
        for sample in feeds:
            checker.reference.append(
                {e: program.run(dict(f), function=e) for e, f in sample.items()}
            )
    except SamaraError as error:
        return None, f"the program does not run on the samples: {error}"
    return checker, ""


def _steps(step: Pass, program: Program) -> int:
    """By how many steps of quantized tensors a pass may move answers: float32 sums in another order
    may round to the other side before a `quantize`.
    """
    rounds = any(n.op.name == "quantize" for f in program.functions.values() for n in f.nodes)
    return max(step.steps, 1 if rounds else 0)


def _difference(
    program: Program, checker: _Checker, steps: int
) -> tuple[float, str, list[dict[str, dict[str, Array]]]]:
    """Largest difference from the reference over all samples and outputs, in tolerances, the output
    it is at, and the answers.
    """
    worst, where = 0.0, ""
    answers: list[dict[str, dict[str, Array]]] = []
    for sample, want in zip(checker.samples, checker.reference, strict=True):
        answers.append({})
        for entry, feeds in sample.items():
            try:
                got = program.run(dict(feeds), function=entry)
            except SamaraError as error:
                return float("inf"), f"{entry}: {error}", answers
            answers[-1][entry] = got
            for name, reference in want[entry].items():
                d = difference(got[name], reference, steps)
                if not d <= worst:
                    worst, where = d, name
    return worst, where, answers


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


def _blame(
    step: Pass, found: float, where: str, bisect: bool, original: Program, checker: _Checker
) -> str:
    text = f"pass {step.name!r} changed the answer: output {where!r} differs by {found:.3g} times the tolerance"
    if not bisect:
        return text
    try:
        alone, at, _ = _difference(step.run(original), checker, _steps(step, original))
    except SamaraError as error:
        return f"{text}; run alone on the original program it fails: {error}"
    if alone <= 1.0:
        return f"{text}; run alone on the original program it is right, so it depends on an earlier pass"
    return f"{text}; run alone on the original program it is wrong too (output {at!r})"
