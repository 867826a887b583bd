# SPDX-License-Identifier: Apache-2.0
"""Sample inputs for checking passes: seeded random data in sizes that satisfy the program's guards."""

from __future__ import annotations

import itertools
import math
import zlib

import numpy as np

from samara.exporter.ir.interpret import run
from samara.exporter.ir.program import Array, Program, Value
from samara.exporter.passes._work import ELEMENT, MOST, OverspentError, Work, least_seconds
from samara.exporter.types import DType, SamaraError, Sym

# Sizes to try for symbolic dims: first the same for all, then in pairs.
_SIZES = (2, 1, 3, 4, 8, 16, 32, 64, 96, 128, 160, 224, 256, 320, 512, 1024)
_MAX_ELEMENTS = 1 << 22


def symbols_of(program: Program, function: str) -> list[Sym]:
    """Input symbols of a function in order of appearance."""
    found: dict[str, Sym] = {}
    for v in program.functions[function].inputs:
        for d in v.type.shape:
            for atom in d.all_atoms():
                if isinstance(atom, Sym):
                    found.setdefault(atom.name, atom)
    return list(found.values())


def random_input(value: Value, sizes: dict[str, int], seed: int = 0) -> Array:
    """Random data for an input: normal floats, small non-negative integers, random bools."""
    rng = np.random.default_rng([seed, zlib.crc32(value.name.encode())])
    shape = tuple(d.evaluate(sizes) for d in value.type.shape)
    dtype = value.type.dtype
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_float:
        return rng.standard_normal(shape, np.float32).astype(dtype.numpy)
    if dtype in (DType.U8, DType.I8, DType.QS8):
        low, high = (0, 256) if dtype is DType.U8 else (-128, 128)
        return rng.integers(low, high, shape).astype(dtype.numpy)
    return rng.integers(0, 2, shape).astype(dtype.numpy)


def sample_inputs(
    program: Program, function: str, limit: float = MOST, *, within: bool = False
) -> dict[str, Array] | None:
    """Feeds with which a function runs, or None if none of the tried sizes works. If with all of them a run
    takes longer than `limit` seconds (an estimate), the smallest that it did not refuse until then; None if it
    must be `within` the limit.
    """
    f = program.functions[function]
    fed = [v for v in f.inputs if v.name not in f.reads]
    symbols = symbols_of(program, function)
    most, smallest = (math.inf if not symbols else _MAX_ELEMENTS + 1), None
    for sizes in _candidates(symbols):
        try:
            shapes = {v.name: tuple(d.evaluate(sizes) for d in v.type.shape) for v in fed}
            total = sum(map(math.prod, shapes.values()))
            if total >= most:
                continue
            if total * ELEMENT + least_seconds(program, function, shapes) > limit:
                raise OverspentError
            feeds = {v.name: random_input(v, sizes) for v in fed}
            if symbols:
                run(program, dict(feeds), function=function, evaluate=Work(limit))
        except OverspentError:
            most, smallest = total, sizes
            continue
        except (SamaraError, OverflowError, ZeroDivisionError, ValueError):
            continue
        return feeds
    if smallest is None or within:
        return None
    return {v.name: random_input(v, smallest) for v in fed}


def _candidates(symbols: list[Sym]) -> list[dict[str, int]]:
    """Assignments to try: all equal, then the first (a batch, usually) 1 or 2 and the rest equal,
    then pairs.
    """
    names = [s.name for s in symbols]
    if not names:
        return [{}]
    tried = [dict.fromkeys(names, n) for n in _SIZES]
    for first, rest in itertools.product((1, 2), _SIZES):
        tried.append({**dict.fromkeys(names, rest), names[0]: first})
    if len(names) == 2:
        tried += [
            dict(zip(names, pair, strict=True)) for pair in itertools.product(_SIZES, repeat=2)
        ]
    legal = []
    for sizes in tried:
        fits = all(
            sizes[s.name] >= s.lower and (s.upper is None or sizes[s.name] <= s.upper)
            for s in symbols
        )
        if fits and sizes not in legal:
            legal.append(sizes)
    return legal
