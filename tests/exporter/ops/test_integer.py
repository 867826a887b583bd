# SPDX-License-Identifier: Apache-2.0
"""Integer forms: each can be built by its row, and all users get the same one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.frontend.qat.grid import RULES
from samara.exporter.frontend.qat.rules import _rule_of
from samara.exporter.ops import REQUIRED, OpSpec, all_ops, get_op
from samara.exporter.ops.integer import Given, Plain, Real, Role, tail_of
from samara.exporter.types import Dim, Quant, Sym, TensorType

COMPUTED = [op for op in all_ops() if op.integer is not None and op.integer.role is Role.COMPUTED]
X = TensorType.of("f32", [2, 6, 6, 4])
ATTRS: dict[str, dict[str, Any]] = {
    "avg_pool": {
        "kernel": (2, 2),
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": (0,) * 4,
        "extend": (0, 0),
    },
    "reduce_mean": {"axes": (1, 2)},
    "resize": {"sizes": (12, 12), "scales": (0, 0), "mode": "linear"},
}


def given_for(op: OpSpec, constants: dict[int, Any] | None = None, **attrs: Any) -> Given:
    held = constants if constants is not None else {}
    first = {a.name: op.cases[0].attrs[a.name] for a in op.attrs if a.default is REQUIRED}
    full = op.complete({**first, **ATTRS.get(op.name, {}), **attrs})
    types = (X, *(TensorType.of("f32", np.shape(v)) for v in held.values()))
    two = (X, X) if op.integer is not None and len(op.integer.operands) > 1 else types
    return Given(full, two, lambda i: None if i not in held else np.asarray(held[i]))


@pytest.mark.parametrize("op", COMPUTED, ids=lambda op: op.name)
def test_forms_are_nodes_of_their_operators(op: OpSpec) -> None:
    constants: dict[str, dict[int, Any]] = {
        "div": {1: [1.0, 2, 4, 8]},
        "layer_norm": {1: np.ones(4), 2: np.zeros(4)},
    }
    given = given_for(op, constants.get(op.name))
    rule = op.integer
    assert rule is not None
    assert rule.fits(given)
    form = get_op(rule.form)
    assert form.build is not None
    quants = [Quant.per_tensor(0.05, 3)] * len(rule.operands)
    made = form.build(given, quants, Quant.per_tensor(0.04, -5), rule.options)
    assert made is not None
    form.complete(made.attrs)
    assert [v for v in made.operands if isinstance(v, int)] == list(rule.operands)
    low, high = form.min_inputs, form.max_inputs
    assert high is not None
    assert low <= len(made.operands) <= high


def test_what_adds_up_integers_builds_its_forms() -> None:
    for op in all_ops():
        rule = op.integer
        if rule is not None and rule.form:
            assert get_op(rule.form).build is not None, op.name
            assert "qs8" in get_op(rule.form).dtypes


def test_division_is_a_product_by_the_inverse() -> None:
    given = given_for(ops.div, {1: np.array([2.0, 4.0], np.float32)})
    assert ops.qmul.build is not None
    made = ops.qmul.build(given, [Quant.per_tensor(1)], Quant.per_tensor(1), {"inverse": True})
    assert made is not None
    assert made.operands[0] == 0
    assert isinstance(made.operands[1], Real)
    np.testing.assert_array_equal(made.operands[1].numbers, [0.5, 0.25])


@pytest.mark.parametrize("op", [ops.layer_norm, ops.rms_norm])
def test_norms_round_their_constants_once(op: OpSpec) -> None:
    """Training and the pass build the same integer operator."""
    gain = np.random.default_rng(0).standard_normal(4).astype(np.float32)
    assert op.integer is not None
    form = get_op(op.integer.form)
    assert form.build is not None
    y = Quant.per_tensor(0.037)
    made = form.build(given_for(op, {1: gain}, axis=3), [Quant.per_tensor(0.1)], y, {})
    assert made is not None
    assert isinstance(made.operands[1], Plain)
    exact = gain.astype(np.float64) * (2.0 if op is ops.rms_norm else 1.0) / np.float64(y.scale)
    np.testing.assert_array_equal(made.operands[1].array, exact.astype(np.float32))


def test_a_crop_may_show_what_is_no_element() -> None:
    rule = ops.resize.integer
    assert rule is not None
    assert rule.role_of(given_for(ops.resize, mode="nearest")) == (Role.MOVING, (0,))
    crop: dict[str, Any] = {"coordinate": "tf_crop_and_resize", "roi": (0.0, 0.0, 1.0, 1.0)}
    assert rule.role_of(given_for(ops.resize, mode="nearest", **crop)) is None
    assert rule.role_of(given_for(ops.resize, **crop)) is None


def test_linear_resize_of_three_axes_has_no_form() -> None:
    rule, full = (
        ops.resize.integer,
        ops.resize.complete({"sizes": (4, 4, 4), "scales": (0, 0, 0), "mode": "linear"}),
    )
    assert rule is not None
    x = TensorType.of("f32", [1, 2, 2, 2, 3])
    assert rule.role_of(Given(full, (x,), lambda i: None)) is None


def test_training_knows_what_the_plan_knows() -> None:
    """The plan treats convolutions separately, and softmax stays float."""
    plan = {op for op in all_ops() if op.integer is not None and op.integer.planned}
    plan -= {op for op in plan if op.integer is not None and op.integer.steep}
    apart = {ops.conv, ops.conv_transpose, ops.softmax}
    assert {op for op in all_ops() if _rule_of(op) is not None} == plan - apart | {
        ops.div,
        ops.where,
    }
    assert set(RULES) >= {op for op in all_ops() if _rule_of(op) is not None}


def test_symbolic_tails_are_unknown() -> None:
    t = TensorType.of("f32", [3, Dim.atom(Sym("n")), 4])
    assert tail_of(t, -1) == (4,)
    assert tail_of(t, 1) is None
    assert tail_of(None, 0) is None
