# SPDX-License-Identifier: Apache-2.0
"""Dims as flat expressions: round trip, sharing, malformed input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, Value
from samara.exporter.ir.exprs import Expr, ExprReader, ExprWriter
from samara.exporter.ir.schema import ExprOp
from samara.exporter.types import (
    Dim,
    DType,
    ModelFormatError,
    Read,
    Sym,
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

N, M = sym("n"), sym("m")


def _writer() -> tuple[ExprWriter, list[Value]]:
    pb = ProgramBuilder()
    b = pb.function("main")
    b.input("x", "f32", ["n", "m"])
    k = b.input("k", "i64", [2])
    b.input("s", "f32", [1])
    b.op("nonzero", k, name="rows")
    f = b.finish([k])
    values = list(f.values())
    return ExprWriter(f, {v: i for i, v in enumerate(values)}), values


def _reader(rows: Sequence[Expr], symbols: dict[int, Sym] | None = None) -> ExprReader:
    values = [("x", DType.F32), ("k", DType.I64), ("s", DType.F32), ("rows", DType.I64)]
    inputs = [[], [], []] if symbols is None else [[-1, -1], [-1], [-1]]
    return ExprReader(rows, symbols or {}, inputs, values, [("rows", 1)])


DIMS = [
    Dim.const(0),
    Dim.const(-(2**63)),
    N,
    N + M * 3 - 4,
    -N - 1,
    N * N * M - 2 * N,
    floordiv(N + 1, 2) * 3 + mod(N, 5),
    ceildiv(N * M, 7),
    dmax(N, M) - dmin(N, 4),
    select(dlt(N, M), N, deq(M, 3) + 1),
    scale_f32(N, f32_bits(1.5)),
    scale_f32(N, Dim.atom(Read("s", 0, bits=True))),
    Dim.atom(Read("k", 1)) * N,
    floordiv(Dim.atom(Read("k", 0)), 2),
]


@pytest.mark.parametrize("dim", DIMS, ids=str)
def test_round_trip(dim: Dim) -> None:
    writer, _ = _writer()
    index = writer.dim(dim)
    symbols = {
        i: Sym("nm"[row[2]]) for i, row in enumerate(writer.rows) if row[0] == ExprOp.INPUT_DIM
    }
    assert _reader(writer.rows, symbols)[index] == dim
    for i, row in enumerate(writer.rows):
        if row[0] >= ExprOp.ADD:
            count = 3 if row[0] == ExprOp.SELECT else 2
            assert all(0 <= n < i for n in row[1 : 1 + count])


def test_equal_parts_are_stored_once() -> None:
    writer, _ = _writer()
    half = floordiv(N, 2)
    writer.dim(half + 1)
    before = len(writer.rows)
    writer.dim(half + 1)
    assert len(writer.rows) == before
    writer.dim(half + 3)
    assert len(writer.rows) == before + 2  # the constant and the sum


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([(99, 0, 0, 0, 0)], "unknown operation 99"),
        ([(ExprOp.ADD, 0, 0, 0, 0)], "expression 0 uses 0"),
        ([(0, 0, 0, 0, 1), (ExprOp.ADD, 0, -1, 0, 0)], "uses -1"),
        ([(ExprOp.INPUT_DIM, 7, 0, 0, 0)], "no input 7"),
        ([(ExprOp.INPUT_DIM, 0, 0, 0, 0)], "has no axis 0"),
        ([(ExprOp.READ, 9, 0, -1, 0)], "value 9"),
        ([(ExprOp.READ, 1, -1, -1, 0)], "element -1"),
        ([(ExprOp.BORN, 1, 0, 0, -1)], "node 1 bears no dim"),
        ([(ExprOp.BORN, 0, 1, 0, -1)], "node 0 bears no dim 1"),
        ([(0, 0, 0, 0, 0), (ExprOp.FLOORDIV, 0, 0, 0, 0)], "expression 1"),
        ([(0, 0, 0, 0, 2**62), *((ExprOp.MUL, i, i, 0, 0) for i in range(20))], "too complex"),
    ],
)
def test_malformed_expressions(rows: list[Expr], text: str) -> None:
    with pytest.raises(ModelFormatError, match=text):
        _reader(rows)


def test_products_cannot_explode() -> None:
    rows: list[Expr] = [(ExprOp.READ, 1, i, -1, 0) for i in range(40)]
    total = 0
    for i in range(1, 40):
        rows.append((ExprOp.ADD, total, i, 0, 0))
        total = len(rows) - 1
    for _ in range(3):
        rows.append((ExprOp.MUL, total, total, 0, 0))
        total = len(rows) - 1
    with pytest.raises(ModelFormatError, match="too complex"):
        _reader(rows)


def test_input_dims_that_others_determine() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 3])
    b.input("y", "f32", ["n", N * 2])
    f = b.finish([x])
    writer = ExprWriter(f, {v: i for i, v in enumerate(f.values())})
    assert writer.checked_inputs() == [(1, 0, N), (1, 1, N * 2)]
    assert writer.symbols == {Sym("n"): (0, 0)}


def test_numpy_integers_are_dims() -> None:
    writer, _ = _writer()
    assert writer.rows[writer.dim(Dim.const(int(np.int64(5))))] == (0, 0, 0, 0, 5)
