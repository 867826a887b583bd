# SPDX-License-Identifier: Apache-2.0
"""Every case of the op table in the C runtime, on every instruction set, against the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.conformance.programs import FORMS, Form, one_node
from samara.exporter.ir import save_program, to_bytes
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.ops import Case, OpSpec, all_ops
from samara.exporter.testing import Array, assert_close, run_case
from samara.exporter.types import SamaraError as ExporterError
from samara.exporter.types import ShapeError
from samara.pybridge.device import host

ISAS = ("scalar", "avx2", "avx512", "neon")
INTEGER_ISAS = ("avx512-vnni", "amx-int8", "neon-dot", "neon-i8mm")  # only of integer kernels
# if, loop and call have bodies, which cases hold as Python functions: test_control.py makes programs
# of them. custom needs an operator in C (runtime_c/tests/session/control/custom_test.c).
OPERATORS = [op for op in all_ops() if "control" not in op.flags]
Check = Callable[[samara.Session, Mapping[str, Array]], dict[str, Array]]


def usable_isas(op: OpSpec) -> list[str]:
    """Those of ISAS that this machine has, and of INTEGER_ISAS for integers; scalar always."""
    described = host().description.replace(",", " ").split()
    known = ISAS + INTEGER_ISAS if "qs8" in op.dtypes else ISAS
    return [isa for isa in known if isa == "scalar" or isa in described]


def wrong(op: OpSpec, form: Form) -> tuple[list[str], int]:
    """What is wrong with the operator in that form, and how many cases ran."""
    found: list[str] = []
    count = 0
    for case in op.cases:
        count += _case(op, case, form, found)
    return found, count


def _case(op: OpSpec, case: Case, form: Form, found: list[str]) -> bool:
    where = f"{op.name}-{case.name} {form}"
    try:
        made = one_node(op, case, form)
    except ShapeError:
        # Symbols may leave open what a rule must know.
        if form == "symbols":
            return False
        raise
    if made is None:
        return False
    model = samara.Model(to_bytes(made.program))
    want = run_case(op, case)
    for isa in usable_isas(op):
        try:
            single = samara.Session(model, isa=isa, threads=1)
            if form == "symbols":
                _other_sizes(single, made.feeds)
            got = single.run(made.feeds)
            for i, y in enumerate(want):
                assert_close(got[f"y{i}"], y, op.name)
            shared = samara.Session(model, isa=isa, threads=2).run(made.feeds)
            for name, y in got.items():
                assert y.tobytes() == shared[name].tobytes(), f"two threads change {name}"
        except (AssertionError, samara.SamaraError) as error:
            found.append(f"{where} {isa}: {type(error).__name__}: {error}")
    return True


def _other_sizes(session: samara.Session, feeds: Mapping[str, Array]) -> None:
    """Plan for other sizes first: larger, then smaller ones, where the operator takes them."""
    for grow in (2, -1):
        shapes = {k: [n if n < 2 else n + grow for n in a.shape] for k, a in feeds.items()}
        try:
            session.resize(shapes)
        except samara.SamaraError:
            continue


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_cases(op: OpSpec, form: Form) -> None:
    found, _ = wrong(op, form)
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])


def test_nearly_all_cases_take_symbols() -> None:
    """The form with symbols is no empty shell: most cases that have sizes can be written in it."""
    refused = total = 0
    for op in OPERATORS:
        for case in op.cases:
            try:
                total += one_node(op, case, "symbols") is not None
            except (ShapeError, ExporterError):
                refused += 1
    assert total > 1000
    assert refused < 20


def test_a_bias_with_other_uses(tmp_path: Path) -> None:
    """Biases are stored with padding, which other readers never see."""
    b = ProgramBuilder().function("main")
    x, w = b.input("x", "f32", [1, 4, 4, 2]), b.const(np.ones((3, 1, 1, 2), np.float32))
    bias = b.const(np.arange(3, dtype=np.float32), "bias")
    spatial: Any = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}
    y = b.op("conv", x, w, bias, **spatial)
    column = b.op("reshape", bias, shape=(3, 1))
    b.finish([y, bias, column, b.op("neg", column)], ["y", "bias", "column", "negative"])
    program = b.program.finish(["main"])
    save_program(program, tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    feeds = {"x": np.ones((1, 4, 4, 2), np.float32)}
    got = session.run(feeds)
    for name, want in program.run(feeds).items():
        np.testing.assert_array_equal(got[name], want)
    guarded = np.full(7, 9, np.float32)
    session.run(feeds, out={"bias": guarded[:3]})
    assert guarded.tolist() == [0, 1, 2, 9, 9, 9, 9]


def test_assert_close_sees_one_wrong_bit() -> None:
    """What this file relies on can fail."""
    x = np.arange(3, dtype=np.float32)
    with pytest.raises(AssertionError):
        assert_close(np.nextafter(x, np.float32(9)), x, "identity")
