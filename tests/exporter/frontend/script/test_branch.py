# SPDX-License-Identifier: Apache-2.0
"""Merging the values of the two sides of a decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.script.agree import agree

import samara

UP, DOWN = np.array([1, 2, 3], np.float32), np.array([-1, -2, -3], np.float32)


def check(f: Any, nodes: int = 1) -> samara.Program:
    """Script the function: the Program agrees with it and has this number of `if` nodes."""
    program = samara.script(f, samara.ones(3))
    for x in (UP, DOWN):
        agree(program, f, [x])
    assert sum(n.op.name == "if" for n in program.main.nodes) == nodes
    return program


def test_numbers_become_tensors_where_they_differ() -> None:
    def f(x: Any) -> Any:
        n, same = 1, 4
        scale: float = 1
        if x.sum() > 0:
            n, scale = 2, 2.5
        return n, x * scale, same, n + same

    program = check(f)
    dtypes = [v.type.dtype.public_name for v in program.main.outputs]
    assert dtypes == ["int64", "float32", "int64", "int64"]


def test_only_values_that_are_read_later_are_outputs() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            t = x * 2
            y = t + 1
        else:
            t = x.sum()
            y = x - t
        return y

    program = check(f)
    (node,) = (n for n in program.main.nodes if n.op.name == "if")
    assert len(node.outputs) == 1


def test_a_value_of_another_type_is_refused_only_where_it_is_used() -> None:
    def f(x: Any) -> Any:
        kind: Any = "none"
        if x.sum() > 0:
            kind = "up"
        del kind
        return x

    check(f, nodes=0)


def test_aliases_stay_aliases() -> None:
    def f(x: Any) -> Any:
        a = x + 0
        b = a
        parts = [a, x]
        if x.sum() > 0:
            a += 1
            parts[1] = a
        return a, b, parts

    check(f)


def test_dicts_and_tuples() -> None:
    def f(x: Any) -> Any:
        d = {"a": x, "b": (x, 1)}
        if x.sum() > 0:
            d = {"a": x + 1, "b": (x, 2)}
            d["a"] = d["a"] * 2
        else:
            d.update(a=x - 1)
        return d

    check(f)


def test_sizes_that_differ() -> None:
    def f(x: Any) -> Any:
        y = samara.cat([x, x]) if x.sum() > 0 else x
        return y, y.shape[0], y.sum()

    check(f)


def test_a_list_that_grows_on_one_side() -> None:
    def f(x: Any) -> Any:
        out = [x]
        if x.sum() > 0:  # here
            out.append(x)
        return out

    with pytest.raises(samara.ScriptError, match="'out' is list of 2 or list of 1"):
        samara.script(f, samara.ones(3))


def test_both_sides_raise() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            if x[0] > 0:
                raise ValueError("first")
            raise KeyError("second")
        return x

    program = samara.script(f, samara.ones(3))
    np.testing.assert_array_equal(program.run({"x": DOWN})["output"], DOWN)
    for x in (UP, np.array([-1, 5, 5], np.float32)):
        with pytest.raises(samara.ShapeError, match=r"first|second"):
            program.run({"x": x})


def test_a_variable_of_the_program_in_a_branch() -> None:
    total = samara.zeros(3)

    def f(x: Any) -> Any:
        if x.sum() > 0:
            total.add_(x)
        return total * 1

    program = samara.script(f, samara.ones(3))
    (variable,) = program.variables
    state = {variable.name: variable.initial.copy()}
    for x in (UP, DOWN, UP):
        got = program.run({"x": x}, state=state)["output"]
    np.testing.assert_array_equal(got, UP * 2)
    np.testing.assert_array_equal(total.numpy(), 0)
