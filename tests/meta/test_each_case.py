# SPDX-License-Identifier: Apache-2.0
"""Tests that run all cases of an operator: each case counts, and one that fails is named."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cases import each_case

from samara.exporter.ops import Case, OpSpec, all_ops

ADD = next(op for op in all_ops() if op.name == "add")
NEG = next(op for op in all_ops() if op.name == "neg")


def test_one_test_for_each_operator() -> None:
    seen: list[tuple[OpSpec, Case]] = []
    given = [(ADD, ADD.cases[0]), (NEG, NEG.cases[0]), (ADD, ADD.cases[1])]
    test: Any = each_case(given)(lambda op, case: seen.append((op, case)))
    (mark,) = test.pytestmark
    assert mark.args == ("op", [ADD, NEG])
    test(ADD)
    assert seen == [given[0], given[2]]


def test_all_cases_run_and_those_that_fail_are_named() -> None:
    seen = []

    def check(op: OpSpec, case: Case) -> None:
        """What it says."""
        seen.append(case)
        assert case is ADD.cases[1]

    test = each_case((ADD, case) for case in ADD.cases[:3])(check)
    assert test.__doc__ == "What it says."
    with pytest.raises(ExceptionGroup, match="2 of 3 cases fail") as caught:
        test(ADD)
    assert seen == list(ADD.cases[:3])
    notes = [error.__notes__ for error in caught.value.exceptions]
    assert notes == [[f"case add-{ADD.cases[i].name}"] for i in (0, 2)]
