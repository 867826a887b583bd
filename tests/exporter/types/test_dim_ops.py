# SPDX-License-Identifier: Apache-2.0
"""Tests of the simplifying operations on dims, against Python's integers on random expressions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from samara.exporter.types import (
    Born,
    Dim,
    DimOp,
    Op,
    Read,
    as_dim,
    bits_f32,
    ceildiv,
    deq,
    dlt,
    dmax,
    dmin,
    f32_bits,
    floordiv,
    mod,
    scale_f32,
    select,
    sym,
)

n, h, w = sym("n"), sym("h"), sym("w")
m = sym("m", lower=1)
k = sym("k", lower=-3, upper=4)
READ = Read("sizes", 2)
BORN = Born("nonzero", 0, 1, upper=n * 3)

Env = Mapping[str, int]


@dataclass(frozen=True)
class Pair:
    """The same expression twice: simplified step by step, and as plain Python."""

    dim: Dim
    plain: Callable[[Env], int]


def _scale(a: int, bits: int) -> int:
    return int(np.floor(np.float32(a) * np.float32(bits_f32(bits))))


BINARY: list[tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]]] = [
    (lambda a, b: a + b, lambda a, b: a + b),
    (lambda a, b: a - b, lambda a, b: a - b),
    (lambda a, b: a * b, lambda a, b: a * b),
    (floordiv, lambda a, b: a // b),
    (ceildiv, lambda a, b: -(-a // b)),
    (mod, lambda a, b: a % b),
    (dmin, min),
    (dmax, max),
    (deq, lambda a, b: int(a == b)),
    (dlt, lambda a, b: int(a < b)),
]


def _leaf(rng: random.Random) -> Pair:
    choice = rng.randrange(9)
    if choice < 3:
        value = rng.choice((0, 1, 1, 2, 2, 3, 4, 6, 8, -1, -2, -5, 12))
        return Pair(Dim.const(value), lambda env: value)
    if choice == 3:
        return Pair(Dim.atom(READ), lambda env: env["read"])
    if choice == 4:
        return Pair(Dim.atom(BORN), lambda env: env["born"])
    name, dim = rng.choice((("n", n), ("h", h), ("m", m), ("k", k)))
    return Pair(dim, lambda env: env[name])


def _expression(rng: random.Random, depth: int) -> Pair:
    if depth == 0:
        return _leaf(rng)
    a, b = _expression(rng, depth - 1), _expression(rng, rng.randrange(depth))
    choice = rng.randrange(20)
    if choice == 0:
        c = _expression(rng, depth - 1)
        return Pair(
            select(c.dim, a.dim, b.dim),
            lambda env: _select(c.plain(env), a.plain(env), b.plain(env)),
        )
    if choice == 1:
        bits = f32_bits(rng.choice((0.5, 2.0, 1.3, 0.1, -0.75)))
        return Pair(scale_f32(a.dim, bits), lambda env: _scale(a.plain(env), bits))
    if choice in (2, 3):
        # A common factor makes exact division frequent.
        return Pair(a.dim * b.dim // b.dim, lambda env: a.plain(env) * b.plain(env) // b.plain(env))
    symbolic, plain = rng.choice(BINARY)
    return Pair(symbolic(a.dim, b.dim), lambda env: plain(a.plain(env), b.plain(env)))


def _select(condition: int, a: int, b: int) -> int:
    return a if condition else b


def _environment(rng: random.Random) -> dict[str, int]:
    env = {"n": rng.randrange(8), "h": rng.randrange(40), "m": rng.randrange(1, 6)}
    env["k"] = rng.randrange(-3, 5)
    env["read"] = rng.randrange(-4, 10)
    env["born"] = rng.randrange(3 * env["n"] + 1)
    return env


def _evaluate(dim: Dim, env: Env) -> int:
    return dim.evaluate(env, lambda atom: env["read" if isinstance(atom, Read) else "born"])


def _random_pairs(rng: random.Random, count: int) -> list[Pair]:
    pairs: list[Pair] = []
    while len(pairs) < count:
        try:
            pairs.append(_expression(rng, rng.randrange(1, 5)))
        except ZeroDivisionError:
            continue
    return pairs


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_agree_with_integers(seed: int) -> None:
    rng = random.Random(seed)
    checked = 0
    for pair in _random_pairs(rng, 150):
        low, high = pair.dim.bounds()
        for _ in range(8):
            env = _environment(rng)
            try:
                expected = pair.plain(env)
            except ZeroDivisionError:
                continue
            assert _evaluate(pair.dim, env) == expected, (str(pair.dim), env)
            assert low is None or low <= expected, (str(pair.dim), low, env)
            assert high is None or expected <= high, (str(pair.dim), high, env)
            checked += 1
    assert checked > 600


@pytest.mark.parametrize("seed", range(12))
def test_random_substitution_agrees_with_integers(seed: int) -> None:
    rng = random.Random(1000 + seed)
    checked = 0
    for pair in _random_pairs(rng, 150):
        env = _environment(rng)
        inner = Dim.atom(READ) * 2 + sym("fresh")
        env["fresh"] = rng.randrange(20)
        outer = {**env, "h": 2 * env["read"] + env["fresh"]}
        replaced: dict[str, Dim | int] = {"h": inner}
        for name in ("n", "m"):
            if rng.random() < 0.5:
                replaced[name] = env[name]
        try:
            expected = pair.plain(outer)
        except ZeroDivisionError:
            continue
        if outer["h"] < 0:
            continue  # simplification relies on h >= 0
        result = pair.dim.substitute(replaced)
        assert "h" not in result.symbols()
        assert _evaluate(result, env) == expected, (str(pair.dim), str(result), env)
        checked += 1
    assert checked > 60


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_survive_identity_substitution(seed: int) -> None:
    rng = random.Random(2000 + seed)
    for pair in _random_pairs(rng, 100):
        env = _environment(rng)
        names: dict[str, Dim | int] = {
            name: sym(name + "_new", 0) for name in pair.dim.symbols() & {"n", "h"}
        }
        back: dict[str, Dim | int] = {"n_new": n, "h_new": h}
        there = pair.dim.substitute(names).substitute(back)
        try:
            expected = pair.plain(env)
        except ZeroDivisionError:
            continue
        assert _evaluate(there, env) == expected


def test_floordiv_divides_what_it_can_prove() -> None:
    assert (n * h * 3) // h == 3 * n
    assert (n * 4 + 2) // 2 == 2 * n + 1
    assert (n * 4 + 3) // 2 == 2 * n + 1
    assert ((n + 1) * (h + 2)) // (n + 1) == h + 2
    assert (n * h) // (n * w) == h // w
    assert (6 * n) // (4 * h) == (3 * n) // (2 * h)
    assert n // 1 == n
    assert n // -1 == -n
    assert (-n) // (-h) == n // h
    assert (n - n) // h == 0
    assert (h - 1) // 2 + 1 == (h + 1) // 2
    assert ((h + 1) // 2 + 1) // 2 == (h + 3) // 4
    assert (n % 4) // 4 == 0


def test_ceildiv_by_a_number_is_a_floor() -> None:
    assert ceildiv(h, 2) == (h + 1) // 2
    assert ceildiv(h, -2) == (-h + 1) // 2
    assert ceildiv(6 * n, 3) == 2 * n
    assert ceildiv(n * h, h) == n
    assert str(ceildiv(n, h)) == "ceildiv(n, h)"


def test_mod_of_multiples_is_nothing() -> None:
    assert (4 * n) % 2 == 0
    assert (4 * n + 7) % 4 == 3
    assert (4 * n + 2 * h) % 8 == 2 * ((2 * n + h) % 4)
    assert (n * h) % h == 0
    assert (n * h + w) % h == w % h
    assert n % 1 == 0
    assert (-n) % -3 == -(n % 3)
    assert (n % 4) % 4 == n % 4


def test_division_by_zero_is_an_error() -> None:
    for divide in (floordiv, ceildiv, mod):
        with pytest.raises(ZeroDivisionError):
            divide(n, 0)
        with pytest.raises(ZeroDivisionError):
            divide(h, n).substitute({"n": 0})
        with pytest.raises(ZeroDivisionError):
            divide(h, n).evaluate({"h": 3, "n": 0})


def test_min_and_max_drop_what_cannot_win() -> None:
    assert dmin(n, n) == n
    assert dmax(n, 0) == n
    assert dmin(n, 0) == 0
    assert dmin(n, n + 1) == n
    assert dmax(n, n + 1, 3) == dmax(3, n + 1)
    assert dmin(dmin(n, 5), 3) == dmin(n, 3)
    assert dmin(n, h, w) == dmin(w, dmin(h, n))
    assert str(dmin(n, 5)) == "min(n, 5)"
    # The padding with which a strided window covers its input is never negative here.
    assert dmax(0, (ceildiv(n, 2) - 1) * 2 + 3 - n) == 2 * ((n + 1) // 2) - n + 1


def test_relations_fold_and_normalise() -> None:
    assert deq(n, n) == 1
    assert deq(n, n + 1) == 0
    assert deq(2 * n, 2 * h + 1) == 0
    assert deq(m, 0) == 0
    assert deq(2 * n + 4, 2 * h) == deq(h, n + 2)
    assert dlt(n, n + 1) == 1
    assert dlt(n, 0) == 0
    assert dlt(2 * n, 2 * h) == dlt(n, h)
    assert deq(n, 3) * deq(n, 3) == deq(n, 3)
    assert str(deq(n, 3)) == "(n == 3)"


def test_select_folds() -> None:
    condition = deq(n, 3)
    assert select(1, n, h) == n
    assert select(0, n, h) == h
    assert select(condition, h, h) == h
    assert select(condition, 1, 0) == condition
    assert select(condition, 0, 1) == 1 - condition
    assert select(1 - condition, n, h) == select(condition, h, n)
    assert select(m, n, h) == n


def test_scale_is_one_float32_product() -> None:
    # Doubles would give 12.9999995 and 6.9999999; float32 rounds up.
    assert scale_f32(10, f32_bits(1.3)) == 13
    assert scale_f32(10, f32_bits(0.7)) == 7
    assert scale_f32(7, f32_bits(-0.5)) == -4
    # 2**53 + 2**29 + 1 rounds up if converted to float32 directly, and to even through a double.
    odd = 2**53 + 2**29 + 1
    assert scale_f32(odd, f32_bits(1.0)) == 2**53 + 2**30
    for bad in (float("nan"), float("inf")):
        with pytest.raises(OverflowError):
            scale_f32(3, f32_bits(bad))
    with pytest.raises(OverflowError):
        scale_f32(3, f32_bits(3e38))
    symbolic = scale_f32(n, f32_bits(0.5))
    assert str(symbolic) == "scale_f32(n, 0.5)"
    assert symbolic.bounds() == (0, None)
    assert symbolic.substitute({"n": 5}) == 2


def test_every_operation_is_met_by_the_random_tests() -> None:
    rng = random.Random(7)
    seen = set()
    for pair in _random_pairs(rng, 1500):
        seen |= {atom.kind for atom in pair.dim.all_atoms() if isinstance(atom, Op)}
    assert seen == set(DimOp)


def test_as_dim_takes_numpy_integers() -> None:
    assert as_dim(np.int64(5)) == 5  # type: ignore[arg-type]
    assert np.int64(2) * n == 2 * n  # type: ignore[operator]
