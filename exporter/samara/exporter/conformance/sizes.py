# SPDX-License-Identifier: Apache-2.0
"""Other sizes, and data for them, for programs of one node with symbols."""

from __future__ import annotations

import math
import random

import numpy as np

from samara.exporter.ir import Program
from samara.exporter.ops import Case
from samara.exporter.testing import Array
from samara.exporter.types import DType, Sym

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)
MAX_ELEMENTS = 6000


def drawn(program: Program, case: Case, r: random.Random) -> dict[str, Array] | None:
    """Feeds of other sizes; None if they would be too large."""
    sizes: dict[str, int] = {}
    feeds: dict[str, Array] = {}
    rng = np.random.default_rng(r.randrange(1 << 32))
    for value in program.main.inputs:
        shape = []
        for dim in value.type.shape:
            atom = dim.sole_atom()
            if isinstance(atom, Sym):
                old = int(atom.name[1:])
                shape.append(sizes.setdefault(atom.name, r.choice((*SIZES, old, old + 1))))
            else:
                shape.append(dim.as_int())
        if math.prod(shape) > MAX_ELEMENTS:
            return None
        feeds[value.name] = _data(rng, value.type.dtype, tuple(shape), case)
    return feeds


def _data(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], case: Case) -> Array:
    if dtype is DType.BOOL:
        return np.asarray(rng.integers(0, 2, shape)).astype(np.bool_)
    if dtype.is_float:
        return np.asarray(rng.uniform(case.low, case.high, shape)).astype(dtype.numpy)
    # Small values, so that some are valid indices.
    low = 0 if dtype is DType.U8 else -2
    return np.asarray(rng.integers(low, 4, shape)).astype(dtype.numpy)
