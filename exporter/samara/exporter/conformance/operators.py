# SPDX-License-Identifier: Apache-2.0
"""Run every case of the op table on a device, then in other sizes."""

from __future__ import annotations

import math
import random
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from samara.exporter.conformance.answers import Question, is_distrust
from samara.exporter.conformance.programs import FORMS, Form, one_node
from samara.exporter.conformance.scorecard import ScoreRow
from samara.exporter.conformance.sizes import drawn
from samara.exporter.ops import Case, OpSpec
from samara.exporter.testing import case_id, case_types, infer_case
from samara.exporter.types import DType, SamaraError, ShapeError
from samara.pybridge import Backend, Session

_ROUNDS, _QUICK_ROUNDS = 4, 2  # of other sizes, for each case with symbolic dims
_DRAWN = 4  # sizes to draw per round, because some are too large or refused by the operator
_TRIED = 4  # cases of a dtype to try until the device takes one, in quick mode


@dataclass
class _Score:
    """A row under construction."""

    passed: int = 0
    failed: int = 0
    refused: int = 0
    failure: str = ""
    reasons: dict[str, None] = field(default_factory=dict)

    def count(self, where: str, wrong: str) -> None:
        if not wrong:
            self.passed += 1
            return
        self.failed += 1
        self.failure = self.failure or f"{where}: {wrong}"

    def row(self, op: str, dtype: str) -> ScoreRow:
        return ScoreRow(
            op=op,
            dtype=dtype,
            supported=self.passed + self.failed,
            passed=self.passed,
            failed=self.failed,
            refused=self.refused,
            failure=self.failure,
            reasons=tuple(self.reasons),
        )


@dataclass
class Examined:
    """The results of an operator.

    proven: programs that the device computed right. sizes: runs in other sizes; wrong_sizes: the messages
    of those that failed.
    """

    rows: list[ScoreRow]
    proven: list[Question]
    sizes: int = 0
    wrong_sizes: list[str] = field(default_factory=list)


def dtype_of(op: OpSpec, case: Case) -> str:
    """The dtype that the case is counted under, as docs/reference/ops.md writes it."""
    types = [t for t in case_types(case) if t is not None] or list(infer_case(op, case).types)
    return types[0].dtype.name.lower()


def lacks_numpy(op: OpSpec, case: Case) -> set[DType]:
    """Types of the case for which NumPy has no arrays, because ml_dtypes is not installed."""
    types = [*case_types(case), *infer_case(op, case).types]
    return {t.dtype for t in types if t is not None and not t.dtype.has_numpy}


def cases_of(op: OpSpec, quick: bool) -> dict[str, list[Case]]:
    """The cases to run by dtype: all, or in quick mode a few with the largest inputs."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in op.cases:
        if not lacks_numpy(op, case):
            found[dtype_of(op, case)].append(case)
    if not quick:
        return found
    return {t: sorted(cases, key=_elements, reverse=True)[:_TRIED] for t, cases in found.items()}


def _elements(case: Case) -> int:
    """The elements of all inputs; 0 if one is empty, because then the outputs may be empty."""
    sizes = [math.prod(t.static_shape()) for t in case_types(case) if t is not None]
    return sum(sizes) if all(sizes) else 0


def examine(op: OpSpec, backend: Backend, *, quick: bool) -> Examined:
    """Run the operator's cases in every form on the device. quick: the first case of each dtype that the device
    takes.
    """
    found = Examined([], [])
    for dtype, cases in cases_of(op, quick).items():
        score = _Score()
        for case in cases:
            for form, question in questions(op, case):
                _check(question, form, case, backend, score, found, quick)
            if quick and score.passed + score.failed > 0:
                break
        found.rows.append(score.row(op.name, dtype))
    return found


def questions(op: OpSpec, case: Case) -> Iterator[tuple[Form, Question]]:
    """Run the case in every form that tests something new."""
    for form in FORMS:
        try:
            made = one_node(op, case, form)
        except ShapeError:  # a rule may need a number where the form has a symbol
            continue
        if made is not None:
            yield form, Question(op, f"{case_id(op, case)} {form}", made, made.feeds)


def _check(
    question: Question,
    form: Form,
    case: Case,
    backend: Backend,
    score: _Score,
    found: Examined,
    quick: bool,
) -> None:
    try:
        session = question.session(backend)
        session.resize({name: a.shape for name, a in question.feeds.items()})
    except SamaraError as error:
        score.count(question.name, f"there is no session on the device: {error.message}")
        return
    failure = session.backend_report().failure  # a failure of planning, before anything ran
    why = question.refused(session)
    if why and not failure and not is_distrust(why):
        score.refused += 1
        score.reasons[why] = None
        return
    # Run twice: the second run has nothing left to prepare.
    wrong = failure or why or question.asked(session) or question.asked(session)
    score.count(question.name, wrong)
    if not wrong:
        found.proven.append(question)
        if form == "symbols":
            _other_sizes(question, session, case, score, found, quick)


def _other_sizes(
    question: Question,
    session: Session,
    case: Case,
    score: _Score,
    found: Examined,
    quick: bool,
) -> None:
    """Resize the session to other sizes and back after each, like a program with pictures of several sizes."""
    r = random.Random(zlib.crc32(question.name.encode()))
    rounds, end = 0, _QUICK_ROUNDS if quick else _ROUNDS
    for _ in range(_DRAWN * end):
        feeds = drawn(question.made.program, case, r)
        if feeds is None:
            continue
        other = question.of(feeds)
        try:
            _ = other.want
        except SamaraError:  # the CPU refuses such sizes or data
            continue
        found.sizes += 1
        rounds += 1
        shapes = ", ".join(f"{k} {list(a.shape)}" for k, a in feeds.items())
        where = f"{question.name} resized to {shapes}"
        wrong = other.asked(session) or question.asked(session)
        score.count(where, wrong)
        if wrong:
            found.wrong_sizes.append(f"{where}: {wrong}")
        if wrong or rounds == end:
            return
