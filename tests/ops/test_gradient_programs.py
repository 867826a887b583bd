# SPDX-License-Identifier: Apache-2.0
"""Every gradient rule as nodes of a Program: with symbolic sizes, and in the C runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.ops.test_gradients import DIFFERENTIABLE, REFUSING, Wide, covering, projections

import samara
from samara.exporter.conformance.programs import OneNode, one_node
from samara.exporter.ir import Program, ProgramBuilder, Value, to_bytes
from samara.exporter.ops import OpSpec
from samara.exporter.testing import Array
from samara.exporter.types import ShapeError, UnsupportedError

# Gradients of float32 programs against the rule in float64, in units of the largest element.
CLOSE = 2e-4


@dataclass(frozen=True)
class Made:
    """A program with gradients, what to feed it, and what they are in float64."""

    program: Program
    feeds: Mapping[str, Array]
    want: Mapping[str, Array]
    symbolic: bool


def narrow(wide: Wide, program: Program) -> dict[str, Array]:
    """The inputs in the program's dtypes."""
    dtypes = {v.name: v.type.dtype.numpy for v in program.main.inputs}
    feeds = {f"x{i}": x for i, x in enumerate(wide.inputs) if x is not None}
    return {name: x.astype(dtypes.get(name, x.dtype)) for name, x in feeds.items()}


def gradient_program(wide: Wide) -> Made | None:
    """The operator and its gradients, its sizes symbols where the operator can be written so."""
    dtypes = {c[0] for c in wide.case.inputs if isinstance(c, tuple)} | {wide.case.attrs.get("to")}
    if dtypes & {"f16", "bf16", "f64"}:
        # Half precision is as coarse in its gradients; operators of backward passes take no f64.
        return None
    symbolic = True
    try:
        made = one_node(wide.op, wide.case, "symbols")
    except ShapeError:
        made = None
    if made is None:
        symbolic, made = False, one_node(wide.op, wide.case, "static")
    assert made is not None
    xs = [np.asarray(wide.inputs[i]) for i in wide.moving]
    dys = projections(wide, wide.run(wide.inputs))
    grads = wide.rule(xs, dys)
    names = [f"x{i}" for i in wide.moving]
    want = {
        f"grad/{n}": np.zeros(x.shape) if g is None else g
        for n, x, g in zip(names, xs, grads, strict=True)
    }
    program = projected(made, dys).gradient("loss", names, outputs=[])
    return Made(program, narrow(wide, made.program), want, symbolic)


def projected(made: OneNode, dys: list[Any]) -> Program:
    """The program with the inner product of its outputs and `dys` as output "loss"."""
    maker = ProgramBuilder.of(made.program)
    b = maker.reopen(made.program.main)
    total: Value | None = None
    for y, dy in zip(made.program.main.outputs, dys, strict=True):
        if dy is None:
            continue
        wide = b.op("cast", y, to="f32")
        share = b.op("mul", wide, b.const(np.asarray(dy, np.float32)))
        part = b.op("reduce_sum", share, axes=tuple(range(y.type.rank)))
        total = part if total is None else b.op("add", total, part)
    assert total is not None
    b.finish([total], ["loss"])
    return maker.finish(["main"])


def wrong(got: Mapping[str, Array], want: Mapping[str, Array]) -> list[str]:
    found = []
    for name, y in want.items():
        known = np.isfinite(y)
        limit = CLOSE * (1 + float(np.abs(y).max(initial=0, where=known)))
        if got[name].shape != y.shape:
            found.append(f"{name} has shape {got[name].shape}, expected {y.shape}")
        elif not np.all(np.abs(got[name] - y) <= limit, where=known):
            found.append(f"{name}: {np.nanmax(np.abs(got[name] - y)):.3g} off, limit {limit:.3g}")
    return found


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_rule_in_a_program(op: OpSpec) -> None:
    """Program.gradient agrees with the rule on arrays, interpreted and in the C runtime."""
    found = []
    for wide in covering(op):
        try:
            made = gradient_program(wide)
        except UnsupportedError as error:
            assert error.op in REFUSING, error  # noqa: PT017
            continue
        if made is None:
            continue
        where = f"{op.name}-{wide.case.name} {wide.case.attrs}"
        session = samara.Session(samara.Model(to_bytes(made.program)), threads=1)
        for what, run in (("interpreted", made.program.run), ("native", session.run)):
            found += [f"{where} {what}: {text}" for text in wrong(run(made.feeds), made.want)]
    assert not found, f"{len(found)} disagree:\n" + "\n".join(found[:20])


def test_most_programs_have_symbols() -> None:
    """The form with symbols is no empty shell."""
    some = [op for op in DIFFERENTIABLE if "training" not in op.flags][::4]
    shapes = [gradient_program(w) for op in some for w in covering(op)]
    made = [m for m in shapes if m is not None]
    assert sum(m.symbolic for m in made) > 0.6 * len(made) > 60
