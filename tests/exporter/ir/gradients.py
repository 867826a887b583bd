# SPDX-License-Identifier: Apache-2.0
"""Helpers of gradient tests: small programs and a check of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, save_program, verify
from samara.exporter.passes import PIPELINE, run_passes

Feeds = Mapping[str, Any]
Build = Callable[[Builder], Mapping[str, Value]]


def built(build: Build) -> Program:
    """A program of one entry; `build` returns its outputs by name."""
    b = ProgramBuilder().function("main")
    outputs = build(b)
    b.finish(list(outputs.values()), list(outputs))
    return b.program.finish(["main"])


def squared(b: Builder, *values: Value) -> Value:
    """The sum of all squares, as a scalar."""
    total: Value | None = None
    for v in values:
        part = b.op("reduce_sum", b.op("mul", v, v), axes=tuple(range(v.type.rank)))
        total = part if total is None else b.op("add", total, part)
    assert total is not None
    return total


def with_loss(program: Program) -> Program:
    """The program with the sum of the squares of its floating-point outputs as output "loss"."""
    maker = ProgramBuilder.of(program)
    b = maker.reopen(program.main)
    loss = squared(b, *(v for v in program.main.outputs if v.type.dtype.is_float))
    b.finish([*program.main.outputs, loss], [*program.main.output_names, "loss"])
    return maker.finish([program.main.name])


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def differences(program: Program, feeds: Feeds, name: str) -> np.ndarray[Any, Any]:
    """The gradient of "loss" by fourth-order central differences, within float32 precision."""
    x = np.asarray(feeds[name])
    found = np.zeros(x.shape)
    step = 2.0**-6

    def loss(at: tuple[int, ...], by: float) -> float:
        moved = x.copy()
        moved[at] += np.float32(by)
        return float(program.run({**feeds, name: moved})["loss"])

    for at in np.ndindex(x.shape):
        near, far = (loss(at, k * step) - loss(at, -k * step) for k in (1, 2))
        found[at] = (8 * near - far) / (12 * step)
    return found


def check(
    program: Program,
    feeds: Sequence[Feeds],
    wrt: Sequence[str],
    folder: Path,
    tolerance: float = 2e-4,
) -> Program:
    """Check the gradients against differences, after the passes and in the C runtime too."""
    made = program.gradient("loss", wrt)
    verify(made)
    lean, _ = run_passes(made, PIPELINE)
    save_program(lean, folder / "lean.samara")
    save_program(made, folder / "plain.samara")
    sessions = [samara.Session(folder / f"{name}.samara") for name in ("lean", "plain")]
    for f in feeds:
        want = made.run(f)
        assert set(want) == {*program.main.output_names, *(f"grad/{n}" for n in wrt)}
        for name in wrt:
            got = want[f"grad/{name}"]
            assert got.shape == np.shape(f[name])
            near = differences(program, f, name)
            scale = 1 + np.abs(near).max(initial=0)
            np.testing.assert_allclose(got, near, rtol=0, atol=tolerance * scale)
        for other in (lean.run(f), *(s.run(f) for s in sessions)):
            for name, array in want.items():
                scale = 1 + np.abs(array).max(initial=0)
                np.testing.assert_allclose(other[name], array, rtol=0, atol=2e-5 * scale)
    return made
