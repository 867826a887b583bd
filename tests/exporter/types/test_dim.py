# SPDX-License-Identifier: Apache-2.0
"""Tests of Dim: canonical arithmetic, identity, text, substitution and checked evaluation."""

from __future__ import annotations

import copy
import pickle
import timeit

import pytest

from samara.exporter.types import (
    Born,
    Dim,
    Op,
    Read,
    ShapeError,
    Sym,
    Tri,
    UnsupportedError,
    as_dim,
    compare,
    deq,
    dlt,
    dmin,
    sym,
)

n, h = sym("n"), sym("h")


def test_equal_polynomials_are_equal_objects() -> None:
    assert (n + 1) * (n - 1) == n * n - 1
    assert hash((n + h) * 2) == hash(2 * h + 2 * n)
    assert n + h - n == h
    assert n - n == 0
    assert n != h
    assert n != "n"
    assert {n + 1: "a"}[1 + n] == "a"
    assert {Dim.const(5): "a"}[5] == "a"  # type: ignore[index]
    assert Dim(7) == 7
    assert Dim(n) == n
    assert Dim.const(5000) == Dim.const(4999) + 1
    assert sym("n", lower=1) == n
    assert 5 - n == -(n - 5)
    assert 7 // as_dim(2) == 3
    assert 7 % as_dim(4) == 3


def test_products_whose_terms_double_end() -> None:
    product, last = Dim.const(1), (n + 1) * (h + 1)
    for k in range(11):
        product = product * (sym(f"a{k}") + 1)
    with pytest.raises(UnsupportedError, match="2048 times 4 terms, more than 4096"):
        product * last
    # Their sums end as well: Unsqueeze with seven axes that are not known until a run.
    assert len((product + 1).raw) == 2048
    other = product * sym("b")
    with pytest.raises(UnsupportedError, match="6144 terms, more than 4096"):
        product + other + other * sym("b")
    with pytest.raises(UnsupportedError, match="6144 terms, more than 4096"):
        product - other - other * sym("b")


def test_text_reads_like_arithmetic() -> None:
    assert str(2 * n + 1) == "2*n + 1"
    assert str((h + 1) // 2) == "(h + 1)//2"
    assert str(2 * ((h + 1) // 2) - 1) == "2*((h + 1)//2) - 1"
    assert str(1 - n) == "-n + 1"
    assert str(n * h * h) == "h**2*n"
    assert str(n % 3) == "n % 3"
    assert str(Dim.const(-4)) == "-4"
    assert str(Dim.const(0)) == "0"
    assert str(dmin(n, h) * 2) == "2*min(h, n)"
    assert str((n // 2) % 3) == "(n//2) % 3"
    assert str(dlt(n, h) + 1) == "(n < h) + 1"
    assert str(Dim.atom(Read("%s", 1))) == "read(%s, 1)"
    assert str(Dim.atom(Read("%s", 1, bits=True))) == "bits(%s, 1)"
    assert str(Dim.atom(Born("nz", 0, 1))) == "born(nz, 0, 1)"
    assert repr(n + 1) == "Dim(n + 1)"


def test_static_dims_are_numbers() -> None:
    five = as_dim(5)
    assert five.is_static
    assert five.as_int() == 5
    assert list(range(6))[five] == 5
    assert five
    assert not Dim.const(0)
    assert not n.is_static
    with pytest.raises(ShapeError, match=r"the dim n \+ 1 is symbolic"):
        (n + 1).as_int()
    with pytest.raises(TypeError):
        bool(n)
    with pytest.raises(TypeError):
        range(n)


def test_dims_know_their_atoms() -> None:
    dim = (n + 1) // h + 3 * Dim.atom(Read("s", 0))
    assert dim.symbols() == {"n", "h"}
    assert Sym("n") not in dim.atoms()
    assert Sym("n") in dim.all_atoms()
    assert n.sole_atom() == Sym("n")
    assert (n + 1).sole_atom() is None
    assert (2 * n).sole_atom() is None
    assert isinstance((n // 2).sole_atom(), Op)
    assert (3 * n * h + 2).terms() == (
        (((Sym("h"), 1), (Sym("n"), 1)), 3),
        ((), 2),
    )


def test_substitution_reaches_into_operations() -> None:
    dim = 2 * ((h + 1) // 2) + n
    assert dim.substitute({"h": 7}) == n + 8
    assert dim.substitute({"h": 2 * n}) == 3 * n
    assert dim.substitute({"x": 1}) is dim
    assert dim.substitute({}) is dim
    read = Read("s", 0)
    assert (Dim.atom(read) * n).substitute({read: h}) == h * n
    inner = ((h + 1) // 2).sole_atom()
    assert inner is not None
    assert dim.substitute({inner: 3}) == n + 6
    assert (n * h).substitute({"n": h, "h": n}) == n * h
    born = Dim.atom(Born("nz", 0, 0, upper=n))
    assert born.bounds() == (0, None)
    assert born.substitute({"n": 9}).bounds() == (0, 9)
    assert deq(n, 3).substitute({"n": 3}) == 1


def test_evaluation_is_checked_int64() -> None:
    assert (n * n + 1).evaluate({"n": 3}) == 10
    assert ((n - 7) // 2).evaluate({"n": 0}) == -4
    read = Dim.atom(Read("s", 4))
    assert (read + 1).evaluate(reader=lambda atom: 41) == 42
    with pytest.raises(KeyError):
        n.evaluate({})
    with pytest.raises(KeyError):
        read.evaluate({})
    with pytest.raises(OverflowError):
        (n * h).evaluate({"n": 2**32, "h": 2**31})
    assert (n * h).evaluate({"n": 2**32, "h": 2**31 - 1}) == 2**63 - 2**32
    with pytest.raises(OverflowError):
        (n + h).evaluate({"n": 2**63 - 1, "h": 1})
    with pytest.raises(OverflowError):
        Dim.const(2**63).evaluate()
    with pytest.raises(OverflowError):
        n.evaluate({"n": -(2**63) - 1})
    # Both arms of a select are evaluated, as the runtime does.
    guarded = dlt(0, n) * (h // n)
    with pytest.raises(ZeroDivisionError):
        guarded.evaluate({"n": 0, "h": 1})


def test_dims_survive_pickle_and_copy() -> None:
    dim = (n + 1) // h + deq(n, 2)
    hash(dim)
    assert pickle.loads(pickle.dumps(dim)) == dim
    assert hash(pickle.loads(pickle.dumps(dim))) == hash(dim)
    assert copy.deepcopy(dim) == dim


def test_dims_have_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        n.extra = 1  # type: ignore[attr-defined]


def test_tri_has_no_truth_value() -> None:
    assert compare(n, n) is Tri.YES
    with pytest.raises(TypeError):
        bool(Tri.YES)


def test_arithmetic_is_fast_enough_for_whole_models() -> None:
    a, b = 2 * n + 1, h + 3
    runs = 2000
    seconds = min(timeit.repeat(lambda: (a + b, a * b), number=runs, repeat=5))
    assert 2 * runs / seconds > 50_000
