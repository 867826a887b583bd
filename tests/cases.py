# SPDX-License-Identifier: Apache-2.0
"""Tests over the cases of the op table: one test for each operator, which runs all its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from samara.exporter.ops import Case, OpSpec
from samara.exporter.testing import case_id

Check = Callable[[OpSpec, Case], None]


def each_case(cases: Iterable[tuple[OpSpec, Case]]) -> Callable[[Check], Callable[[OpSpec], None]]:
    """Makes a check of one case a test of one operator. All its cases run; those that fail are named."""
    of: dict[str, tuple[OpSpec, list[Case]]] = {}
    for op, case in cases:
        of.setdefault(op.name, (op, []))[1].append(case)
    operators = [op for op, _ in of.values()]

    def decorate(check: Check) -> Callable[[OpSpec], None]:
        @pytest.mark.parametrize("op", operators, ids=lambda op: op.name)
        def test(op: OpSpec) -> None:
            chosen = of[op.name][1]
            failures = [e for case in chosen if (e := _failure(check, op, case)) is not None]
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(chosen)} cases fail", failures)

        test.__doc__ = check.__doc__
        return test

    return decorate


def _failure(check: Check, op: OpSpec, case: Case) -> Exception | None:
    try:
        check(op, case)
    except Exception as error:  # noqa: BLE001 - all failures are reported together
        error.add_note(f"case {case_id(op, case)}")
        return error
    return None
