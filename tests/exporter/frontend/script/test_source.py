# SPDX-License-Identifier: Apache-2.0
"""Finding syntax trees of functions, and functions of syntax trees."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

import samara
from samara.exporter.frontend.script import source
from samara.pybridge.errors import ScriptError

pair: Any = (lambda x: x + 1, lambda y: y + 2)
twins: Any = [lambda x: x + 1, lambda x: x + 2]  # fmt: skip


def again(f: Any) -> Any:
    """The function compiled once more from its tree."""
    node = source.definition_of(f)
    assert node is not None
    return source.with_code(f, source.compiled(f, node), None)


def outer(base: int) -> Any:
    total = base

    def inner(x: int, y: int = 5, *rest: int, z: int = 7) -> int:
        """Adds."""
        nonlocal total
        total += x + y + sum(rest) + z
        return total

    return inner


def test_closures_defaults_and_lines_stay() -> None:
    f = outer(100)
    made = again(f)
    assert made(1) == 113
    assert made(1, 2, 3, z=4) == 123
    assert f(1) == 136  # both share the variable `total`
    assert made.__code__.co_filename == __file__
    assert made.__code__.co_firstlineno == f.__code__.co_firstlineno
    assert (made.__name__, made.__doc__) == ("inner", "Adds.")
    raised = again(_raises)
    with pytest.raises(ZeroDivisionError) as error:
        raised(0)
    trace = error.tb
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert trace.tb_lineno == _raises.__code__.co_firstlineno + 2


def _raised(x: int) -> float:
    y = x + 1
    return y / (y - 1)


_raises: Any = _raised


class Base:
    def value(self) -> int:
        return 3


class Derived(Base):
    __secret = 4

    def value(self) -> int:
        return super().value() * self.__secret


def test_methods_keep_private_names_and_super() -> None:
    made = again(Derived.value)
    assert made(Derived()) == 12


def test_lambdas() -> None:
    assert again(pair[1])(1) == 3
    with pytest.raises(ScriptError, match="cannot be told apart"):
        source.definition_of(twins[0])


def test_trees_are_copies() -> None:
    first = source.definition_of(_raises)
    assert isinstance(first, ast.FunctionDef)
    first.body.clear()
    second = source.definition_of(_raises)
    assert isinstance(second, ast.FunctionDef)
    assert second.body


def test_no_source() -> None:
    space: dict[str, Any] = {}
    exec("f = lambda x: x", space)
    assert source.definition_of(space["f"]) is None


def test_library_code_is_known() -> None:
    library: list[Any] = [samara.tensor, textwrap.dedent]
    assert all(map(source.is_library, library))
    assert not source.is_library(_raises)
