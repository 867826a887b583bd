# SPDX-License-Identifier: Apache-2.0
"""Texts of options as values, and wrong ones as wrong usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer

from samara.cli import _options as opt


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (None, {}),
        (["a=b", "c=d"], {"a": "b", "c": "d"}),
        (["serving_default_input:0=NHWC"], {"serving_default_input:0": "NHWC"}),
        (["x=y=NHWC"], {"x=y": "NHWC"}),
    ],
)
def test_pairs(texts: list[str] | None, expected: dict[str, str]) -> None:
    assert opt.pairs(texts, "--layout") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1x3x224x224", (1, 3, 224, 224)),
        ("x=nx3", ("n", 3)),
        ("x=1,3,height,width", (1, 3, "height", "width")),
        ("x=7", (7,)),
        ("x=scalar", ()),
        ("x=n", ("n",)),
    ],
)
def test_shapes(text: str, expected: tuple[int | str, ...]) -> None:
    assert opt.shapes([text]) == {"x": expected}


def test_sizes_of_a_run_are_numbers() -> None:
    assert opt.sizes(["x=1x3", "y=scalar"]) == {"x": (1, 3), "y": ()}
    with pytest.raises(typer.BadParameter, match="needs numbers"):
        opt.sizes(["x=nx3"])


def test_bounds_names_numbers_and_files() -> None:
    assert opt.bounds(["n<=1000", "a.b <= 5"]) == {"n": 1000, "a.b": 5}
    assert opt.names(["a,b", "c"]) == ["a", "b", "c"]
    assert opt.names(None) is None
    assert opt.names([]) is None
    assert opt.numbers("1,2", "--threads") == [1, 2]
    assert opt.files(["x=a.npy", "all.npz", "=b.npy"]) == ({"x": "a.npy"}, ["all.npz", "=b.npy"])
    assert opt.files(None) == ({}, [])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: opt.pairs(["a"], "--state"),
        lambda: opt.pairs(["=b"], "--state"),
        lambda: opt.pairs(["a="], "--state"),
        lambda: opt.shapes(["x=1x"]),
        lambda: opt.shapes(["x=1x-3"]),
        lambda: opt.shapes(["x=1 2"]),
        lambda: opt.bounds(["n=5"]),
        lambda: opt.bounds(["n<=many"]),
        lambda: opt.numbers("1,two", "--threads"),
        lambda: opt.numbers("0", "--threads"),
    ],
)
def test_wrong_texts(wrong: Callable[[], Any]) -> None:
    with pytest.raises(typer.BadParameter):
        wrong()
