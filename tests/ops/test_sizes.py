# SPDX-License-Identifier: Apache-2.0
"""Cases of the op table with other sizes in one session: the C runtime against the interpreter.

Where the interpreter refuses sizes or data, the runtime must refuse them too.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping

import pytest

import samara
from samara.exporter.conformance.programs import one_node
from samara.exporter.conformance.sizes import drawn
from samara.exporter.ir import Program, to_bytes
from samara.exporter.ops import OpSpec, all_ops
from samara.exporter.testing import Array, assert_close, case_id
from samara.exporter.types import SamaraError, ShapeError

ROUNDS = 6
OPERATORS = [op for op in all_ops() if "control" not in op.flags and op.cases]


def _check(
    op: OpSpec, program: Program, session: samara.Session, feeds: Mapping[str, Array]
) -> str | None:
    """What is wrong, None for nothing; ShapeError where both refuse."""
    shapes = {k: v.shape for k, v in feeds.items()}
    try:
        want = program.run(feeds)
    except SamaraError as refused:
        try:
            session.run(feeds)
        except samara.SamaraError:
            raise ShapeError("both refuse") from None
        return f"{shapes}: the interpreter says {refused}"
    try:
        got = session.run(feeds)
        for name, y in want.items():
            assert_close(got[name], y, op.name)
    except (AssertionError, samara.SamaraError) as error:
        return f"{shapes}: {type(error).__name__}: {error}"
    return None


def other_sizes(op: OpSpec) -> tuple[list[str], int]:
    """What is wrong, and how many runs of other sizes were compared."""
    found: list[str] = []
    compared = 0
    for case in op.cases:
        try:
            made = one_node(op, case, "symbols")
        except ShapeError:
            continue
        if made is None:
            continue
        model = samara.Model(to_bytes(made.program))
        r = random.Random(zlib.crc32(case_id(op, case).encode()))
        for isa in (None, "scalar"):
            session = samara.Session(model, isa=isa, threads=2)
            for _ in range(ROUNDS):
                feeds = drawn(made.program, case, r)
                if feeds is None:
                    continue
                try:
                    wrong = _check(op, made.program, session, feeds)
                except ShapeError:
                    continue
                compared += 1
                if wrong is not None:
                    found.append(f"{case_id(op, case)} {isa} {wrong}")
    return found, compared


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_other_sizes(op: OpSpec) -> None:
    found, _ = other_sizes(op)
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])
