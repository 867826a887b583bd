# SPDX-License-Identifier: Apache-2.0
"""Python's builtins, indices and sizes on traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.script.agree import agree

import samara


def check(f: Any, values: Any, dynamic: bool = True) -> samara.Program:
    """Script the function on three elements: the Program agrees with it for each of `values`."""
    program = samara.script(
        f, samara.tensor([1.0, 2.0, 3.0]), dynamic={"x": {0: "n"}} if dynamic else None
    )
    for v in values:
        agree(program, f, [np.array(v, np.float32)])
    return program


def test_numbers_from_tensors() -> None:
    def f(x: Any) -> Any:
        k = int(x[0] * 1.5)
        return k, float(k), bool(x[1]), x.sum().item() + 1, abs(x[0]), int("7") + k

    check(f, ([2, 0, 3], [-1, 5], [4, 4, 4, 4]))


def test_lengths_and_extremes() -> None:
    def f(x: Any) -> Any:
        return len(x), max(len(x), 4), min(x.sum(), x[0]), max([x[0], 2.5, x[1]]), max(3, 4)

    check(f, ([1, 2, 3], [5, -6], [1] * 9))


def test_all_and_any() -> None:
    def f(x: Any) -> Any:
        small = all(v < 3 for v in (x[0], x[1]))
        return small, any([x[0] > 5, x[1] > 5]), any([False, True]), all(w > 0 for w in (1, 2))

    check(f, ([1, 2], [1, 9], [9, 9]))


def test_slices_and_sizes() -> None:
    def f(x: Any) -> Any:
        k = int(x[0])
        square = samara.ones(k, k) * 2
        parts = x[k:], x[:-1], x[k - 1], x[None, :k]
        return *parts, x[:k].reshape(1, k), square, samara.arange(1, k)

    check(f, ([1, 2, 3], [2, 5, 6, 7], [3, 3, 3]))


def test_full_of_a_traced_value() -> None:
    def f(x: Any) -> Any:
        return samara.full((2, x.shape[0]), x[0]), samara.zeros_like(x) + 1

    check(f, ([1, 2, 3], [7, 8]))


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_ranges(step: int) -> None:
    def f(x: Any) -> Any:
        total, last = 0, -5
        for k in range(int(x[0]), int(x[1]), step):
            total += k
            last = k
        return total, last

    check(f, ([0, 7, 0], [7, 0, 0], [3, 3, 3], [-2, 5, 1], [5, -4, 1], [1, 2, 0]))


def zero_step(x: Any) -> Any:
    for _ in range(0, int(x[0]), 0):
        x = x + 1
    return x


def float_range(x: Any) -> Any:
    for _ in range(x[0]):
        x = x + 1
    return x


def traced_step(x: Any) -> Any:
    for _ in range(0, 5, int(x[0])):
        x = x + 1
    return x


def list_cut(x: Any) -> Any:
    return [x, x][: int(x[0])]


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (zero_step, ValueError, "must not be zero"),
        (float_range, samara.ScriptError, "range of a tensor of float32"),
        (traced_step, samara.ScriptError, "step of this range"),
        (list_cut, samara.ScriptError, "list is sliced at a position that is known only"),
    ],
)
def test_refusals(f: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        samara.script(f, samara.ones(3))


def test_new_tensors_may_change_in_place() -> None:
    def f(x: Any) -> Any:
        out = samara.zeros(3)
        out += x
        out[1] = 9.0
        return out, samara.tensor([1, 2, 3]) + 1

    check(f, ([1, 2, 3], [4, 5, 6]), dynamic=False)
