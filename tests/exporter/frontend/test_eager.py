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
from samara.pybridge import op as bridge
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


def ran(function: Any) -> set[str]:
    """The operators that the function runs in C."""
    before = bridge.run_counts()
    function()
    return {n for n, count in bridge.run_counts().items() if count > before.get(n, 0)}


CURVES = ("exp", "log", "sqrt", "sin", "cos", "tanh")


def test_pointwise_operators_run_in_c_from_their_size_on(rng: np.random.Generator) -> None:
    known = rng.random(eager.UFUNC, np.float32) * 0.9 + 0.05
    large = [o for o in all_ops() if o.eager is Eager.LARGE]
    assert len(large) > 25
    for op in [*large, *map(get_op, CURVES), get_op("where"), get_op("pow")]:
        size = eager.UFUNC if op.name in (*CURVES, "where") else eager.LARGE
        shift = 1 if op.name == "acosh" else 0
        for n in (size - 1, size):
            arrays: list[Any] = [known[:n] + np.float32(shift)] * len(op.inputs)
            if op.name == "where":
                arrays[0] = known[:n] > 0.5
            got: list[Any] = []
            names = ran(lambda op=op, arrays=arrays, got=got: got.append(eager.run(op, arrays, {})))
            assert names == ({op.name} if n == size else set()), (op.name, n)
            want = op.evaluate(arrays, op.complete({}))
            testing.assert_close(got[0], want, op.name)
            wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
            assert not ran(lambda op=op, wide=wide: eager.run(op, wide, {})) or op.name == "where"


def test_arithmetic_takes_any_layout(rng: np.random.Generator) -> None:
    """Of large operands: scalars, broadcast ones, and ones in other orders of axes."""
    x = rng.random((4, 50, 60), np.float32)
    last = rng.random((4, 60, 50), np.float32).transpose(0, 2, 1)
    sub = get_op("sub")
    cases: list[tuple[Any, Any, Any]] = [
        (x, 0.5, x.strides),
        (0.5, x, x.strides),
        (np.float32(0.5).reshape(()), last, last.strides),
        (x[0], x, x.strides),
        (last, x[0], last.strides),
        (np.broadcast_to(np.float32(3), x.shape), last, last.strides),
        (x[:, :1], x[:, :, :1], x.strides),
        (x, last, x.strides),
        (last, x, last.strides),
        (x[:, ::2], last[:, ::2], None),
        (x.astype(np.float64), last.astype(np.float64), None),
    ]
    for a, b, strides in cases:
        got = eager.run(sub, [a, b], {})
        np.testing.assert_array_equal(got, a - b)
        assert got.dtype == (a - b).dtype
        assert strides is None or got.strides == strides
    assert ran(lambda: eager.run(sub, [x, last], {})) == {"sub"}  # numpy takes seven times as long
    for other in (x[0], x[0, 0], x[:, :, :1].copy()):  # and for rows and columns a half more
        assert ran(lambda other=other: eager.run(sub, [x, other], {})) == {"sub"}
        assert ran(lambda other=other: eager.run(sub, [other, x], {})) == {"sub"}
    assert not ran(lambda: eager.run(sub, [x, x], {}))
    assert not ran(lambda: eager.run(sub, [x, x[:1, :1, :1]], {}))


@pytest.mark.parametrize("size", [7, 300])
def test_small_whole_powers_are_products(size: int) -> None:
    special = [*SPECIAL, -2.0, 3.0, 1e-20, 1e15]
    values = np.resize(np.array(special, np.float32), size)
    power = get_op("pow")
    with np.errstate(all="ignore"):
        for exponent in (2, 3, 4, -1, -2, 3.0):
            exact = (values.astype(np.float64) ** exponent).astype(np.float32)
            got: list[Any] = []
            assert not ran(
                lambda e=exponent, got=got: got.append(eager.run(power, [values, e], {}))
            )
            assert got[0].dtype == np.float32
            # A square that overflows has the inverse 0, where the exact one is below the normal numbers.
            np.testing.assert_allclose(got[0], exact, rtol=2e-7, atol=2e-38)
            assert (eager.run(power, [values.astype(np.float64), exponent], {}).dtype) == np.float64
    for exponent, slopes in (
        (3, [12.0, 0.0, 27.0]),
        (4, [-32.0, 0.0, 108.0]),
        (-1, [-0.25, -math.inf, -1 / 9]),
        (-2, [0.25, -math.inf, -2 / 27]),
    ):
        x = samara.tensor([-2.0, 0.0, 3.0], requires_grad=True)
        (x**exponent).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == pytest.approx(slopes, rel=1e-6)


def test_narrow_rows_are_padded_in_numpy() -> None:
    pad = get_op("pad")
    x = np.arange(30, dtype=np.float32).reshape(5, 6)
    attrs = pad.complete({"pads": (1, 0, 2, 3)})
    for value in ((), (None,), (np.float32(7).reshape(()),)):
        got: list[Any] = []
        names = ran(lambda v=value, got=got: got.append(eager.run(pad, [x, *v], attrs)))
        assert not names
        fill = 7 if value and value[0] is not None else 0
        np.testing.assert_array_equal(got[0], np.pad(x, ((1, 2), (0, 3)), constant_values=fill))
    for shape, pads, mode in (((5, 16), (1, 0, 2, 3), "constant"), ((5, 6), (1, 0, 2, -3), "constant"),
                              ((5, 6), (1, 0, 2, 3), "edge")):  # fmt: skip
        given = pad.complete({"pads": pads, "mode": mode})
        y = np.ones(shape, np.float32)
        assert ran(lambda y=y, given=given: eager.run(pad, [y], given)) == {"pad"}


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
