# SPDX-License-Identifier: Apache-2.0
"""Texts of values that only the run knows: they may become part of texts, but nothing can depend on them."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara.exporter.frontend.script import texts
from samara.exporter.frontend.script.texts import Said, joined, percent, piece, spoken
from samara.pybridge.errors import ScriptError


def test_pieces_that_are_known_are_python() -> None:
    assert joined("a ", piece(2.5, "x", -1, ".2f"), piece("b", "y", 114)) == "a 2.50'b'"
    assert not isinstance(joined("a", "b"), Said)
    assert percent("%d", 3, "x") is NotImplemented
    assert spoken(str, ("x",), (3,), {}) is NotImplemented


def test_texts_of_traced_values() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        text = Said("{x}")
        seen.append(str.__str__(joined("a ", text, piece(text, "text", 114))))
        seen.append(str.__str__("<" + text + ">"))
        seen.append(str.__str__(percent("%% %(a)5.1f", {"a": x}, {"a": "x"})))
        seen.append(str.__str__(percent("%-3d|%*d|%s", (1, 5, x, x), ("1", "5", "x", "y"))))
        seen.append(str.__str__(spoken("-{:.2f}-{b}".format, ("x[0]",), (x,), {"b": 1})))
        seen.append(str.__str__(spoken(", ".join, ("z",), ([text, "b"],), {})))
        seen.append(str.__str__(spoken(repr, ("x",), (x,), {})))
        seen.append(str(spoken(ValueError, (), (x,), {})))
        return x

    samara.script(_keeping(f), (samara.tensor([1.0]),))
    assert seen[0] == "a {x}'{x}'"
    assert seen[1] == "<{x}>"
    assert seen[2] == "% {x}"
    assert seen[3] == "1  |  {x}|{y}"
    assert seen[4] == "-{x[0]}-1"
    assert seen[5] == "{x}, b"
    assert seen[6] == "{x}"
    assert seen[7] == "{float32[1]}"


def _keeping(f: Any) -> Any:
    """f called as library code is: not rewritten."""
    return lambda x: _Call(f)(x)


class _Call:
    def __init__(self, f: Any) -> None:
        self.f = f

    def __call__(self, x: Any) -> Any:
        return self.f(x)


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t == "a",
        lambda t: {t: 1},
        lambda t: len(t),
        lambda t: t[0],
        lambda t: "a" in t,
        lambda t: t.startswith("a"),
        lambda t: bool(t),
        lambda t: list(t),
        lambda t: t < "a",
    ],
)
def test_nothing_is_decided(use: Any) -> None:
    with pytest.raises(ScriptError, match="depends on a value that is known only when"):
        samara.script(lambda x: (use(f"{x.sum()}"), x)[1], (samara.tensor([1.0]),))


def test_module_says_what_it_makes() -> None:
    assert texts.depends([1, (Said("{x}"),)])
    assert texts.depends({"a": Said("{x}")})
    assert not texts.depends([1, {"a": "b"}])
