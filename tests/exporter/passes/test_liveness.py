# SPDX-License-Identifier: Apache-2.0
"""Lifetimes of tensors: the Python model of the plan against the runtime's plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.passes.programs import conv, normal, program

from samara.exporter.ir import Builder, Program, save_program
from samara.exporter.package.memory_plan import live_bytes
from samara.exporter.passes._liveness import lives_of
from samara.pybridge import Session


def _fork(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [1, 4, 4, 8]))
    wide = conv(b, x, 32, seed=1)
    return b.op("add", conv(b, wide, 8, seed=2), conv(b, x, 8, seed=3))


def _in_place(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [300]))
    y = b.op("mul", b.op("relu", x), x)
    return b.op("neg", b.op("add", y, 1.0))


def _views(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [1, 12, 8]))
    parts = b.op("split", x, sizes=(4, 8), axis=1)
    joined = b.op("concat", b.op("exp", parts[1]), b.op("sin", parts[0]), axis=1)
    flat = b.op("reshape", joined, shape=(96,))
    return b.op("tanh", flat)


def _channels(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [1, 4, 4, 8]))
    joined = b.op("concat", conv(b, x, 16, seed=1), conv(b, x, 32, seed=2), axis=3)
    return conv(b, joined, 4, seed=4)


def _two_outputs(b: Builder) -> Any:
    x = b.op("exp", b.input("x", "f32", [3, 100]))
    return b.op("sin", x), b.op("matmul", b.op("cos", x), b.const(normal(100, 7)))


@pytest.mark.parametrize("build", [_fork, _in_place, _views, _channels, _two_outputs])
def test_it_says_what_the_runtime_plans(build: Callable[[Builder], Any], tmp_path: Path) -> None:
    made = program(build)
    lives = lives_of(made.main, is_entry=True)
    assert lives is not None
    said = lives.live(range(len(made.main.nodes)))
    # Compare tensors only; scratch depends on kernels.
    planned = [r for r in _rows(made, tmp_path) if r.kind == "tensor"]
    assert max(live_bytes(planned)) == max(said)
    assert live_bytes(planned)[: len(said)] == said[: len(live_bytes(planned))]


def _rows(made: Program, folder: Path) -> Any:
    save_program(made, folder / "m.samara")
    return Session(folder / "m.samara", threads=1).memory()


def test_unbounded_sizes_cannot_be_compared() -> None:
    def build(b: Builder) -> Any:
        return b.op("exp", b.op("sin", b.input("x", "f32", ["n", 4])))

    assert lives_of(program(build).main, is_entry=True) is None


def test_results_of_a_callee_have_places_of_their_own() -> None:
    made = program(_channels)
    entry = lives_of(made.main, is_entry=True)
    callee = lives_of(made.main, is_entry=False)
    assert entry is not None
    assert callee is not None
    last = len(made.main.nodes) - 1
    assert callee.live(range(last + 1))[last] < entry.live(range(last + 1))[last]
