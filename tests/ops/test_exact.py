# SPDX-License-Identifier: Apache-2.0
"""Exact programs: every case of the op table with an exact form gives the reference's bits on every
instruction set and with any number of threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.ops.test_native import OPERATORS, usable_isas

import samara
from samara.exporter.conformance.programs import FORMS, Form, one_node
from samara.exporter.ir import Program, to_bytes
from samara.exporter.ir.accuracy import has_exact_form, with_accuracy
from samara.exporter.ops import Case, OpSpec, all_ops
from samara.exporter.testing import Array
from samara.exporter.types import ShapeError

EXACT = [op for op in OPERATORS if op.exact is not None or op.copies or op.settled]
_OPS = {op.name: op for op in all_ops()}


def same_bits(got: Array, want: Array) -> bool:
    """Whether two arrays have the same bits; every NaN counts as one."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind == "f":
        nan = np.isnan(want)
        if not np.array_equal(np.isnan(got), nan):
            return False
        got, want = (
            np.where(nan, 0, got).astype(got.dtype),
            np.where(nan, 0, want).astype(want.dtype),
        )
    return got.tobytes() == want.tobytes()


def exact_program(op: OpSpec, case: Case, form: Form) -> tuple[Program, dict[str, Array]] | None:
    """The case as an exact program with its feeds; None if its node has no exact form."""
    try:
        made = one_node(op, case, form)
    except ShapeError:
        return None
    if made is None or not all(has_exact_form(n) for n in made.program.main.nodes):
        return None
    return with_accuracy(made.program, "exact"), dict(made.feeds)


def differences(op: OpSpec, case: Case, form: Form) -> Iterator[str]:
    made = exact_program(op, case, form)
    if made is None:
        return
    program, feeds = made
    model = samara.Model(to_bytes(program))
    want = program.run(feeds)
    for isa in usable_isas(op):
        for threads in (1, 2):
            got = samara.Session(model, isa=isa, threads=threads).run(feeds)
            for name, y in got.items():
                if not same_bits(y, want[name]):
                    yield f"{op.name}-{case.name} {form} {isa}, {threads} threads: {name}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("op", EXACT, ids=lambda op: op.name)
def test_cases(op: OpSpec, form: Form) -> None:
    found = [text for case in op.cases for text in differences(op, case, form)]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:20])


_SPECIAL = np.array(
    [
        0,
        -0.0,
        1,
        -1,
        np.nan,
        np.inf,
        -np.inf,
        1e-45,
        -1e-45,
        1e-38,
        3e38,
        -3e38,
        88.7,
        -87.2,
        0.5,
        -0.5,
        104,
    ],
    np.float32,
)
_ATTRS = {"clamp": {"lo": 0.0, "hi": 0.75}, "leaky_relu": {"alpha": -0.5}}
_FUNCTIONS = [
    op for op in EXACT if op.check == "same" and op.dtypes[0] == "f32" and "to" not in op.attr_names
]


@pytest.mark.parametrize("op", _FUNCTIONS, ids=lambda op: op.name)
def test_special_values(op: OpSpec) -> None:
    case = Case((_SPECIAL,), _ATTRS.get(op.name, {}))
    assert not list(differences(op, case, FORMS[0]))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "lt", "eq"])
def test_special_pairs(name: str) -> None:
    a, b = np.meshgrid(_SPECIAL, _SPECIAL)
    assert not list(differences(_OPS[name], Case((a.copy(), b.copy())), FORMS[0]))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "reduce_sum", "rms_norm", "layer_norm"])
def test_special_rows(name: str) -> None:
    rows = np.stack(
        [np.roll(_SPECIAL, i) for i in range(5)] + [np.full(17, -np.inf, np.float32)] * 2
    )
    rows[-1] = -0.0
    attrs = {"axes": (1,)} if name == "reduce_sum" else {}
    assert not list(differences(_OPS[name], Case((rows,), attrs), FORMS[0]))


@pytest.mark.parametrize(
    ("name", "shapes", "attrs"),
    [
        ("matmul", ((37, 70), (70, 45)), {}),
        ("matmul", ((1, 300), (300, 100)), {"post": "silu"}),
        ("matmul", ((5, 333), (333, 50)), {"lo": 0.0, "hi": 0.5}),
        ("matmul", ((2, 3, 19, 20), (2, 3, 31, 20)), {"transpose_w": True}),
        ("matmul", ((1100, 9), (1100, 17)), {"transpose_x": True}),
        ("softmax", ((300, 401),), {"axis": -1}),
        ("softmax", ((7, 300, 33),), {"axis": 1}),
        ("rms_norm", ((300, 576), (576,)), {}),
        ("reduce_mean", ((64, 33, 70),), {"axes": (0, 2)}),
        ("gelu", ((70, 301),), {"approximate": "tanh"}),
    ],
)
def test_large_nodes(
    name: str, shapes: tuple[tuple[int, ...], ...], attrs: dict[str, object]
) -> None:
    case = Case(tuple(("f32", s) for s in shapes), attrs)
    for form in FORMS:
        assert not list(differences(_OPS[name], case, form))


def test_exact_operators_refuse_what_has_no_exact_form() -> None:
    made = one_node(_OPS["exp"], Case((("f32", (3,)),)), FORMS[0])
    assert made is not None
    model = samara.Model(to_bytes(made.program))
    other = one_node(_OPS["sin"], Case((("f32", (3,)),)), FORMS[0])
    assert other is not None
    bounded = samara.Model(to_bytes(other.program))
    with pytest.raises(samara.UnsupportedError, match="sin has no exact form"):
        samara.Session(bounded, accuracy="exact")
    exact = samara.Session(model, accuracy="exact").run(made.feeds)["y0"]
    want = with_accuracy(made.program, "exact").run(made.feeds)["y0"]
    assert same_bits(exact, want)
