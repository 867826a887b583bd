# SPDX-License-Identifier: Apache-2.0
"""Operators of rewritten code on sizes, truth values and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.frontend.script.agree import agree

import samara
from samara.exporter.frontend.script import runtime
from samara.exporter.frontend.script.tracer import ScriptTracer
from samara.exporter.types import sym


def test_sizes_are_compared_now_where_all_agree(tracer: ScriptTracer) -> None:
    n = sym("n")
    assert runtime.compare("ge", n, 0) is True
    assert runtime.compare("lt", n, 0) is False
    assert runtime.compare("lt", n, n + 1) is True
    assert runtime.compare("gt", n, n) is False
    assert runtime.compare("le", n, n + 2) is True
    assert runtime.compare("eq", n, n) is True
    assert runtime.compare("ne", n, n + 1) is True
    assert runtime.compare("eq", n, None) is False
    assert runtime.compare("lt", 1, 2) is True
    assert tracer.root.nodes == []


def test_sizes_are_compared_by_the_run_otherwise() -> None:
    def f(x: Any, y: Any) -> Any:
        same = x.shape == y.shape
        if x.shape[0] > y.shape[0]:
            x = x[: y.shape[0]]
        return x, x.shape[0] == 3, 1 if same else 2, y.shape != (4,), x.ndim == 1

    program = samara.script(
        f, (samara.ones(3), samara.ones(2)), dynamic={"x": {0: "n"}, "y": {0: "m"}}
    )
    for n, m in ((3, 2), (4, 4), (2, 7)):
        agree(program, f, [np.arange(n, dtype=np.float32), np.ones(m, np.float32)], rtol=0)


def test_arithmetic_of_sizes_and_numbers() -> None:
    def f(x: Any, y: Any) -> Any:
        big = x.shape[0] > y.shape[0]
        return big, x.shape[0] * 1.5, x / x.shape[0], x.shape[0] + y.sum(), x.shape[0] / 2

    program = samara.script(
        f, (samara.ones(3), samara.ones(2)), dynamic={"x": {0: "n"}, "y": {0: "m"}}
    )
    for n, m in ((3, 2), (2, 5)):
        x, y = np.ones(n, np.float32), np.ones(m, np.float32)
        got = list(program.run({"x": x, "y": y}).values())
        want: list[Any] = [n > m, n * 1.5, x / n, n + m, n / 2]
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b)


def test_the_second_operand_runs_only_where_it_decides() -> None:
    def f(x: Any, k: Any) -> Any:
        return k < 3 and x[k] > 0, k > 2 or x[k] > 0, not k

    program = samara.script(f, (samara.ones(3), samara.tensor(1)))
    x = np.array([1, -1, 2], np.float32)
    for k in (0, 1, 2, 9):
        got = program.run({"x": x, "k": np.array(k)})
        want = (k < 3 and x[k] > 0, k > 2 or x[k] > 0, not k)
        assert [bool(v) for v in got.values()] == [bool(v) for v in want]


def test_cheap_operands_need_no_branch() -> None:
    def f(x: Any) -> Any:
        return x.sum() > 0 and x.max() < 5 and not x[1] <= 2

    nodes = [n.op.name for n in samara.script(f, samara.ones(3)).main.nodes]
    assert "logical_and" in nodes


def test_python_values_short_cut(tracer: ScriptTracer) -> None:
    def never() -> Any:
        raise AssertionError

    assert runtime.and_(0, never) == 0
    assert runtime.or_("x", never) == "x"
    assert runtime.and_(1, lambda: (), never) == ()
    assert runtime.compare_chain(("lt", "lt"), 3, 2, never) is False
    assert runtime.choose(True, lambda: 1, never) == 1


def test_a_chain_evaluates_each_operand_once() -> None:
    seen = []

    def middle(x: Any) -> Any:
        seen.append(1)
        return x.sum()

    def f(x: Any) -> Any:
        return 0 < middle(x) <= 6 != x[0]

    program = samara.script(f, samara.ones(3))
    assert len(seen) == 1
    for v in ([1, 2, 3], [6, 0, 0], [9, 0, 0], [-1, 0, 0]):
        x = np.array(v, np.float32)
        want = 0 < x.sum() <= 6 != x[0]
        assert bool(program.run({"x": x})["output"]) == want
