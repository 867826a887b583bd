# SPDX-License-Identifier: Apache-2.0
"""The form of a pass, and helpers that several passes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from samara.exporter.ir.program import Array, Node, Program, Value
from samara.exporter.ir.rewriter import Rewriter, Rewriters
from samara.exporter.ops import OpSpec
from samara.exporter.types import DType


@dataclass(frozen=True, slots=True)
class Pass:
    """A named step Program -> Program that preserves all outputs. `doc` is one line for users.

    steps: a pass that changes roundings may move quantized tensors by this many of their steps, and values
    computed from them; 0 for all others.
    """

    name: str
    doc: str
    run: Callable[[Program], Program]
    steps: int = 0

    def applied(self, program: Program, rewriters: Rewriters) -> Program:
        """The program after the pass; `rewriters` are those of the passes before it."""
        if isinstance(self.run, Shared):
            return self.run(program, rewriters)
        return self.run(program)


@dataclass(frozen=True, slots=True)
class Shared:
    """The `run` of a pass that uses the rewriters of the passes before it; alone it makes its own."""

    step: Callable[[Program, Rewriters], Program]

    def __call__(self, program: Program, rewriters: Rewriters | None = None) -> Program:
        return self.step(program, Rewriters() if rewriters is None else rewriters)


def per_function(rewrite: Callable[[Rewriter], None], *looks_for: OpSpec) -> Shared:
    """A pass that edits each function separately. A Program that is not changed is returned as the same object.

    looks_for: the pass does nothing in functions without any of these operators; none are given if it may edit
    any function.
    """

    def run(program: Program, rewriters: Rewriters) -> Program:
        for function in list(program.functions.values()):
            rewriter = rewriters.of(function, program)
            if looks_for and rewriter.operators.isdisjoint(looks_for):
                continue
            rewrite(rewriter)
            if rewriter.changed:
                program = program.with_function(rewriter.finish())
        return program

    return Shared(run)


def scalar_of(value: Value | None) -> float | None:
    """The value of a constant whose elements are all equal; None otherwise."""
    if value is None or value.constant is None or value.constant.size == 0:
        return None
    data = value.constant.reshape(-1)
    first = data[0]
    if data.size > 1 and (data[-1] != first or not np.all(data == first)):
        return None
    return float(first)


def maker(r: Rewriter, value: Value | None, op: OpSpec) -> Node | None:
    """The node that makes the value, if it applies the operator."""
    node = r.producer(value)
    return node if node is not None and node.op is op else None


def is_fusable(value: Value) -> bool:
    """Whether fused operators compute in the dtype; other dtypes need single operators."""
    return value.type.dtype in (DType.F32, DType.F16)


def is_identity_perm(perm: tuple[int, ...]) -> bool:
    return perm == tuple(range(len(perm)))


def compose(first: tuple[int, ...], then: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation of transpose(transpose(x, first), then)."""
    return tuple(first[p] for p in then)


def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    out = [0] * len(perm)
    for i, p in enumerate(perm):
        out[p] = i
    return tuple(out)


def per_channel(value: Value, channels: int, rank: int) -> Array | None:
    """A constant that broadcasts along the last axis of a rank-`rank` tensor, as [channels] or [1];
    None otherwise.
    """
    data = value.constant
    if data is None or data.ndim > rank or any(n != 1 for n in data.shape[:-1]):
        return None
    flat: Array = data.reshape(-1)
    return flat if flat.size in (1, channels) else None


def fused_name(node: Node) -> tuple[str, ...]:
    """Names of the tensors that disappear when another node absorbs `node`."""
    return tuple(v.name for v in node.outputs)
