# SPDX-License-Identifier: Apache-2.0
"""Rewritten functions of ordinary Python give the same results as the originals."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import pytest

from samara.exporter.frontend.script import runtime
from samara.exporter.frontend.script.convert import converted
from samara.exporter.frontend.script.tracer import ScriptTracer


def arguments(a: int, /, b: int, *rest: int, c: int = 3, **more: int) -> Any:
    return a, b, rest, c, more, dict(a=a, **more), [*rest, a]


def statements(a: int, b: int, *_: int) -> Any:
    x = y = a
    x += 1
    (x, *z), w = [x, y, b], {"k": b}
    w["k"] += 5
    z[0], w["n"] = w["k"], 7
    del w["n"], z[-1:]
    number: int = 4
    empty: list[int]
    empty = []
    empty += [number]
    if (not a and b) or x > y >= 0:
        fresh = "set"
    else:
        fresh = "unset"
    del y
    assert number == 4, "never"
    return x, z, w, empty, fresh, f"{a!r:>4}|{b + 1}", "yes" if a else "no", a < b < 9, not a


def control(a: int, b: int) -> Any:
    out: list[Any] = []
    i = 0
    while i < a:
        i += 1
        if i == b:
            continue
        for j in range(i):
            if j == 3:
                break
            out.append((i, j))
        else:
            out.append("all")
        if len(out) > 12:
            return "long", out
    else:
        out.append("done")
    try:
        out.append(10 // b)
    except ZeroDivisionError as error:
        out.append(str(error))
    else:
        out.append("fine")
    finally:
        out.append("end")
    with contextlib.suppress(KeyError):
        raise KeyError(a)
    return out


def scopes(a: int, b: int) -> Any:
    count = 0

    def bump(by: int = b) -> int:
        nonlocal count
        if by > 1:
            count += by
        return count

    square: Any = lambda v: v * v if v > 1 else -v  # noqa: E731
    firsts = [bump(k) + square(k) for k in range(a) if k != 2]
    table = {k: square(v) for k, v in zip("abc", firsts, strict=False)}
    if (half := a // 2) > 1:
        firsts.append(half)
    total = sum(x for x in firsts)
    return firsts, table, count, total, {x % 2 for x in firsts}, sorted(firsts, key=lambda v: -v)


def matches(a: int, b: int) -> Any:
    match (a, b):
        case (0, other):
            return "zero", other
        case (1 | 2 as few, _) if few == b:
            kind = "few"
        case _:
            kind = "many"
    return kind


def recursion(a: int, b: int) -> Any:
    if a <= 1:
        return b
    return recursion(a - 1, b) + recursion(a - 2, b)


_TOTAL = 0


def globals_(a: int, b: int) -> Any:
    global _TOTAL
    if a:
        _TOTAL = a + b
    return _TOTAL


def _numbers(n: int) -> Iterator[int]:
    for k in range(n):
        if k % 2:
            yield k


def generators(a: int, b: int) -> Any:
    return list(_numbers(a + b)), [x + 1 for x in _numbers(b)], dict.fromkeys(_numbers(a))


class Shape:
    scale = 2

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, by: int) -> int:
        if by > 1:
            return self.area() * by
        return self.area()

    def area(self) -> int:
        return self.size * self.scale

    @staticmethod
    def unit() -> int:
        return 1

    @classmethod
    def of(cls, size: int) -> Shape:
        return cls(size)


class Square(Shape):
    def area(self) -> int:
        if self.size > 1:
            return super().area() * self.size
        return super().area()


def classes(a: int, b: int) -> Any:
    s = Square.of(a)
    s.size += b
    half = functools.partial(s, 2)
    return s(b), half(), Shape(b).area(), Shape.unit(), max(a, b), min([a, b]), all([a, b]), any([])


FUNCTIONS = (
    *(arguments, statements, control, scopes, matches, recursion, globals_, generators, classes),
)


@pytest.mark.parametrize("f", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_plain_python_stays_what_it_is(f: Any) -> None:
    with ScriptTracer("main", {}, runtime) as tracer:
        made = converted(f, runtime)
        assert made is not f
        for a in range(5):
            for b in range(5):
                assert made(a, b) == f(a, b), (a, b)
        assert made(2, 3) == f(2, 3)
        assert tracer.root.nodes == []
    assert arguments(1, 2, 3, d=4)[2:] == ((3,), 3, {"d": 4}, {"a": 1, "d": 4}, [3, 1])


def unbound(a: int, b: int) -> Any:
    if a > 100:
        y = 1
    return y


def test_a_variable_without_a_value_is_python_s_own_error() -> None:
    with ScriptTracer("main", {}, runtime), pytest.raises(UnboundLocalError, match="'y'"):
        converted(unbound, runtime)(1, 2)


def raises(a: int, b: int) -> Any:
    if a:
        raise ValueError(f"a is {a}") from KeyError(b)
    raise KeyError


def test_errors_pass_through() -> None:
    with ScriptTracer("main", {}, runtime):
        with pytest.raises(ValueError, match="a is 3") as error:
            converted(raises, runtime)(3, 4)
        assert isinstance(error.value.__cause__, KeyError)
        with pytest.raises(KeyError):
            converted(raises, runtime)(0, 0)
        with pytest.raises(AssertionError, match="never"):
            converted(_asserts, runtime)(1)


def _asserts(a: int) -> None:
    assert a != 1, "never"
