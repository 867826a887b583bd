# SPDX-License-Identifier: Apache-2.0
"""activation_grad: the slopes and the kinks, which tests of all operators do not check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext, context_of
from samara.exporter.ops.pointwise.grad_activation import KINDS
from samara.exporter.types import ShapeError, TensorType


def _slope(kind: str, v: list[float], **attrs: float) -> list[float]:
    points = np.array(v, np.float64)
    return list(ops.activation_grad(np.ones_like(points), points, kind=kind, **attrs))


def test_kinks_are_pytorchs() -> None:
    assert _slope("relu", [-1, 0, 2, np.nan]) == [0, 0, 1, 1]
    assert _slope("leaky_relu", [-1, 0, 2], alpha=0.5) == [0.5, 0.5, 1]
    assert _slope("elu", [0, 2], alpha=0.5) == [0.5, 1]
    assert _slope("hard_sigmoid", [0, 0.5, 1], alpha=0.25) == [0, 0.25, 0]
    assert _slope("hard_swish", [-4, -3, 0, 3, 4]) == [0, 0, 0.5, 1, 1]
    assert _slope("clamp", [-2, -1, 0, 2, 3], alpha=-1, beta=2) == [0, 1, 1, 1, 0]


def test_smooth_slopes() -> None:
    assert _slope("sigmoid", [0.5]) == [0.25]
    assert _slope("tanh", [0.5]) == [0.75]
    assert _slope("softplus", [0]) == [0.5]
    assert _slope("silu", [0]) == [0.5]
    assert _slope("gelu", [0]) == [0.5]
    assert _slope("gelu_tanh", [0]) == [0.5]
    np.testing.assert_allclose(_slope("gelu", [1.0]), [0.8413447460685429 + 0.24197072451914337])


def test_zero_slopes_stop_whatever_comes() -> None:
    dy = np.array([np.inf, np.nan])
    for kind in ("relu", "hard_sigmoid", "hard_swish", "clamp"):
        got = ops.activation_grad(dy, np.full(2, -9.0), kind=kind, alpha=-1.0, beta=1.0)
        assert list(got) == [0, 0], kind


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtypes_stay(dtype: Any) -> None:
    v = np.linspace(0.1, 0.9, 5).astype(dtype)
    for kind in KINDS:
        assert ops.activation_grad(v, v, kind=kind, beta=1.0).dtype == dtype


def test_rules_are_one_call() -> None:
    """The gradient rule of each activation is this operator with the activation's attributes."""
    x = np.linspace(-4, 4, 9)
    for op, attrs, kind in (
        (ops.relu, {}, "relu"),
        (ops.leaky_relu, {"alpha": 0.5}, "leaky_relu"),
        (ops.elu, {"alpha": 0.5}, "elu"),
        (ops.sigmoid, {}, "sigmoid"),
        (ops.tanh, {}, "tanh"),
        (ops.gelu, {}, "gelu"),
        (ops.gelu, {"approximate": "tanh"}, "gelu_tanh"),
        (ops.silu, {}, "silu"),
        (ops.softplus, {}, "softplus"),
        (ops.hard_sigmoid, {"alpha": 0.5, "beta": 0.25}, "hard_sigmoid"),
        (ops.hard_swish, {}, "hard_swish"),
        (ops.clamp, {"lo": -1.0, "hi": 2.0}, "clamp"),
    ):
        y = op(x, **attrs)
        ctx = context_of(op, [x], [y], op.complete(attrs), [x], [True])
        assert op.grad is not None
        (dx,) = op.grad(ctx)
        of_y = kind in ("relu", "sigmoid", "tanh", "hard_sigmoid")
        alpha = attrs.get("alpha", attrs.get("lo", 0.0))
        want = ops.activation_grad(
            x, y if of_y else x, kind=kind, alpha=alpha, beta=attrs.get("hi", 0.0)
        )
        np.testing.assert_array_equal(dx, want, err_msg=kind)


def test_shapes_must_agree() -> None:
    op = ops.activation_grad
    for types, message in (
        ([TensorType.of("f32", (3,)), TensorType.of("f32", (4,))], "axis 0 of v"),
        (
            [TensorType.of("f32", (3,)), TensorType.of("f16", (3,))],
            "dy is float32 but v is float16",
        ),
    ):
        with pytest.raises(ShapeError, match=message):
            op.infer(InferContext(op, types, op.complete({})))
