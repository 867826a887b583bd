# SPDX-License-Identifier: Apache-2.0
"""Known answers of backward operators; tests/ops/test_gradients.py checks the forward operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext, OpSpec, context_of
from samara.exporter.types import Dim, ShapeError, Sym, TensorType


def _f64(*values: Any) -> Any:
    return np.array(values, np.float64)


def test_softmax_grad() -> None:
    y, dy = _f64(0.25, 0.75), _f64(4, 0)
    np.testing.assert_array_equal(ops.softmax_grad(dy, y), [0.75, -0.75])
    np.testing.assert_allclose(ops.log_softmax_grad(dy, np.log(y)), [3, -3])


def test_layer_norm_grad() -> None:
    # The normalized row is (-1, 1): a gradient along it, or a constant one, gives 0.
    x = _f64([1, 3], [5, 9])
    dx, dscale, dbias = ops.layer_norm_grad(_f64([2, 2], [-3, 3]), x, eps=0)
    np.testing.assert_allclose(dx, np.zeros((2, 2)), atol=1e-12)
    assert dscale.tolist() == [1, 5]
    assert dbias.tolist() == [-1, 5]


def test_rms_norm_grad() -> None:
    x = _f64([3, 4])
    dx, dscale = ops.rms_norm_grad(_f64([4, -3]), x, eps=0)
    np.testing.assert_allclose(dx, _f64([4, -3]) / np.sqrt(12.5))  # at right angles to x
    np.testing.assert_allclose(dscale, _f64(12, -12) / np.sqrt(12.5))


def test_batch_norm_grad_is_that_of_layer_norm_turned() -> None:
    rng = np.random.default_rng(3)
    x, dy = rng.standard_normal((2, 6, 5))
    mean, var = x.mean(axis=0), x.var(axis=0)
    want = ops.layer_norm_grad(dy.T, x.T)[0].T
    dx, dscale, dbias = ops.batch_norm_grad(dy, x, mean, var)
    np.testing.assert_allclose(dx, want, atol=1e-12)
    np.testing.assert_allclose(dbias, dy.sum(axis=0))
    np.testing.assert_allclose(dscale, (dy * (x - mean) / np.sqrt(var + np.float32(1e-5))).sum(0))


def test_group_norm_grad_of_one_group_is_that_of_layer_norm() -> None:
    rng = np.random.default_rng(4)
    x, dy = rng.standard_normal((2, 3, 4, 6))
    scale = rng.standard_normal(6)
    dx, dscale, dbias = ops.group_norm_grad(dy, x, scale, groups=1)
    whole = np.broadcast_to(scale, (4, 6))
    want = ops.layer_norm_grad(dy, x, whole, axis=1)
    np.testing.assert_allclose(dx, want[0], atol=1e-12)
    np.testing.assert_allclose(dscale, want[1].sum(axis=0))
    np.testing.assert_allclose(dbias, want[2].sum(axis=0))


def test_gradients_through_the_statistics_of_a_batch() -> None:
    """Mean and variance are outputs with gradients too."""
    x = _f64([1, 10], [3, 30])
    outputs = ops.batch_norm(x)
    attrs = ops.batch_norm.complete({})
    rule = ops.batch_norm.grad
    assert rule is not None

    def grads(*dys: Any) -> Any:
        return rule(context_of(ops.batch_norm, [x], outputs, attrs, dys))[0]

    one = np.ones(2)
    np.testing.assert_allclose(grads(None, one, None), np.full((2, 2), 0.5))
    np.testing.assert_allclose(grads(None, None, one), [[-1, -10], [1, 10]])
    both = grads(outputs[0], one, None)
    np.testing.assert_allclose(both, grads(outputs[0], None, None) + 0.5)


def test_only_wanted_gradients() -> None:
    """A rule gives one gradient per present input, None for those not asked for."""
    x, scale = _f64([1, 2]), _f64(1, 1)
    rule = ops.layer_norm.grad
    assert rule is not None
    attrs, y = ops.layer_norm.complete({}), [x]
    got = rule(context_of(ops.layer_norm, [x, scale], y, attrs, [x], [True, False]))
    assert len(got) == 2
    assert got[0] is not None
    assert got[1] is None


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "message"),
    [
        (ops.softmax_grad, [(2, 3), (2, 4)], {}, "axis 1 of y"),
        (ops.layer_norm_grad, [(2, 3), (2, 3), (2,)], {}, "axis 0 of scale"),
        (ops.batch_norm_grad, [(3,), (3,), (3,), (3,)], {}, "rank 1"),
        (ops.batch_norm_grad, [(2, 3), (2, 3), (3,), (2,)], {}, "axis 0 of var"),
        (ops.batch_norm_grad, [(2, 3), (2, 3), (3,)], {}, "inputs, expected"),
        (ops.group_norm_grad, [(2, 5, 6), (2, 5, 6)], {"groups": 4}, "4 groups must divide"),
        (ops.group_norm, [(2, 5, 6)], {"groups": -1}, "groups is -1"),
        (ops.batch_norm, [(2, 5, 6), (5,)], {}, "axis 0 of scale"),
    ],
)
def test_refusals(
    op: OpSpec, shapes: list[tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    types = [TensorType.of("f32", s) for s in shapes]
    with pytest.raises(ShapeError, match=message):
        op.infer(InferContext(op, types, op.complete(attrs)))


def test_groups_of_open_channels_are_guarded() -> None:
    channels = Dim.atom(Sym("c"))
    context = InferContext(
        ops.group_norm,
        [TensorType.of("f32", (2, 5, channels))],
        ops.group_norm.complete({"groups": 4}),
    )
    ops.group_norm.infer(context)
    (guard,) = context.guards
    assert guard.a.evaluate({"c": 8}, None) == guard.b.evaluate({"c": 8}, None)
    assert guard.a.evaluate({"c": 6}, None) != guard.b.evaluate({"c": 6}, None)
