# SPDX-License-Identifier: Apache-2.0
"""Checks of the names and shapes that a caller gives to an importer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from samara.exporter.types import ShapeError

__all__ = ["ShapeSpec", "check_names", "check_shape", "check_unique"]

ShapeSpec = Sequence[int | str]


def check_names(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """ShapeError if a name is not among `known`; `what` is the argument that gives them."""
    for name in given:
        if name not in known:
            raise ShapeError(
                f"{what}: the model has no {name!r}", fix=f"it has {', '.join(known) or 'none'}"
            )


def check_unique(names: Sequence[str], what: str) -> None:
    """ShapeError if a name occurs twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ShapeError(f"{what} {name!r} occurs {count} times", fix="give each its own name")


def check_shape(name: str, shape: ShapeSpec, rank: int | None) -> list[int | str]:
    """The shape given for an input, as a list. ShapeError unless it has sizes and symbols only, `rank` of them."""
    if isinstance(shape, str) or not all(_is_dim(d) for d in shape):
        raise ShapeError(
            f"shapes: {shape!r} of {name!r} is not a sequence of sizes and symbols",
            fix=f'write it like shapes={{{name!r}: [1, 3, "height", "width"]}}',
        )
    if rank is not None and rank != len(shape):
        raise ShapeError(
            f"input {name!r} has rank {rank}, shapes= gives {list(shape)}",
            fix=f"give {rank} sizes or names",
        )
    return list(shape)


def _is_dim(d: object) -> bool:
    if isinstance(d, str):
        return bool(d)
    return isinstance(d, int | np.integer) and not isinstance(d, bool) and int(d) >= 0
