# SPDX-License-Identifier: Apache-2.0
"""Heavy operators run on the C kernels, forward and backward, with any strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend import native
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ops import Eager, get_op
from samara.exporter.types import Quant
from samara.nn import functional as F
from samara.pybridge import op as bridge
from samara.pybridge.errors import SamaraError

TARGET = np.array([1, 0, 3, -100, 2])

# name -> (function of tensors, shapes or arrays, C operators that must have run)
CASES: dict[str, tuple[Any, list[Any], set[str]]] = {
    "matmul": (lambda x, w: x @ w, [(5, 7), (7, 6)], {"matmul"}),
    "matmul_batch": (lambda x, w: x @ w, [(3, 5, 7), (3, 7, 6)], {"matmul"}),
    "linear": (lambda x, w, b: F.linear(x, w, b), [(9, 5), (6, 5), (6,)], {"matmul"}),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, 2, 1),
        [(2, 3, 9, 8), (5, 3, 3, 3), (5,)], {"conv", "conv_grad_input", "conv_grad_weight"},
    ),
    "depthwise": (
        lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 6),
        [(2, 6, 7, 7), (6, 1, 3, 3)], {"conv", "conv_grad_input", "conv_grad_weight"},
    ),
    "conv1d": (
        lambda x, w: F.conv1d(x, w, padding=2, dilation=2),
        [(2, 3, 11), (4, 3, 3)], {"conv", "conv_grad_input", "conv_grad_weight"},
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), [(2, 3, 5, 5), (3, 4, 3, 3)], {"conv_transpose"},
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 4, 9, 9)], {"max_pool", "max_pool_grad"}),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), [(2, 4, 8, 6)], {"avg_pool", "avg_pool_grad"}),
    "softmax": (lambda x: x.softmax(1), [(5, 7, 3)], {"softmax", "softmax_grad"}),
    "log_softmax": (lambda x: x.log_softmax(-1), [(5, 7)], {"log_softmax", "log_softmax_grad"}),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (8,), w, b), [(5, 8), (8,), (8,)], {"layer_norm", "layer_norm_grad"},
    ),
    "rms_norm": (lambda x, w: F.rms_norm(x, (8,), w), [(5, 8), (8,)], {"rms_norm", "rms_norm_grad"}),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        [(4, 6, 5, 5), (6,), (6,)], {"batch_norm", "batch_norm_grad"},
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 3, w, b), [(2, 6, 5, 5), (6,), (6,)], {"group_norm", "group_norm_grad"},
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, samara.tensor(TARGET)), [(5, 4)], {"cross_entropy", "cross_entropy_grad"},
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 3, 6, 8)] * 3, {"attention", "attention_grad"},
    ),
    "interpolate": (
        lambda x: F.interpolate(x, size=(9, 7), mode="bilinear"), [(2, 3, 5, 4)], {"resize", "resize_grad"},
    ),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False),
        [(2, 3, 5, 5), (2, 4, 4, 2)], {"grid_sample", "grid_sample_grad"},
    ),
    "embedding": (lambda w: F.embedding(samara.tensor([[1, 3], [0, 1]]), w), [(5, 6)], {"gather", "scatter_nd"}),
    "gather": (lambda x: x.gather(1, samara.tensor([[0, 2], [1, 1]])), [(2, 3)], {"gather_elements"}),
    "index_two": (lambda x: x[samara.tensor([0, 1]), samara.tensor([2, 2])], [(2, 3, 4)], {"gather_nd", "scatter_nd"}),
    "scatter_add": (
        lambda x, y: x.scatter_add(0, samara.tensor([[1, 0, 1]]), y), [(2, 3), (1, 3)], {"scatter_elements"},
    ),
    "cumsum": (lambda x: x.cumsum(1), [(3, 5)], {"cumsum"}),
    "topk": (lambda x: x.topk(3, 1).values, [(4, 6)], {"top_k"}),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1)), [(2, 3, 20)], {"pad"}),
    "repeat": (lambda x: x.repeat(2, 3), [(2, 3)], {"tile"}),
    "gelu": (lambda x: F.gelu(x), [(16, 16)], {"gelu", "activation_grad"}),
    "exp": (lambda x: x.exp(), [(64, 64)], {"exp"}),
    "where": (lambda x, y: samara.where(x > 0, x, y * 2), [(3, 40, 40), (40, 40)], {"where"}),
    "div": (lambda x, y: x / (y * y + 1), [(16, 16), (16, 16)], {"div"}),
    "pow": (lambda x, y: (x.abs() + 1) ** y, [(16, 16), (16,)], {"pow"}),
    "turned": (lambda x, y: x.t() * y, [(100, 90), (90, 100)], {"mul"}),
    "sum": (lambda x: (x * x).sum(0), [(200, 50)], {"reduce_sum"}),
}  # fmt: skip


def test_run_typed_takes_and_gives_parameters() -> None:
    x, w = Quant.per_tensor(0.5, 3), Quant.per_axis([0.25, 0.5], 1)
    a = np.array([[4, 5, -1], [3, 7, 0]], np.int8)
    b = np.array([[1, 2], [3, -4], [5, 6]], np.int8)
    bias = np.array([10, -10], np.int32)
    qmatmul = get_op("qmatmul")
    attrs = {"scale": 1.0, "zero_point": -2}
    before = bridge.run_counts().get("qmatmul", 0)
    ((y, quant),) = native.run_typed(qmatmul, [a, b, bias], [x, w, None], attrs)
    assert quant == Quant.per_tensor(1.0, -2)
    want = qmatmul.evaluate([a, b, bias], qmatmul.complete(attrs), [x, w, None])
    assert y.dtype == np.int8
    assert np.array_equal(y, want)
    # Strided operands, and a result that is not quantized.
    turned = np.asfortranarray(a)
    ((sums, none),) = native.run_typed(
        qmatmul, [turned, b, None], [x, w, None], {**attrs, "to": "i32"}
    )
    assert none is None
    assert sums.tolist() == ((a.astype(int) - 3) @ b.astype(int)).tolist()
    assert bridge.run_counts()["qmatmul"] == before + 2
    with pytest.raises(SamaraError, match="scale"):
        native.run_typed(qmatmul, [a, b, None], [x, Quant.per_axis([1, 1, 1], 0), None], attrs)


def strided(array: Any, how: str) -> Any:
    """The same elements in another memory layout."""
    if how == "dense" or array.ndim == 0:
        return array
    if how == "last_first":  # such as NCHW over NHWC memory
        axis = 1 % array.ndim
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, axis, -1)), -1, axis)
    if how == "gaps":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return np.ascontiguousarray(array[::-1])[::-1]  # "backwards"


def run(function: Any, arrays: list[Any]) -> tuple[Any, list[Any]]:
    tensors = [samara.from_numpy(a).requires_grad_() for a in arrays]
    out = function(*tensors)
    seed = np.random.default_rng(1).standard_normal(tuple(out.shape)).astype(out.dtype)
    out.backward(samara.from_numpy(seed))
    return out.detach().numpy(), [t.grad.numpy() for t in tensors if t.grad is not None]


@pytest.mark.parametrize("how", ["dense", "last_first", "gaps", "backwards"])
@pytest.mark.parametrize("name", CASES)
def test_kernels_follow_the_references(name: str, how: str, rng: np.random.Generator) -> None:
    function, shapes, wanted = CASES[name]
    wide = [rng.standard_normal(s) for s in shapes]
    narrow = [strided(a.astype(np.float32), how) for a in wide]
    for a, b in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(a, b.astype(np.float32))
    before, missed = bridge.run_counts(), native.fallbacks.copy()
    found, grads = run(function, narrow)
    after = bridge.run_counts()
    assert native.fallbacks == missed
    ran = {n for n, count in after.items() if count > before.get(n, 0)}
    assert wanted <= ran, f"{wanted - ran} did not run on the C kernels"
    expected, exact = run(function, [a.astype(np.float32).astype(np.float64) for a in wide])
    assert len(grads) == len(exact) == len(shapes)
    for a, b in zip([found, *grads], [expected, *exact], strict=True):
        assert a.dtype == np.float32
        assert np.abs(a - b).max() <= 2e-5 * max(np.abs(b).max(), 1e-3)


def test_float64_runs_in_numpy_and_is_counted() -> None:
    missed = native.fallbacks["matmul"]
    before = bridge.run_counts().get("matmul", 0)
    samara.ones(2, 2, dtype=samara.float64) @ samara.ones(2, 2, dtype=samara.float64)
    assert native.fallbacks["matmul"] == missed + 1
    assert bridge.run_counts().get("matmul", 0) == before


def test_elementwise_results_keep_the_order_of_axes(rng: np.random.Generator) -> None:
    x = rng.random((2, 5, 6, 7), np.float32).transpose(0, 3, 1, 2)  # channels last
    wide = np.broadcast_to(np.float32(2), x.shape)
    clamp, div, where = get_op("clamp"), get_op("div"), get_op("where")
    for op, arrays, expected in (
        (clamp, [x], np.clip(x, 0.25, 0.5)),
        (div, [np.float32(1).reshape(()), x], 1 / x),
        (div, [x, np.full((1, 1), 4, np.float32)], x / 4),
        (div, [wide, x], 2 / x),
        (where, [x > 0.5, x, np.float32(0).reshape(())], np.where(x > 0.5, x, 0)),
    ):
        attrs = {"lo": 0.25, "hi": 0.5} if op is clamp else {}
        got = native.run_elementwise(op, arrays, op.complete(attrs))
        np.testing.assert_array_equal(got, expected)
        assert got.strides == x.strides, op.name
    got = native.run_elementwise(div, [x, x[:1]], {})  # broadcasts: row-major
    np.testing.assert_array_equal(got, x / x[:1])
    assert got.flags.c_contiguous


def test_expanded_operands() -> None:
    x = samara.randn(1, 6).expand(4, 6)
    w = samara.randn(6, 1).expand(6, 5)
    np.testing.assert_allclose((x @ w).numpy(), x.numpy() @ w.numpy(), rtol=1e-5)
    y = samara.randn(3, 1, 1).expand(3, 120, 100)
    expected = np.maximum(y.numpy(), 0)
    np.testing.assert_array_equal(y.relu().numpy(), expected)
    np.testing.assert_allclose(F.gelu(y).numpy()[:, 0, 0], F.gelu(y[:, 0, 0]).numpy(), rtol=1e-6)
    np.testing.assert_allclose(y.sum((1, 2)).numpy(), y.numpy()[:, 0, 0] * 12000, rtol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ samara.ones(3, 2),
        lambda x: x.softmax(1),
        lambda x: F.layer_norm(x, (3,)),
        lambda x: x.cumsum(1),
        lambda x: x.sort(1).values,
        lambda x: F.gelu(x),
        lambda x: F.pad(x, (1, 1)),
        lambda x: x.repeat(2, 2),
        lambda x: x.sum(0),
        lambda x: x.relu().sum(),
        lambda x: x[:, samara.tensor([0, 2])],
        lambda x: x[samara.tensor([], dtype=samara.int64)],
        lambda x: F.conv2d(x.reshape(0, 1, 1, 3), samara.ones(2, 1, 1, 1)),
        lambda x: F.max_pool2d(x.reshape(0, 1, 1, 3), (1, 3)),
        lambda x: samara.cat([x, samara.ones(1, 3)]),
        lambda x: x.tril().exp(),
    ],
)
def test_empty_batches(function: Any) -> None:
    x = samara.zeros(0, 3, requires_grad=True)
    out: Tensor = function(x)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (0, 3)


def test_prepared_operators_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    op = get_op("matmul")
    monkeypatch.setattr(native, "_cache", {})
    monkeypatch.setattr(native, "_KEPT", 4)
    for n in range(1, 12):
        a = np.ones((n, 3), np.float32)
        for _ in range(2):
            assert native.run(op, [a, a.T], {}).tolist() == np.full((n, n), 3).tolist()
        assert len(native._cache) <= 4
    assert all(op in key for key in native._cache)


def test_prepare_says_what_comes_out() -> None:
    x, y = np.zeros((2, 3), np.float32), np.empty((2, 3), np.float32)
    prepared, outputs = native.prepare(get_op("softmax"), [x], {"axis": 1})
    prepared([x], [y])
    np.testing.assert_allclose(y, 1 / 3, rtol=1e-6)
    assert outputs == [((2, 3), np.dtype("f4"))]
    with pytest.raises(SamaraError):
        native.prepare(get_op("matmul"), [np.zeros((2, 3), np.float32)] * 2, {})


def test_heavy_operators_are_those_of_the_table() -> None:
    for name in ("conv", "matmul", "lstm_grad", "adam", "attention_grad"):
        assert get_op(name).eager is Eager.KERNEL
