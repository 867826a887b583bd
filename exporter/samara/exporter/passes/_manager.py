# SPDX-License-Identifier: Apache-2.0
"""Run passes: they can be disabled, are checked on samples, and are undone if they change an output."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from samara.exporter.ir.program import Array, Program
from samara.exporter.ir.verify import verify
from samara.exporter.passes._check import Checker, Verdict, checker_of
from samara.exporter.passes._pass import Pass
from samara.exporter.types import ArgumentError, SamaraError


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did: nodes before and after, and the largest difference it made on the samples.

    `difference` is in units of the tolerance (1.0 = the limit), None if the pass was not checked (it changed
    nothing, or there are no samples). `failed` says why the pass was undone; then it has changed nothing.
    """

    name: str
    nodes_before: int
    nodes_after: int
    changed: bool
    difference: float | None = None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """Rows of the passes that ran, and why they were not checked if they were not."""

    rows: tuple[PassReport, ...] = ()
    unchecked: str = ""

    @property
    def failed(self) -> tuple[str, ...]:
        """Why passes were undone, one text for each."""
        return tuple(r.failed for r in self.rows if r.failed)


def node_count(program: Program) -> int:
    """Nodes in all functions."""
    return sum(len(f.nodes) for f in program.functions.values())


def run_passes(
    program: Program,
    passes: Sequence[Pass],
    *,
    disable: Collection[str] = (),
    check: bool | str = False,
    bisect: bool = False,
    samples: Sequence[Mapping[str, Array]] | None = None,
) -> tuple[Program, OptimizeReport]:
    """Run `passes` in order; returns the Program and what each did.

    check: run the reference interpreter on sample inputs before the first pass and after every pass that
    changed something. A pass that fails (an output exceeds the tolerance, or the result is not a valid
    program) is undone: its row says why, and the others continue. "strict" raises SamaraError at the first
    failure instead. With bisect the reason also says whether that pass alone, run on the original program,
    is to blame. samples: inputs of the default entry; None draws random ones. Names in `disable` are
    skipped; an unknown one is an error.

    Without checks, a pass that makes an invalid program raises.
    """
    if check not in (True, False, "strict"):
        raise ArgumentError(f"there is no check {check!r}", fix='give True, False or "strict"')
    known = {p.name for p in passes}
    for name in disable:
        if name not in known:
            raise SamaraError(
                f"there is no pass {name!r}", fix=f"passes are {', '.join(sorted(known))}"
            )
    checker, unchecked = checker_of(program, samples) if check or bisect else (None, "")
    original = program
    off = set(disable)
    rows = []
    for step in passes:
        if step.name in off:
            continue
        made, failed, found = program, "", None
        try:
            made = step.run(program)
            if made is not program:
                verify(made)
        except Exception as error:
            failed = f"pass {step.name!r} broke the program: {_said(error)}"
            if not check or check == "strict":
                raise SamaraError(failed, fix=_advice(step)) from error
        if not failed and made is not program and checker is not None:
            verdict = checker.judge(step, program, made)
            found = verdict.difference
            if not verdict.holds:
                failed = _blame(step, verdict, bisect, original, checker)
                if check == "strict":
                    raise SamaraError(failed, fix=_advice(step))
            elif verdict.by_parts:
                checker.reference = verdict.answers
        changed = not failed and made is not program
        after = made if changed else program
        rows.append(
            PassReport(step.name, node_count(program), node_count(after), changed, found, failed)
        )
        if failed:
            off.add(step.name)
        program = after
    return program, OptimizeReport(tuple(rows), unchecked)


def _advice(step: Pass) -> str:
    return f"leave the pass out with disable=[{step.name!r}], and report this"


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, SamaraError) else f"{type(error).__name__}: {error}"


def _blame(step: Pass, verdict: Verdict, bisect: bool, original: Program, checker: Checker) -> str:
    text = (
        f"pass {step.name!r} changed the answer: {verdict.where} differs by"
        f" {verdict.difference:.3g} times the tolerance"
    )
    if not bisect:
        return text
    try:
        alone = checker.afresh(original).judge(step, original, step.run(original))
    except SamaraError as error:
        return f"{text}; run alone on the original program it fails: {error}"
    if alone.holds:
        return f"{text}; run alone on the original program it is right, so it depends on an earlier pass"
    return f"{text}; run alone on the original program it is wrong too ({alone.where})"
