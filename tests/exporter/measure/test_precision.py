# SPDX-License-Identifier: Apache-2.0
"""The bound of an output, from the precisions of two runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.export import export
from samara.exporter.ir import Program, ProgramBuilder
from samara.exporter.measure._precision import Bound, Precision, bound_of, precision_of
from samara.exporter.measure.compare import CompareReport, Side, compare
from samara.exporter.quantize.quantize import quantize
from samara.exporter.quantize.scheme import FP16, PROGRAM_SCHEMES


def _net(rng: np.random.Generator) -> Program:
    builder = ProgramBuilder()
    f = builder.function("main")
    x = f.input("x", "f32", [1, 64])
    h = x
    for i in range(6):
        w = rng.standard_normal((64, 64)).astype(np.float32) / 8
        h = f.op("relu", f.op("matmul", h, w, name=f"m{i}"), name=f"r{i}")
    w = rng.standard_normal((64, 16)).astype(np.float32) / 8
    f.finish([f.op("matmul", h, w, name="y")], ["y"])
    return builder.finish(["main"])


@pytest.mark.parametrize("scheme", PROGRAM_SCHEMES)
def test_one_rule_for_every_scheme(tmp_path: Path, rng: np.random.Generator, scheme: str) -> None:
    program = _net(rng)
    data = [{"x": 30 * rng.standard_normal((1, 64)).astype(np.float32)} for _ in range(8)]
    plain, other = tmp_path / "float.samara", tmp_path / "other.samara"
    made = quantize(program, data, scheme)
    export(program, plain, check=False)
    export(made, other, check=False)

    def compared(a: Path, b: Path, min_sqnr: float | None = None) -> CompareReport:
        return compare(Side(str(a)), Side(str(b)), feeds=data[0], min_sqnr=min_sqnr)

    assert not compared(plain, other).rows[-1].tolerances <= 1.0  # beyond that of one precision
    for a, b in ((plain, other), (other, plain)):
        report = compared(a, b)
        assert report.agree, report.text()
        assert report.rounded
        assert report.bound.kind == ("range" if scheme == FP16 else "sqnr")
        assert "agree: " in report.text()
        assert str(report.bound) in report.text()
    same = compared(other, other)
    assert same.agree
    assert not same.rounded
    strict = compared(plain, other, min_sqnr=200.0)
    assert not strict.agree
    assert "DIFFER: " in strict.text()
    # Other weights of the same scheme are beyond every bound.
    foreign = tmp_path / "foreign.samara"
    export(quantize(_net(np.random.default_rng(99)), data, scheme), foreign, check=False)
    for pair in ((plain, foreign), (other, foreign)):
        wrong = compared(*pair)
        assert not wrong.agree
        assert "DIFFER" in wrong.text()


def test_the_coarser_side_decides() -> None:
    plain, half = Precision(), Precision(frozenset({"float16"}))
    int8 = frozenset({"int8"})
    weights, integers = Precision(int8), Precision(int8, int8)
    assert bound_of(plain, plain).kind == bound_of(integers, integers).kind == "tolerance"
    assert (bound_of(plain, half).kind, bound_of(plain, half).name) == ("range", "float16")
    assert bound_of(half, weights) == bound_of(weights, plain) == Bound("sqnr", 10.0, "int8")
    assert bound_of(weights, integers).kind == "sqnr"
    assert integers.bits < weights.bits < half.bits < plain.bits
    assert bound_of(plain, plain, 30.0).limit == 30.0
    assert precision_of(_net(np.random.default_rng(0)).main) == plain
    for accuracy in ("bfloat16", "float16"):
        assert precision_of(_net(np.random.default_rng(0)).main, accuracy).coarsest == accuracy


def test_how_much_of_it_is_used() -> None:
    x = np.array([0.0, 10.0], np.float32)
    share = Bound("range", 0.02, "float16")
    assert share.used(x, x + 0.1, 40.0) == pytest.approx(0.5, rel=1e-3)
    assert share.used(x, x, math.inf) == 0.0
    assert math.isinf(share.used(x, np.array([np.nan, 1], np.float32), math.nan))
    noise = Bound("sqnr", 10.0, "int8")
    assert noise.used(x, x + 1, 10.0) == pytest.approx(1.0)
    assert noise.used(x, x + 1, 30.0) == pytest.approx(0.1)
    assert math.isinf(noise.used(x, x + 1, math.nan))
    assert str(share) == "2 % of the range, for float16"
    assert str(noise) == "10 dB, for int8"
