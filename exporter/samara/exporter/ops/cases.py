# SPDX-License-Identifier: Apache-2.0
"""Short ways to write the test cases of the op table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from samara.exporter.ops.spec import Case

Shape = tuple[int, ...]

# Ranks 0 to 5 and sizes around vector widths; each family uses some of them.
SHAPES: tuple[Shape, ...] = (
    (),
    (0,),
    (1,),
    (7,),
    (2, 3),
    (33,),
    (3, 0, 2),
    (8, 9),
    (2, 3, 17),
    (1, 15, 2, 3),
    (2, 1, 3, 2, 16),
    (31, 2),
)
FEW: tuple[Shape, ...] = ((), (7,), (3, 0, 2), (2, 3, 17), (2, 1, 3, 2, 8))
# Operand shapes that broadcast, each class once: equal, scalars, rows, columns, both ways.
PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((33,), (33,)),
    ((2, 3, 17), ()),
    ((), (16,)),
    ((3, 8), (8,)),
    ((3, 9), (3, 1)),
    ((2, 1, 7), (1, 3, 1)),
    ((1,), (2, 15)),
    ((2, 3, 4, 5), (3, 1, 1)),
    ((2, 0, 3), (1, 1, 3)),
    ((2, 2, 1, 3, 2), (2, 3, 1)),
)
FEW_PAIRS: tuple[tuple[Shape, Shape], ...] = (((7,), (7,)), ((2, 3, 5), (3, 1)), ((4,), ()))


def unary(
    dtypes: Sequence[str], low: float = -2.0, high: float = 2.0, turn: int | None = None
) -> tuple[Case, ...]:
    """Shapes in the first dtype (all, or every third from `turn` on), one in each of the others."""
    shapes = SHAPES if turn is None else SHAPES[turn % 3 :: 3]
    first = [Case(((dtypes[0], s),), low=low, high=high) for s in shapes]
    rest = [
        Case(((d, FEW[(i + 3) % len(FEW)]),), low=low, high=high) for i, d in enumerate(dtypes[1:])
    ]
    return (*first, *rest)


def few(
    dtypes: Sequence[str],
    attrs: Iterable[dict[str, Any]] = ({},),
    low: float = -2.0,
    high: float = 2.0,
) -> tuple[Case, ...]:
    """A few shapes in the first dtype, one in the others, for each choice of attributes."""
    out: list[Case] = []
    for i, a in enumerate(attrs):
        shapes = FEW if i == 0 else ((2, 3, 17),)
        out += [Case(((dtypes[0], s),), a, low, high) for s in shapes]
        out += [Case(((d, (3, 5)),), a, low, high) for d in dtypes[1:]]
    return tuple(out)


def binary(
    dtypes: Sequence[str],
    attrs: Iterable[dict[str, Any]] = ({},),
    low: float = -2.0,
    high: float = 2.0,
    turn: int | None = None,
) -> tuple[Case, ...]:
    """Broadcast classes in the first dtype (all, or every third from `turn` on), one in others.

    Further choices of attributes get a few.
    """
    out: list[Case] = []
    for i, a in enumerate(attrs):
        pairs = FEW_PAIRS if i else PAIRS if turn is None else PAIRS[turn % 3 :: 3]
        out += [Case(((dtypes[0], p), (dtypes[0], q)), a, low, high) for p, q in pairs]
        for j, d in enumerate(dtypes[1:]):
            p, q = PAIRS[(3 * j + i + 4) % len(PAIRS)]
            out.append(Case(((d, p), (d, q)), a, low, high))
    return tuple(out)
