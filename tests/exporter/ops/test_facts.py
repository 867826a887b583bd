# SPDX-License-Identifier: Apache-2.0
"""Facts in the operators' rows hold for their references."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import (
    POSTS,
    Case,
    Epilogue,
    Kind,
    OpSpec,
    WeightForm,
    activation_of,
    all_ops,
)
from samara.exporter.ops.facts import Facts, RowFacts
from samara.exporter.ops.linear.epilogue import epilogue
from samara.exporter.testing import Array, case_inputs, run_case
from samara.exporter.types import TensorType


def _plain_cases(op: OpSpec) -> list[tuple[Case, list[Array]]]:
    """Cases whose operands all have one shape with several elements."""
    found = []
    for case in op.cases:
        arrays = [a for a in case_inputs(op, case) if a is not None]
        shapes = {a.shape for a in arrays}
        if len(arrays) == len(case.inputs) and len(shapes) == 1 and arrays[0].size > 2:
            found.append((case, arrays))
    return found


@pytest.mark.parametrize(
    "op", [op for op in all_ops() if op.is_tabular and _plain_cases(op)], ids=lambda op: op.name
)
def test_pointwise_results_follow_their_elements(op: OpSpec) -> None:
    case, arrays = _plain_cases(op)[0]
    order = np.random.default_rng(0).permutation(arrays[0].size)
    (plain,) = run_case(op, case, arrays)
    (moved,) = run_case(op, case, [a.reshape(-1)[order].reshape(a.shape) for a in arrays])
    np.testing.assert_array_equal(moved.reshape(-1), plain.reshape(-1)[order])


def test_noise_is_in_no_table() -> None:
    assert ops.dropout.kind is Kind.POINTWISE
    assert not ops.dropout.is_tabular
    assert ops.mod.is_tabular


def test_operators_with_bodies_are_control() -> None:
    for op in all_ops():
        if any(a.type == "function" for a in op.attrs):
            assert op.kind is Kind.CONTROL, op.name
        assert (op.kind is Kind.CONTROL) == ("control" in op.flags), op.name


def test_facts_about_inputs_name_inputs() -> None:
    for op in all_ops():
        names = {n.rstrip("?*") for n in op.inputs}
        assert {*op.strided, *op.weights} <= names, op.name
        assert not set(op.strided) & set(op.weights), op.name


def test_strides_are_a_fact_of_an_input() -> None:
    assert [ops.conv.reads_strided(i) for i in range(5)] == [True, False, False, True, False]
    assert [ops.qconv.reads_strided(i) for i in range(3)] == [True, False, False]
    assert ops.concat.reads_strided(40)
    assert not ops.iota.reads_strided(0)


def test_weights_have_their_form() -> None:
    assert ops.conv.weight_form(1) is WeightForm.CONV
    assert ops.qmatmul.weight_form(2) is WeightForm.BIAS
    assert ops.matmul_blocks.weight_form(4) is WeightForm.BIAS
    assert ops.conv_transpose.weight_form(1) is None


def test_epilogues_are_those_of_inputs_and_attributes() -> None:
    for op in all_ops():
        names, inputs = {a.name for a in op.attrs}, {n.rstrip("?*") for n in op.inputs}
        assert (Epilogue.ACTIVATION in op.epilogue) == ("post" in names), op.name
        assert (Epilogue.RESIDUAL in op.epilogue) == ("residual" in inputs), op.name
        assert Epilogue.CLAMP not in op.epilogue or {"lo", "hi"} <= names, op.name


@pytest.mark.parametrize("post", [p for p in POSTS if p != "none"])
def test_every_activation_of_an_epilogue_is_an_operator(post: str) -> None:
    given: dict[str, Any] = {
        "post": post,
        "post_alpha": np.float32(0.3),
        "post_beta": np.float32(0.6),
    }
    found = activation_of(given)
    assert found is not None
    op, attrs = found
    back = op.as_post(op.complete(attrs))
    assert back is not None
    assert back["post"] == post
    assert {**given, **back} == given
    x = np.linspace(-4, 4, 99, dtype=np.float32)
    none: dict[str, Any] = {"lo": -np.inf, "hi": np.inf}
    want = epilogue(x, None, None, **none, **given)
    np.testing.assert_array_equal(op.evaluate([x], op.complete(attrs)), want)


def test_no_activation_is_none() -> None:
    assert activation_of({"post": "none"}) is None
    assert ops.sqrt.as_post({}) is None


def test_limits_of_clamps_are_those_of_the_reference() -> None:
    x = np.linspace(-3, 3, 41, dtype=np.float32)
    for op in all_ops():
        if op.clamps is not None:
            attrs = op.complete({"lo": -0.5, "hi": 1.5} if op.attrs else {})
            np.testing.assert_array_equal(op.evaluate([x], attrs), np.clip(x, *op.clamps(attrs)))


def test_helpers_pass_on_every_fact() -> None:
    assert set(Facts.__annotations__) == {f.name for f in fields(RowFacts)} - {"kind"}


@pytest.mark.parametrize("op", [op for op in all_ops() if op.copies], ids=lambda op: op.name)
def test_copies_are_elements_of_the_inputs(op: OpSpec) -> None:
    case = next(
        c for c in op.cases if any(isinstance(v, tuple) and v[0] == "f32" for v in c.inputs)
    )
    arrays = [a for a in case_inputs(op, case) if a is not None]
    held = {0.0, *(float(v) for a in arrays if a.dtype.kind == "f" for v in a.reshape(-1))}
    for result in run_case(op, case):
        assert {float(v) for v in result.reshape(-1)} <= held


@pytest.mark.parametrize("op", [op for op in all_ops() if op.homogeneous], ids=lambda op: op.name)
def test_homogeneous_operators_let_a_factor_through(op: OpSpec) -> None:
    case = next(c for c in op.cases if isinstance(c.inputs[0], tuple) and c.inputs[0][0] == "f32")
    x = case_inputs(op, case)[0]
    assert x is not None
    for plain, scaled in zip(run_case(op, case, [x]), run_case(op, case, [4 * x]), strict=True):
        np.testing.assert_array_equal(4 * plain, scaled)


def test_what_may_end_a_run() -> None:
    whole, real = TensorType.of("i32", [2]), TensorType.of("f32", [2])
    assert ops.div.may_end([whole, whole])
    assert not ops.div.may_end([real, real])
    assert ops.gather.may_end([real, whole])
    assert not ops.exp.may_end([real])
    # A custom operator may have effects, so it must not run where the author's code would not.
    assert ops.custom.may_end([real])
    assert not any(op.cheap and op.may_end([whole]) for op in all_ops())
