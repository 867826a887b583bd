# SPDX-License-Identifier: Apache-2.0
"""Running one operator: numpy kernels against the references, views, special values, errors."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.cases import each_case

import samara
from samara.exporter import testing
from samara.exporter.frontend import eager, native
from samara.exporter.ops import Eager, all_ops, get_op
from samara.exporter.types import DType
from samara.pybridge.errors import SamaraError, ShapeError

# Operators whose attributes hold functions, or that end a program: eager code has Python for them.
CONTROL = {"if", "loop", "call", "custom", "trap"}
# Quantized tensors live in programs, not in eager code.
EAGER = [
    (op, case)
    for op in all_ops()
    for case in op.cases
    if op.name not in CONTROL
    and not any(t is not None and t.dtype is DType.QS8 for t in testing.case_types(case))
]


def outputs(got: Any) -> tuple[Any, ...]:
    return got if isinstance(got, tuple) else (got,)


@each_case([(op, case) for op, case in EAGER if op in eager.KERNELS])
def test_numpy_kernels_are_the_references(op: Any, case: Any) -> None:
    arrays = testing.case_inputs(op, case)
    attrs = op.complete(case.attrs)
    found = outputs(eager.KERNELS[op](arrays, attrs))
    for a, b in zip(found, testing.run_case(op, case), strict=True):
        assert type(a) is np.ndarray
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0) if b.dtype.kind == "f" else 0.0
        tolerance = 2e-3 if a.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * float(scale))


def test_every_row_of_the_numpy_route_has_its_function() -> None:
    assert {op.name for op in all_ops() if op.eager is Eager.NUMPY} == {
        o.name for o in eager.KERNELS
    }


@each_case([(op, case) for op, case in EAGER if not op.is_view])
def test_results_share_memory_only_where_the_tape_knows(op: Any, case: Any) -> None:
    """A result in its operand's memory must share its version, or changes in place go unnoticed."""
    arrays = testing.case_inputs(op, case)
    for value in outputs(eager.run(op, arrays, op.complete(case.attrs))):
        if op.name == "sum_to":  # a helper of gradient rules that may return its operand
            continue
        assert not any(a is not None and np.shares_memory(a, value) for a in arrays)


SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e30, -1e30, 1e-30]
UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid",
    "reciprocal", "relu", "abs", "sign", "floor", "ceil", "round", "trunc", "isnan", "isinf",
    "isfinite", "nan_to_num", "sum", "mean", "prod", "amax", "amin", "argmax", "std", "any", "all",
    "long", "bool", "half", "double", "neg",
]  # fmt: skip


@pytest.mark.parametrize("size", [10, 20_000])
@pytest.mark.parametrize("name", UNARY)
def test_special_values_are_quiet(name: str, size: int) -> None:
    x = samara.from_numpy(np.resize(np.array(SPECIAL, np.float32), size))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = getattr(x[:10], name)()
        full = getattr(x, name)()
    if full.ndim:
        np.testing.assert_allclose(full[:10].numpy(), small.numpy(), rtol=1e-6)


# sign(NaN) is NaN here, as numpy and ONNX have it, and 0 in PyTorch.
TORCH_UNARY = [n for n in UNARY if n not in ("long", "half", "std", "argmax", "sign")]


@pytest.mark.parametrize("name", TORCH_UNARY)
def test_special_values_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    values = np.array([*SPECIAL, -200.0, 200.0, 88.0, -0.5, 0.5, -0.99, 1e9], np.float32)
    x = samara.from_numpy(values)
    y = torch.from_numpy(values.copy())
    found, expected = getattr(x, name)().numpy(), getattr(y, name)().numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    if name in ("expm1", "log1p", "sqrt", "relu", "exp", "tanh", "sigmoid", "log"):
        x, y = x.requires_grad_(), y.requires_grad_()
        getattr(x, name)().sum().backward()
        getattr(y, name)().sum().backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=2e-5)


def test_scalars_are_weak() -> None:
    add = get_op("add")
    half = np.ones(2, np.float16)
    assert eager.run(add, [half, 2.5], {}).dtype == np.float16
    assert eager.run(add, [2, half], {}).dtype == np.float16
    assert eager.concrete([np.ones(2, np.int8), 3])[1].dtype == np.int8
    assert eager.run(get_op("where"), [np.array([True, False]), half, 0.5], {}).dtype == np.float16


def test_large_float32_sums_keep_their_digits() -> None:
    x = np.full((3000, 40), 0.1, np.float32)
    for axes in ((0,), (0, 1), (1,)):
        exact = x.astype(np.float64).sum(axes)
        np.testing.assert_allclose(eager.sum_over(x, axes, False), exact, rtol=1e-6)
    columns = x.astype(np.float64).sum(0)
    np.testing.assert_allclose(eager.sum_over(x.T, (1,), True)[:, 0], columns, rtol=1e-6)
    halves = np.ones(5000, np.float16)
    assert eager.sum_over(halves, (0,), False) == 5000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: samara.ones(2, 3) + samara.ones(2), "broadcast"),
        (lambda: samara.ones(2, 3).double() * samara.ones(2).double(), "broadcast"),
        (lambda: samara.ones(2, 3) @ samara.ones(2, 3), "matmul"),
        (lambda: samara.ones(2, 3).double() @ samara.ones(2, 3).double(), "matmul"),
        (lambda: samara.cat([samara.ones(2, 3), samara.ones(2, 2)]), "concat"),
        (lambda: samara.ones(2).expand(3), "expand"),
        (lambda: samara.where(samara.ones(2) > 0, samara.ones(3), 0.0), "where"),
        (lambda: samara.zeros(0, 2).amax(0), "no largest"),
        (lambda: samara.zeros(0).argmax(), "argmax"),
    ],
)
def test_errors_are_the_shape_rules(wrong: Any, message: str) -> None:
    with pytest.raises(SamaraError, match=message):
        wrong()


def test_explained_keeps_errors_of_ours_and_names_the_operator() -> None:
    op = get_op("add")
    own = ShapeError("mine")
    assert eager.explained(op, [], {}, own) is own
    odd = eager.explained(op, [np.ones(2, np.float32)] * 2, {}, ValueError("strange"))
    assert isinstance(odd, ShapeError)
    assert str(odd) == "add: strange"


def test_slow_paths_are_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "fallbacks", Counter())
    caplog.set_level("INFO", logger="samara")
    x = samara.ones(2, 2).double()
    for _ in range(2):
        x @ x
    assert [r.getMessage() for r in caplog.records] == [
        "matmul of float64 runs in NumPy, which is slow; the C kernel is float32"
    ]
