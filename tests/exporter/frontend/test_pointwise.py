# SPDX-License-Identifier: Apache-2.0
"""Elementwise methods: gradients, float32, promotion, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import SamaraError, UnsupportedError

INTS = np.array([0, 1, 6])

CASES: parity.Cases = {
    **parity.methods((3, 4), "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh"),
    **parity.methods((3, 4), "erf", "erfc", "sigmoid", "relu", "abs", "sign", "square", "neg"),
    **parity.methods((3, 4), "floor", "ceil", "round", "trunc", "frac"),
    "log": (lambda m, x: (x * x + 0.1).log(), (3, 4)),
    "log2": (lambda m, x: (x * x + 0.1).log2(), (3, 4)),
    "log10": (lambda m, x: (x * x + 0.1).log10(), (3, 4)),
    "log1p": (lambda m, x: (x * x + 0.1).log1p(), (3, 4)),
    "sqrt": (lambda m, x: (x * x + 0.1).sqrt(), (3, 4)),
    "rsqrt": (lambda m, x: (x * x + 0.1).rsqrt(), (3, 4)),
    "reciprocal": (lambda m, x: (x * x + 0.1).reciprocal(), (3, 4)),
    "asin": (lambda m, x: (x.sigmoid() * 0.9 + 0.05).asin(), (3, 4)),
    "acos": (lambda m, x: (x.sigmoid() * 0.9 + 0.05).acos(), (3, 4)),
    "atanh": (lambda m, x: (x.sigmoid() * 0.9 + 0.05).atanh(), (3, 4)),
    "logit": (lambda m, x: (x.sigmoid() * 0.9 + 0.05).logit(), (3, 4)),
    "acosh": (lambda m, x: (x * x + 1.5).acosh(), (3, 4)),
    "logit_eps": (lambda m, x: x.sigmoid().logit(0.2), (3, 4)),
    "add": (lambda m, x, y: x + y, (3, 4), (4,)),
    "add_alpha": (lambda m, x, y: m.add(x, y, alpha=0.5), (3, 4), (3, 4)),
    "sub": (lambda m, x, y: x - y, (3, 1), (1, 4)),
    "sub_alpha": (lambda m, x, y: m.sub(x, y, alpha=2), (3, 4), (3, 4)),
    "mul": (lambda m, x, y: x * y, (2, 3, 4), (3, 1)),
    "div": (lambda m, x, y: x / (y * y + 0.5), (3, 4), (4,)),
    "scalars": (lambda m, x: (1 + x) * 2 - 3 + (x + 0.5) * 2.5 - (2.0 - x) / 4, (3, 4)),
    "reversed": (lambda m, x: 1 / (x * x + 1) + (3 - x) + 2 * x, (3, 4)),
    "div_floor": (lambda m, x, y: m.div(x, y, rounding_mode="floor"), (3, 4), (3, 4)),
    "div_trunc": (lambda m, x, y: m.div(x, y, rounding_mode="trunc"), (3, 4), (3, 4)),
    "floor_divide": (lambda m, x, y: x // (y * y + 0.5), parity.Fixed((3, 4)), parity.Fixed((3, 4))),
    "floor_divide_int": (lambda m, x, y: x // y, np.array([-7, 7, -8]), np.array([2, -2, 4])),
    "remainder": (lambda m, x, y: x % y, (3, 4), parity.Fixed((3, 4))),
    "remainder_int": (lambda m, x, y: x % y, np.array([-7, 7, -8]), np.array([2, -2, 4])),
    "remainder_scalar": (lambda m, x: x % 0.7, (3, 4)),
    "fmod": (lambda m, x, y: m.fmod(x, y), (3, 4), parity.Fixed((3, 4))),
    "div_int": (lambda m, x, y: x / y, np.array([-7, 7, -8]), np.array([2, -2, 4])),
    "pow_2": (lambda m, x: x**2, (3, 4)),
    "pow_3": (lambda m, x: x**3, (3, 4)),
    "pow_half": (lambda m, x: (x * x + 0.1) ** 0.5, (3, 4)),
    "pow_tensor": (lambda m, x, y: (x * x + 0.1) ** y, (3, 4), (3, 4)),
    "pow_base": (lambda m, x: 2**x, (3, 4)),
    "pow_minus": (lambda m, x: (x * x + 0.1).pow(-1.5), (3, 4)),
    "pow_int": (lambda m, x: x**3, np.array([-2, 3])),
    "atan2": (lambda m, x, y: m.atan2(x, y), (3, 4), (3, 4)),
    "lerp": (lambda m, x, y: m.lerp(x, y, 0.3), (3, 4), (3, 4)),
    "lerp_tensor": (lambda m, x, y, w: m.lerp(x, y, w), (3, 4), (3, 4), (3, 4)),
    "addcmul": (lambda m, x, y, z: m.addcmul(x, y, z, value=0.5), (3, 4), (3, 4), (3, 4)),
    "addcdiv": (lambda m, x, y, z: m.addcdiv(x, y, z * z + 1, value=0.5), (3, 4), (3, 4), (3, 4)),
    "clamp": (lambda m, x: x.clamp(-0.5, 0.7), (3, 4)),
    "clamp_min": (lambda m, x: x.clamp(min=0.1), (3, 4)),
    "clamp_tensors": (lambda m, x, a, b: x.clamp(a, b + 1), (3, 4), (4,), (4,)),
    "clamp_int": (lambda m, x: x.clamp(0, 3), np.array([-2, 1, 9])),
    "clamp_functions": (lambda m, x: m.clamp_min(m.clamp_max(m.clip(x, -2, 2), 1.5), -0.5), (3, 4)),
    "bit_functions": (lambda m, x: (m.bitwise_not(x), m.bitwise_xor(x, x + 1)), INTS),
    "integer_functions": (lambda m, x: (m.floor_divide(x, 4), m.remainder(x, 4)), INTS),
    "maximum": (lambda m, x, y: m.maximum(x, y), (3, 4), (3, 4)),
    "minimum": (lambda m, x, y: m.minimum(x, y), (3, 4), (4,)),
    "max_with_tensor": (lambda m, x, y: m.max(x, y), (3, 4), (3, 4)),
    "equal_extremes": (lambda m, x: m.maximum(x, x), (3,)),
    "where": (lambda m, x, y, c: m.where(c, x, y), (3, 4), (4,), np.eye(3, 4, dtype=bool)),
    "where_scalar": (lambda m, x, c: m.where(c, x, 1.5), (3, 4), np.eye(3, 4, dtype=bool)),
    "where_method": (lambda m, x, y, c: x.where(c, y), (3, 4), (3, 4), np.eye(3, 4, dtype=bool)),
    "masked_fill": (lambda m, x, c: x.masked_fill(c, -2.0), (3, 4), np.eye(3, 4, dtype=bool)),
    "nan_to_num": (lambda m, x: m.nan_to_num(x / (x > 0), 1.0, 2.0, 3.0), parity.Fixed((3, 4))),
    "eq": (lambda m, x, y: x == y, np.array([1, 2, 3]), np.array([1, 0, 3])),
    "ne": (lambda m, x, y: x != y, np.array([1, 2, 3]), np.array([1, 0, 3])),
    "lt": (lambda m, x, y: x < y, (3, 4), (3, 4)),
    "le": (lambda m, x: x <= 0.5, (3, 4)),
    "gt": (lambda m, x, y: x > y, (3, 4), (4,)),
    "ge": (lambda m, x: x <= 0.5, (3, 4)),
    "compare_bool": (lambda m, x, y: x < y, np.array([True, False]), np.array([True, True])),
    "logic": (lambda m, x, y: ((x > 0) & (y > 0)) ^ ~(x > 1), (3, 4), (3, 4)),
    "logical": (lambda m, x, y: m.logical_and(x, y).logical_or(m.logical_xor(x, y)), INTS, np.array([3, 0, 1])),
    "logical_not": (lambda m, x: x.logical_not(), INTS),
    "bits": (
        lambda m, x, y: (m.bitwise_and(x, y), m.bitwise_or(x, y), x ^ ~y), np.array([1, 6, 12]), np.array([3, 5, 10]),
    ),
    "isnan": (lambda m, x: (m.isnan(x / x), m.isinf(1 / x), m.isfinite(1 / x)), np.array([0.0, 1.0, -2.0])),
    "add_bool": (lambda m, x, y: (x + y, x * y), np.array([True, False]), np.array([True, True])),
    "sum_of_kinds": (lambda m, x, y: x + y, (3,), np.array([1, 2, 3])),
    "rounding_int": (lambda m, x: (x.floor(), x.round(), x.abs(), -x, x.sign()), np.array([-2, 3])),
}  # fmt: skip


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


def test_errors() -> None:
    with pytest.raises(UnsupportedError, match="bits"):
        samara.ones(2) & samara.ones(2)
    with pytest.raises(SamaraError):
        samara.ones(2) + samara.ones(3)


def test_comparison_with_none_is_plain() -> None:
    x = samara.ones(2)
    assert x is not None
    assert (x == None) is False  # type: ignore[comparison-overlap]  # noqa: E711


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expm1_and_log1p_are_exact_near_zero(dtype: Any) -> None:
    """Values and gradients, also where exp overflows and at the ends."""
    small = np.logspace(-30, 1.9, 1500)
    ends = [0.0, -0.0, 39.9, 40.0, 41.0, 100.0, 1000.0, -100.0, -1000.0, np.inf, -np.inf, np.nan]
    x = np.concatenate([small, -small, ends]).astype(dtype)
    near = float(4 * np.finfo(dtype).eps)
    with np.errstate(all="ignore"):
        for name, arg, want, slope in (
            ("expm1", x, np.expm1, np.exp),
            ("log1p", x[(x >= -1) | np.isnan(x)], np.log1p, lambda v: 1 / (1 + v)),
        ):
            t = samara.from_numpy(arg.copy()).requires_grad_()
            y = getattr(t, name)()
            y.sum().backward()
            exact = arg.astype(np.longdouble)
            expected: Any = want(exact).astype(dtype)
            np.testing.assert_allclose(y.detach().numpy(), expected, rtol=near, atol=0)
            assert t.grad is not None
            slopes: Any = slope(exact).astype(dtype)
            if name == "expm1":  # by exp(x) + 1, as in PyTorch
                np.testing.assert_allclose(t.grad.numpy(), slopes, rtol=near, atol=near)
            else:
                np.testing.assert_allclose(t.grad.numpy(), slopes, rtol=near)
