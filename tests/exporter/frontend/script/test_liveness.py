# SPDX-License-Identifier: Apache-2.0
"""Which variables are read after branches and at the heads of loops."""

from __future__ import annotations

import ast
import textwrap

from samara.exporter.frontend.script.liveness import LIVE, annotate, stored


def live_in(text: str) -> list[set[str]]:
    """The names that are live after each `if`, and at the head of each loop, in order."""
    function = ast.parse(textwrap.dedent(text)).body[0]
    assert isinstance(function, ast.FunctionDef)
    annotate(function)
    found = [n for n in ast.walk(function) if hasattr(n, LIVE)]
    found.sort(key=lambda n: n.lineno)  # type: ignore[attr-defined]
    return [set(getattr(n, LIVE)) for n in found]


def test_after_an_if() -> None:
    assert live_in("""
        def f(x):
            if x:
                t = 1
                y = t
            else:
                y = 2
            t = 3
            return y + t
    """) == [{"y"}]


def test_at_the_head_of_a_loop() -> None:
    assert live_in("""
        def f(x, n):
            total = 0
            for i in range(n):
                t = x + i
                total = total + t
                if t:
                    u = t
            return total
    """) == [{"total", "x"}, {"total", "x"}]
    assert live_in("""
        def f(x):
            while x > 0:
                last = x
                x = x - 1
            return last
    """) == [{"x", "last"}]


def test_what_a_trip_leaves_for_the_next() -> None:
    (head,) = live_in("""
        def f(n):
            old = 0
            for i in range(n):
                new = old
                old = i
            return 1
    """)
    assert head == {"old"}


def test_nested_functions_and_try_keep_names_live() -> None:
    assert live_in("""
        def f(x):
            def g():
                return y
            if x:
                y = 1
            return g()
    """) == [{"y", "g"}]
    ((_, after)) = live_in("""
        def f(x):
            try:
                if x:
                    y = 1
                    z = 2
            finally:
                print(y)
            if x:
                y = 2
            return 1
    """)[::-1]
    assert "y" in after
    assert "z" not in after


def test_stored_names() -> None:
    text = """
        a, (b, *c) = 1, (2, 3)
        d += 1
        import os.path, sys as system
        with x as e: pass
        for f in y: pass
        def g(h): i = 1
        [j for j in y if (k := j)]
        try: pass
        except ValueError as m: pass
        z[0] = w.v = 1
    """
    assert stored(ast.parse(textwrap.dedent(text)).body) == [
        *("a", "b", "c", "d", "os", "system", "e", "f", "g", "k", "m")
    ]
