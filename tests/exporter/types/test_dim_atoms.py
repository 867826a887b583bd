# SPDX-License-Identifier: Apache-2.0
"""Tests of atoms, monomials and float32 bit patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samara.exporter.types import Born, DimOp, Op, Read, Sym, as_dim, bits_f32, f32_bits, sym
from samara.exporter.types.dim_atoms import INTEGERS, int64, mono_div, mono_mul, single


def test_atoms_are_identified_by_what_they_name() -> None:
    assert Sym("n", 1, 5) == Sym("n")
    assert Read("k", 0) != Read("k", 1)
    assert Read("k", 0) != Read("k", 0, bits=True)
    assert Read("k", 0, lower=0) == Read("k", 0)
    assert Born("k", 0, 1) == Born("k", 0, 1, upper=as_dim(3))
    assert len({Sym("n"), Sym("n", 1), Read("n", 0)}) == 2


def test_monomials_multiply_and_divide() -> None:
    x, y = Sym("x"), Sym("y")
    one = frozenset[tuple[Sym, int]]()
    xy = mono_mul(frozenset({(x, 1)}), frozenset({(y, 1)}))
    assert mono_mul(xy, xy) == frozenset({(x, 2), (y, 2)})
    assert mono_div(mono_mul(xy, xy), xy) == xy
    assert mono_div(xy, xy) == one
    assert mono_div(frozenset({(x, 1)}), xy) is None
    assert single(frozenset({(x, 1)})) == x
    assert single(frozenset({(x, 2)})) is None
    assert single(xy) is None


def test_squares_of_booleans_collapse() -> None:
    truth = frozenset({(Op(DimOp.LT, (sym("a"), sym("b"))), 1)})
    assert mono_mul(truth, truth) == truth


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, -2.5, 1e-45, 3.4028235e38, math.inf])
def test_float32_bits_are_numpys(value: float) -> None:
    assert f32_bits(value) == int(np.float32(value).view(np.uint32))
    assert bits_f32(f32_bits(value)) == float(np.float32(value))


def test_float32_bits_edges() -> None:
    assert math.isnan(bits_f32(f32_bits(math.nan)))
    assert bits_f32(f32_bits(-1.0) - 2**32) == -1.0  # a sign-extended pattern
    with pytest.raises(OverflowError):
        f32_bits(1e39)


def test_int64_is_exact_at_its_ends() -> None:
    assert int64(2**63 - 1) == 2**63 - 1
    assert int64(-(2**63)) == -(2**63)
    for bad in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            int64(bad)


def test_every_operation_has_integer_arithmetic() -> None:
    assert set(INTEGERS) == set(DimOp)
    assert INTEGERS[DimOp.CEILDIV](-7, 2) == -3
    assert INTEGERS[DimOp.MOD](-7, 2) == 1
