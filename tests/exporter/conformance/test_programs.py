# SPDX-License-Identifier: Apache-2.0
"""Programs of one node: what every form is, and where it says nothing new."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.conformance.operators import cases_of
from samara.exporter.conformance.programs import FORMS, Form, one_node
from samara.exporter.ops import all_ops, get_op
from samara.exporter.testing import assert_close, run_case


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["add", "conv", "qconv", "concat"])
def test_every_form_says_what_the_case_says(name: str, form: Form) -> None:
    op = get_op(name)
    case = next(iter(cases_of(op, quick=True).values()))[0]
    made = one_node(op, case, form)
    if made is None:
        assert form == "views"
        return
    got = made.program.run(made.feeds)
    for i, want in enumerate(run_case(op, case)):
        assert_close(got[f"y{i}"], want, name)


def test_forms_differ_in_what_is_fed() -> None:
    op = get_op("conv")
    case = next(iter(cases_of(op, quick=True).values()))[0]
    fed = {form: one_node(op, case, form) for form in FORMS}
    static, weights, constants = (fed[f] for f in ("static", "weights", "constants"))
    assert static is not None
    assert weights is not None
    assert constants is not None
    assert set(static.feeds) > set(weights.feeds) == {"x0"}
    assert not constants.feeds
    symbols = fed["symbols"]
    assert symbols is not None
    assert not symbols.program.main.inputs[0].type.is_static


def test_an_operator_without_inputs_has_one_form() -> None:
    op = next(op for op in all_ops() if not op.inputs and op.cases)
    made = [form for form in FORMS if one_node(op, op.cases[0], form) is not None]
    assert made == ["static"]


def test_inside_takes_every_dtype() -> None:
    op = get_op("transpose")
    for case in op.cases:
        made = one_node(op, case, "inside")
        if made is not None:
            (got,) = made.program.run(made.feeds).values()
            (want,) = run_case(op, case)
            assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f")
