# SPDX-License-Identifier: Apache-2.0
"""Functions whose jumps were lowered give the same results as before."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import pytest

from samara.exporter.frontend.script import source
from samara.exporter.frontend.script.jumps import STOPS, lower_jumps


def early(a: int, b: int) -> Any:
    if a > 1:
        return "big"
    if b > 1:
        if a == b:
            return "same"
        b += 10
    else:
        return "small", a
    return a, b


def loops(a: int, b: int) -> Any:
    out: list[Any] = []
    for i in range(a + 3):
        if i == b:
            continue
        for j in range(4):
            if j == 2 and i == 1:
                break
            if i + j == 6:
                return "six", out
            out.append((i, j))
        else:
            out.append("else")
        if len(out) > 9:
            break
    else:
        out.append("whole")
    return out


def whiles(a: int, b: int) -> Any:
    steps = 0
    while True:
        steps += 1
        if steps > 20:
            return steps
        if a > 3:
            break
        a += 1
        if b:
            continue
        a += 1
    while b > 0:
        b -= 1
        with open("/dev/null"):
            if b == 1:
                break
    else:
        steps += 100
    return a, b, steps


def blocks(a: int, b: int) -> Any:
    seen: list[Any] = []
    try:
        if a == 2:
            return "tried"
        seen.append(10 // a)
        if b == 2:
            raise KeyError(b)
    except ZeroDivisionError:
        return "zero"
    except KeyError:
        seen.append("key")
    finally:
        seen.append("finally")
    match b:
        case 0:
            return seen, "none"
        case 1:
            seen.append("one")
    return seen


def falls_off(a: int, b: int) -> Any:  # noqa: RET503
    for i in range(a):
        if i == b:
            return i


def nested(a: int, b: int) -> Any:
    def inner(x: int) -> Any:
        if x:
            return x
        return -1

    if a:
        return inner(b)
    return inner(a), [x for x in range(b) if x]


FUNCTIONS = (early, loops, whiles, blocks, falls_off, nested)


@pytest.mark.parametrize("f", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_nothing_changes(f: Any) -> None:
    node = source.definition_of(f)
    assert isinstance(node, ast.FunctionDef)
    lower_jumps(node)
    own = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
    expected = 3 if f is nested else 1  # nested functions are lowered on their own
    assert len(own) == expected
    assert not [n for n in ast.walk(node) if isinstance(n, (ast.Break, ast.Continue))]
    # Rewriting would make the loops test their flags; here the test adds that.
    for n in ast.walk(node):
        if isinstance(n, (ast.For, ast.While)):
            n.body = [_stopping(getattr(n, STOPS)), *n.body]
    made = source.with_code(f, source.compiled(f, node), None)
    for a, b in itertools.product(range(4), range(4)):
        assert made(a, b) == f(a, b), (a, b)


def _stopping(flags: tuple[str, ...]) -> ast.stmt:
    return ast.parse(f"if {' or '.join(flags) or 'False'}: break").body[0]


def test_a_plain_function_is_left_alone() -> None:
    plain: Any = _stopping
    node = source.definition_of(plain)
    assert isinstance(node, ast.FunctionDef)
    before = ast.dump(node)
    lower_jumps(node)
    assert ast.dump(node) == before
