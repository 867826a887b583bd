# SPDX-License-Identifier: Apache-2.0
"""Which values loops carry, and with which types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.script.agree import agree

import samara
from samara.exporter.ir.program import Node


def check(f: Any, trips: tuple[int, ...] = (0, 1, 4)) -> samara.Program:
    """Script a function of (x, n): the Program agrees with it."""
    program = samara.script(f, (samara.ones(3), samara.tensor(2)))
    for n in trips:
        agree(program, f, [np.array([1, 2, 3], np.float32), np.array(n)])
    return program


def loop_of(program: samara.Program) -> Node:
    (node,) = (n for n in program.main.nodes if n.op.name == "loop")
    return node


def test_only_what_changes_is_carried() -> None:
    def f(x: Any, n: Any) -> Any:
        same = x * 2
        a, b = x, 3
        for _ in range(n):
            t = a * b + same
            a = t / 2
            same = same
        return a, b, same

    assert loop_of(check(f)).attrs["carried"] == 1


def test_a_python_number_takes_the_dtype_of_what_it_becomes() -> None:
    def f(x: Any, n: Any) -> Any:
        total, count, flag = 0, 0, False
        for k in range(n):
            total = total + x.sum()
            count += k
            flag = flag or k > 1
        return total * 1.0, count, flag

    types = [v.type.dtype.public_name for v in loop_of(check(f)).outputs]
    assert sorted(types) == ["bool", "float32", "int64"]


def test_values_change_places() -> None:
    def f(x: Any, n: Any) -> Any:
        a, b = x, x * 10
        for _ in range(n):
            a, b = b, a + 1
        return a, b

    check(f)


def test_lists_are_carried_by_element() -> None:
    def f(x: Any, n: Any) -> Any:
        layers = [x, x * 2]
        alias = layers
        for k in range(n):
            layers[0] = layers[0] + layers[1] * k
        return layers, alias

    check(f)


def test_sizes_that_change_by_data() -> None:
    def f(x: Any, n: Any) -> Any:
        y = x
        while y.shape[0] < 10:
            y = samara.cat([y, y[:n]])
        return y, y.shape[0]

    check(f, trips=(1, 2, 5))


def test_a_result_found_in_a_loop() -> None:
    def f(x: Any, n: Any) -> Any:
        for k in range(n):
            for j in range(k):
                if j + k == 5:
                    return {"at": (k, j), "y": x[:2] * j}
        return {"at": (-1, -1), "y": x[1:]}

    check(f, trips=(0, 3, 9))


def test_python_loops_with_a_traced_break() -> None:
    def f(x: Any, n: Any) -> Any:
        for k, scale in enumerate([1.0, 2.0, 3.0]):
            if k == n:
                break
            x = x * scale
        else:
            x = x + 100
        return x

    check(f)


def test_variables_of_the_program_in_a_loop() -> None:
    total = samara.zeros(3)

    def f(x: Any, n: Any) -> Any:
        for k in range(n):
            total.add_(x * k)
        return total + 0

    program = samara.script(f, (samara.ones(3), samara.tensor(2)))
    (variable,) = program.variables
    state = {variable.name: variable.initial.copy()}
    x = np.array([1, 2, 3], np.float32)
    got = program.run({"x": x, "n": np.array(4)}, state=state)["output"]
    np.testing.assert_array_equal(got, x * 6)
    np.testing.assert_array_equal(state[variable.name], x * 6)


def test_a_loop_that_always_fails() -> None:
    def f(x: Any, n: Any) -> Any:
        for _ in range(n):
            raise ValueError("no")
        return x

    with pytest.raises(samara.ScriptError, match=r"always ends in an error: .*ValueError: no"):
        samara.script(f, (samara.ones(3), samara.tensor(2)))
