# SPDX-License-Identifier: Apache-2.0
"""Run passes: they can be disabled, are checked on samples, and are undone if they change an output."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from samara.exporter.ir.program import Array, Program
from samara.exporter.ir.rewriter import Rewriters
from samara.exporter.ir.verify import verify
from samara.exporter.passes._check import PARTS, SMALLER, Checker, Verdict, checker_of
from samara.exporter.passes._pass import Pass
from samara.exporter.passes._work import Work, work_for
from samara.exporter.types import ArgumentError, SamaraError


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did: nodes before and after, and the largest difference it made on the samples.

    `difference` is in units of the tolerance (1.0 = the limit), None if the pass was not checked (it
    changed nothing, or there are no samples). `scope` says what was compared if not whole runs before and
    after this pass: "together" with other passes, "smaller inputs", or "3 of 40 parts" of the program.
    `failed` says why the pass was undone; then it has changed nothing.
    """

    name: str
    nodes_before: int
    nodes_after: int
    changed: bool
    difference: float | None = None
    failed: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """Rows of the passes that ran, and why they were not checked if they were not."""

    rows: tuple[PassReport, ...] = ()
    unchecked: str = ""

    @property
    def failed(self) -> tuple[str, ...]:
        """Why passes were undone, one text for each."""
        return tuple(r.failed for r in self.rows if r.failed)

    @property
    def checked(self) -> str:
        """One line that says what was checked; empty if nothing was."""
        rows = [r for r in self.rows if (r.scope or r.difference is not None) and not r.failed]
        parts = [
            f"{r.name} ({r.scope.removesuffix(PARTS)})" for r in rows if r.scope.endswith(PARTS)
        ]
        together = sum(r.scope == TOGETHER for r in rows)
        small = sum(r.scope == SMALLER for r in rows)
        alone = sum(not r.scope for r in rows)
        done = [f"{alone} pass runs one by one"] if alone else []
        done += [f"{together} together"] if together else []
        done += [f"{small} on smaller inputs than the program's"] if small else []
        done += [f"parts of {', '.join(parts)}"] if parts else []
        worst = max((r.difference for r in rows if r.difference is not None), default=None)
        if not rows:
            return ""
        change = "" if worst is None else f"; largest change {worst:.2g} of the tolerance"
        return f"checked on sample inputs: {', '.join(done)}{change}"


TOGETHER = "together"


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

    check: run the program on sample inputs before the first pass and after every pass that changed
    something. A pass that fails (an output exceeds the tolerance, or the result is not a valid program) is
    undone: its row says why, and the others continue. "strict" raises SamaraError at the first failure
    instead. The runs take at most about 10 ms per node, or half a second for a small program, and 15 s in
    all: the passes that would take longer are checked together at the end. A program that is too large for
    one run is checked on smaller inputs, or, if it was made for its sizes, random parts of it are. With
    bisect the reason also says whether that pass alone, run on the original program, is to blame. samples:
    inputs of the default entry; None draws random ones. Names in `disable` are skipped; an unknown one is
    an error.
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
    checker, unchecked = None, ""
    if check or bisect:
        checker, unchecked = checker_of(program, samples, work_for(program))
    runner = _Runner(program, checker, check, bisect, set(disable))
    for step in passes:
        program = runner.run(step, program)
    program = runner.settle(program)
    return program, OptimizeReport(tuple(runner.rows), unchecked)


class _Runner:
    """Runs passes one after the other and keeps their rows."""

    def __init__(
        self,
        original: Program,
        checker: Checker | None,
        check: bool | str,
        bisect: bool,
        off: set[str],
    ) -> None:
        self.rows: list[PassReport] = []
        self._original = original
        self._checker = checker
        self._check = check
        self._bisect = bisect
        self._off = off
        self._rewriters = Rewriters()
        # Passes that changed the program since it was last checked, by row, and the program before them.
        self._unjudged: dict[int, Pass] = {}
        self._judged = original

    def run(self, step: Pass, program: Program) -> Program:
        """The program after a pass, or the same one if the pass is off, idle or undone."""
        if step.name in self._off:
            return program
        made, failed, found, scope = program, "", None, ""
        try:
            made = step.applied(program, self._rewriters)
            if made is not program:
                verify(made)
        except Exception as error:
            failed = f"pass {step.name!r} broke the program: {_said(error)}"
            if not self._check or self._check == "strict":
                raise SamaraError(failed, fix=_advice(step)) from error
        if not failed and made is not program and self._checker is not None:
            verdict = None if self._unjudged else self._checker.judge(step, program, made)
            if verdict is None:
                self._unjudged[len(self.rows)] = step
            else:
                found, scope = verdict.difference, verdict.scope
                failed = self._failure(step, verdict)
                self._judged = program if failed else made
        changed = not failed and made is not program
        after = made if changed else program
        counts = node_count(program), node_count(after)
        self.rows.append(PassReport(step.name, *counts, changed, found, failed, scope))
        if failed:
            self._off.add(step.name)
        return after

    def settle(self, program: Program) -> Program:
        """Check the passes that were not checked one by one, together. If they fail, they run again and are
        checked one by one, whatever it takes.
        """
        if not self._unjudged or self._checker is None:
            return program
        self._checker.work.limit = math.inf
        passes = list(self._unjudged.values())
        together = replace(passes[0], steps=max(p.steps for p in passes))
        verdict = self._checker.judge(together, self._judged, program)
        assert verdict is not None
        if verdict.holds:
            for i in self._unjudged:
                self.rows[i] = replace(self.rows[i], difference=verdict.difference, scope=TOGETHER)
            return program
        program = self._judged
        del self.rows[min(self._unjudged) :]
        self._unjudged = {}
        for step in passes:
            program = self.run(step, program)
        return program

    def _failure(self, step: Pass, verdict: Verdict) -> str:
        """Why the pass must be undone; empty if its verdict holds. Raises under a strict check."""
        assert self._checker is not None
        if verdict.holds:
            if verdict.by_parts:
                self._checker.reference = verdict.answers
            return ""
        failed = _blame(step, verdict, self._bisect, self._original, self._checker)
        if self._check == "strict":
            raise SamaraError(failed, fix=_advice(step))
        return failed


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
        fresh = checker.afresh(original, Work(math.inf))
        alone = fresh.judge(step, original, step.run(original))
        assert alone is not None
    except SamaraError as error:
        return f"{text}; run alone on the original program it fails: {error}"
    if alone.holds:
        return f"{text}; run alone on the original program it is right, so it depends on an earlier pass"
    return f"{text}; run alone on the original program it is wrong too ({alone.where})"
