# SPDX-License-Identifier: Apache-2.0
"""The types of values that a loop carries, where its body changes their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import Dim, ShapeError, Sym, TensorType

# Rounds of typing a loop's body: each turns at least one dim that changes in it into a new symbol.
ROUNDS: Final = 8


def widened_types(
    program: ProgramBuilder,
    types: Sequence[TensorType],
    before: Sequence[TensorType],
    after: Sequence[TensorType],
) -> list[TensorType] | None:
    """Types with a new symbol for each dim that the body changes; None if nothing changes.

    types: of the carried values outside; before, after: as they enter and leave the body.
    """
    out: list[TensorType] = []
    changed = False
    for i, (t, a, b) in enumerate(zip(types, before, after, strict=True)):
        if a.dtype is not b.dtype or a.rank != b.rank:
            raise ShapeError(f"carried value {i} enters as {a} and leaves as {b}")
        dims = list(t.shape)
        for axis, (p, q) in enumerate(zip(a.shape, b.shape, strict=True)):
            if p != q and not _is_own_symbol(p):
                dims[axis] = program.fresh_symbol("carried")
                changed = True
        out.append(TensorType(t.dtype, tuple(dims), t.quant))
    return out if changed else None


def _is_own_symbol(dim: Dim) -> bool:
    atom = dim.sole_atom()
    return isinstance(atom, Sym) and atom.name.startswith("carried.")
