# SPDX-License-Identifier: Apache-2.0
"""Which constants lie in panels: padding is bounded, and every layout gives the same program and answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from samara import Model, Session
from samara.exporter.conformance.programs import one_node
from samara.exporter.ir import PADDING, Program, ProgramBuilder, from_bytes, to_bytes
from samara.exporter.ir.constant_layout import ConstantLayouts
from samara.exporter.ir.schema import Layout
from samara.exporter.ops import Case, OpSpec, WeightForm, all_ops
from samara.exporter.testing import case_id
from samara.exporter.types import DType


def _net(channels: tuple[int, ...], rng: np.random.Generator) -> Program:
    """Products with weights [16, N] of each N; names are w0, w1, …"""
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [2, 16])
    out = [
        b.op("matmul", x, b.const(rng.standard_normal((16, n), dtype=np.float32), f"w{i}"))
        for i, n in enumerate(channels)
    ]
    b.finish(out, [f"y{i}" for i in range(len(out))])
    return pb.finish(["main"])


def _layouts(program: Program, padding: float | None) -> dict[str, Layout]:
    return {c.name: c.layout for c in from_bytes(to_bytes(program, padding=padding)).constants}


def test_what_adds_most_is_row_major(rng: np.random.Generator) -> None:
    program = _net((4, 64, 15), rng)
    # Of 83 channels, panels add 12 and 1.
    assert _layouts(program, 13 / 83) == dict.fromkeys(("w0", "w1", "w2"), Layout.PANEL)
    assert _layouts(program, 12.9 / 83)["w0"] is Layout.PLAIN
    assert _layouts(program, 1 / 83)["w2"] is Layout.PANEL
    assert _layouts(program, 0.0) == {"w0": Layout.PLAIN, "w1": Layout.PANEL, "w2": Layout.PLAIN}
    assert set(_layouts(program, None).values()) == {Layout.PLAIN}
    assert set(_layouts(program, math.inf).values()) == {Layout.PANEL}


def test_equal_arrays_count_once(rng: np.random.Generator) -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [2, 16])
    thin = rng.standard_normal((16, 15), dtype=np.float32)
    wide = rng.standard_normal((16, 16), dtype=np.float32)
    out = [b.op("matmul", x, b.const(w.copy())) for w in (thin, thin, wide)]
    b.finish(out, ["a", "b", "c"])
    program = pb.finish(["main"])
    assert set(_layouts(program, 1 / 31).values()) == {Layout.PANEL}
    assert Layout.PLAIN in _layouts(program, 0.9 / 31).values()


def test_unused_arrays_are_row_major(rng: np.random.Generator) -> None:
    layouts = ConstantLayouts(_net((16,), rng), math.inf)
    assert layouts.pack(np.ones((16, 16), np.float32)).layout is Layout.PLAIN


def _tied(kind: DType, activations: str, rng: np.random.Generator) -> Program:
    """A table of rows that is also the weights of a product, in blocks; `q` and `scales`."""
    pb = ProgramBuilder()
    b = pb.function("main")
    ids = b.input("ids", "i64", ["n"])
    numbers = rng.integers(-8, 8, (40, 80), np.int8).astype(kind.numpy)
    q = b.const(numbers, "q", kind)
    scales = b.const(rng.uniform(0.01, 0.1, (40, 5)).astype(np.float16), "scales")
    x = b.op("gather_blocks", q, scales, ids, block=16)
    y = b.op("matmul_blocks", x, q, scales, block=16, activations=activations)
    b.finish([x, y], ["x", "y"])
    return pb.finish(["main"])


@pytest.mark.parametrize("kind", [DType.I4, DType.U4, DType.I8])
def test_a_table_shares_the_panels_of_a_product(kind: DType, rng: np.random.Generator) -> None:
    program = _tied(kind, "int8", rng)
    assert _layouts(program, math.inf) == {"q": Layout.PANEL, "scales": Layout.PANEL}
    again = from_bytes(to_bytes(program, padding=math.inf)).program
    feeds = {"ids": np.array([0, 39, 17, -1, 16])}
    want = program.run(feeds)
    for padding in (math.inf, None):
        session = Session(Model(to_bytes(program, padding=padding)))
        for got in (session.run(feeds), again.run(feeds)):
            np.testing.assert_array_equal(got["x"], want["x"])
            np.testing.assert_array_equal(got["y"], want["y"])


def test_a_table_alone_or_beside_float_products_is_row_major(rng: np.random.Generator) -> None:
    """Older runtimes read these files."""
    program = _tied(DType.I4, "float32", rng)
    assert set(_layouts(program, math.inf).values()) == {Layout.PLAIN}


def _weighted() -> list[Any]:
    """Every case of the op table with a weight for which there are panels."""
    found = []
    for op in all_ops():
        if any(
            op.weight_form(i) in (WeightForm.CONV, WeightForm.MATMUL, WeightForm.BLOCKS)
            for i in range(9)
        ):
            found += [pytest.param(op, case, id=case_id(op, case)) for case in op.cases[:6]]
    return found


@pytest.mark.parametrize(("op", "case"), _weighted())
def test_answers_do_not_depend_on_the_layout(op: OpSpec, case: Case) -> None:
    made = one_node(op, case, "weights")
    if made is None:
        return
    answers = [
        Session(Model(to_bytes(made.program, padding=padding)), threads=1).run(made.feeds)
        for padding in (math.inf, PADDING, None)
    ]
    for answer in answers[1:]:
        for name, want in answers[0].items():
            np.testing.assert_array_equal(answer[name], want)


def test_answers_are_compared_where_layouts_differ() -> None:
    files = [
        {padding: len(to_bytes(made.program, padding=padding)) for padding in (math.inf, PADDING)}
        for op, case in (p.values for p in _weighted())
        if (made := one_node(op, case, "weights")) is not None
    ]
    assert sum(sizes[math.inf] > sizes[PADDING] for sizes in files) > len(files) / 2
