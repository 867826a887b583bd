# SPDX-License-Identifier: Apache-2.0
"""Reductions, sorting, cumulative sums: gradients, float32, PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import checks, parity

import samara
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError

CASES: parity.Cases = {
    "sum": (lambda m, x: x.sum(), (2, 3, 4)),
    "sum_dim": (lambda m, x: x.sum(1), (2, 3, 4)),
    "sum_dims": (lambda m, x: x.sum((0, -1), keepdim=True), (2, 3, 4)),
    "sum_int": (lambda m, x: x.sum(0), np.array([[1, 2], [3, 4]])),
    "sum_bool": (lambda m, x: x.sum(), np.array([True, True, False])),
    "sum_dtype": (lambda m, x: x.sum(dtype=m.int64), np.array([1, 2], np.int32)),
    "sum_scalar": (lambda m, x: x.sum(0), np.array(3.0)),
    "mean": (lambda m, x: x.mean(), (2, 3, 4)),
    "mean_dim": (lambda m, x: x.mean((0, 2)), (2, 3, 4)),
    "prod": (lambda m, x: x.prod(), (2, 3)),
    "prod_dim": (lambda m, x: x.prod(1, keepdim=True), (2, 3)),
    "amax": (lambda m, x: x.amax((0, 2)), (2, 3, 4)),
    "amin": (lambda m, x: x.amin(-1, keepdim=True), (2, 3, 4)),
    "amax_ties": (lambda m, x: (x * 0 + 1).amax(0), (3, 2)),
    "max": (lambda m, x: x.max(), (2, 3)),
    "min": (lambda m, x: x.min(), (2, 3)),
    "max_dim": (lambda m, x: x.max(1), (2, 3, 4)),
    "min_dim": (lambda m, x: x.min(dim=0, keepdim=True), (2, 3, 4)),
    "argmax": (lambda m, x: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)), (2, 3, 4)),
    "var": (lambda m, x: x.var(), (2, 3, 4)),
    "var_dim": (lambda m, x: x.var(1, unbiased=False, keepdim=True), (2, 3, 4)),
    "var_correction": (lambda m, x: x.var(dim=(0, 2), correction=2), (2, 3, 4)),
    "std": (lambda m, x: x.std(-1), (2, 3, 4)),
    "std_correction": (lambda m, x: x.std(dim=0, correction=0), (3, 4)),
    "var_mean": (lambda m, x: m.var_mean(x, 1), (2, 3)),
    "norm": (lambda m, x: x.norm(), (3, 4)),
    "norm_dim": (lambda m, x: x.norm(2, 1, keepdim=True), (3, 4)),
    "norm_1": (lambda m, x: x.norm(1, 0), (3, 4)),
    "norm_3": (lambda m, x: x.norm(3, -1), (3, 4)),
    "norm_inf": (lambda m, x: x.norm(float("inf"), 1), (3, 4)),
    "norm_0": (lambda m, x: x.norm(0), parity.Fixed((3, 4))),
    "logsumexp": (lambda m, x: x.logsumexp(1), (3, 4)),
    "logsumexp_all": (lambda m, x: (x * 100).logsumexp((0, 1), keepdim=True), (3, 4)),
    "any_all": (lambda m, x: (x.any(), x.all(1), (x > 0).any(0), (x > 0).all()), np.array([[0, 1], [2, 3]])),
    "count_nonzero": (lambda m, x: (m.count_nonzero(x), m.count_nonzero(x, 0)), np.array([[0, 1], [2, 3]])),
    "softmax": (lambda m, x: x.softmax(0), (3, 4)),
    "log_softmax": (lambda m, x: m.log_softmax(x, -1), (3, 4)),
    "cumsum": (lambda m, x: x.cumsum(1), (2, 3, 4)),
    "cumsum_int": (lambda m, x: x.cumsum(0), np.array([1, 2, 3])),
    "topk": (lambda m, x: x.topk(2), (3, 5)),
    "topk_dim": (lambda m, x: x.topk(2, 0, largest=False), (4, 3)),
    "sort": (lambda m, x: x.sort(), (3, 5)),
    "sort_descending": (lambda m, x: m.sort(x, 0, descending=True), (4, 3)),
    "argsort": (lambda m, x: x.argsort(1, descending=True), (3, 5)),
    "kthvalue": (lambda m, x: x.kthvalue(2, 1), (3, 5)),
    "median": (lambda m, x: x.median(), (3, 5)),
    "median_dim": (lambda m, x: x.median(1, keepdim=True), (3, 4)),
    "empty_sum": (lambda m, x: (x.sum(0), x.prod(0), x.mean(1), x.sum()), (0, 3)),
    "empty_truths": (lambda m, x: (x.any(), x.all(), x.any(0), x.all(1)), np.zeros((0, 3), bool)),
    "empty_cumsum": (lambda m, x: (x.cumsum(0), x.softmax(1), x.sort(1)), (0, 3)),
    "empty_row_softmax": (lambda m, x: (x.softmax(1), x.logsumexp(1)), (2, 1)),
    "scalar": (lambda m, x: (x.sum(), x.mean(0), x.amax(-1), x.prod(), x.logsumexp(0)), np.array(3.0)),
    "scalar_lines": (
        lambda m, x: (x.softmax(0), x.log_softmax(-1), x.cumsum(0), x.sort(), x.max(0), x.median()), np.array(3.0),
    ),
    "scalar_index": (lambda m, x: (x.argmax(), x.argmin(0), x.topk(1), x.kthvalue(1)), np.array(3.0)),
    "argmax_keepdim": (lambda m, x: (x.argmax(keepdim=True), x.argmin(keepdim=True)), (2, 3)),
    "argmax_ties": (lambda m, x: (x.argmax(0), x.argmin(1), x.max(1)), np.array([[2, 1, 2], [2, 1, 1]])),
    "max_int": (lambda m, x: (x.max(), x.min(1), x.amax(0)), np.array([[2, 1], [5, -7]])),
    "var_too_few": (lambda m, x: (x.var(1), x.var(0, correction=2)), parity.Fixed((2, 1))),
    "std_constant": (lambda m, x: (x * 0 + 2).std(1), (2, 3)),
    "norm_zero": (lambda m, x: (x * 0).norm() + (x * 0).norm(2, 1).sum(), (2, 3)),
    "norm_minus_inf": (lambda m, x: x.norm(float("-inf"), 1), (3, 4)),
    "norm_fro": (lambda m, x: x.norm("fro", (0, 1), keepdim=True), (3, 4)),
    "norm_half": (lambda m, x: x.norm(0.5, 1), (3, 4)),
    "logsumexp_inf": (
        lambda m, x: x.logsumexp(1),
        parity.Fixed(np.array([[-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 2.0], [np.inf, -np.inf]])),
    ),
    "logsumexp_masked": (
        lambda m, x: x.masked_fill(m.tensor([[True, False], [False, False]]), float("-inf")).logsumexp(1), (2, 2),
    ),
    "nan": (
        lambda m, x: (x.max(), x.amin(0), x.max(1), x.argmax(), x.sum(), x.isnan().any()),
        parity.Fixed(np.array([[1.0, np.nan], [3.0, 2.0]])),
    ),
    "cummax": (lambda m, x: (*x.cummax(1), *m.cummin(x, -3)), (2, 5, 3)),
    "cummax_ties": (
        lambda m, x, n: (*x.cummax(0), *x.cummin(0), *n.cummax(1), *n.bool().cummax(0), *x[0].cummin(0)),
        parity.Fixed(np.array([1.0, 3.0, 3.0, 2.0, np.nan, 1.0, np.nan])), np.array([[3, 3, 4], [0, 5, 5]]),
    ),
    "cumsum_dtype": (lambda m, x: x.cumsum(0, dtype=m.float32), np.array([1, 2])),
    "sort_bool": (lambda m, x: x.long().sort().values, np.array([True, False, True])),
    "median_int": (lambda m, x: (x.median(), x.median(0)), np.array([[5, 1], [3, 9], [4, 2], [0, 7]])),
    "mean_dtype": (lambda m, x: x.mean(dtype=m.float32), np.array([1, 2, 4])),
    "strided": (lambda m, x: (x.t().sum(0), x[::2, 1:].amax(1), x.t().softmax(0)), (5, 4)),
}  # fmt: skip


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


def test_mean_of_integers_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="mean"):
        samara.tensor([1, 2]).mean()


def test_names_of_pairs() -> None:
    found = samara.tensor([[3.0, 1.0, 2.0]]).sort(1)
    assert found.values.tolist() == [[1, 2, 3]]
    assert found.indices.tolist() == [[1, 2, 0]]


def test_dimensions_are_checked() -> None:
    x = samara.zeros(2, 3)
    with pytest.raises(ShapeError, match="out of range"):
        x.sum(2)
    with pytest.raises(ShapeError, match="repeat"):
        x.sum((0, -2))


def test_long_float32_sums_keep_their_digits() -> None:
    source = np.random.default_rng(0)
    array = source.random((5000, 64), np.float32)
    exact = array.astype(np.float64).sum(0)
    np.testing.assert_allclose(samara.from_numpy(array).sum(0).numpy(), exact, rtol=1e-6)


def test_nothing_has_no_extremes() -> None:
    x = samara.zeros(0, 3)
    wholes: list[Any] = [x.amax, x.max, x.min, x.argmax, x.median]
    for wrong in (*wholes, lambda: x.amin(0), lambda: x.max(0)):
        with pytest.raises(SamaraError):
            wrong()
    assert x.amax(1).shape == (0,)


def test_running_extremes_take_the_last_of_equal_ones() -> None:
    x = samara.tensor([1.0, 3.0, 3.0, 2.0, float("nan"), 1.0])  # PyTorch gives these indices
    assert x.cummax(0).indices.tolist() == [0, 1, 2, 2, 4, 4]
    assert x.cummin(0).indices.tolist() == [0, 0, 0, 0, 4, 4]
    assert samara.zeros(0, 3).cummax(0).values.shape == (0, 3)
    y = samara.tensor([3.0, 1.0, 3.0], requires_grad=True)
    y.cummax(0).values.sum().backward()
    assert checks.grad_of(y).tolist() == [2, 0, 1]


def test_running_extremes_export(tmp_path: Path) -> None:
    def both(m: Any, x: Any, n: Any, tied: Any) -> Any:
        return *x.cummax(1), *x.cummin(0), *n.cummax(0), *tied.cummin(1), *tied.cummax(1)

    nan = np.array([[1.0, np.nan, 2.0, 2.0, 0.0]])
    ties = np.array([[2.0, 3.0, 1.0, 3.0, 1.0, 1.0, 3.0]])
    numbers = np.array([5, 5, 2, 7, 7, 7, 3])
    parity.exported("runs", {"runs": (both, (3, 7), numbers, ties)}, tmp_path)
    program = samara.trace(lambda x: x.cummax(1), samara.zeros(1, 5))
    found = program.run({"x": nan.astype(np.float32)})
    np.testing.assert_array_equal(found["indices"], [[0, 1, 1, 1, 1]])
    np.testing.assert_array_equal(found["values"], [[1, np.nan, np.nan, np.nan, np.nan]])
    with pytest.raises(
        UnsupportedError, match=r"test_reduce.py:\d+: cummin along a dimension of sym"
    ):
        samara.trace(lambda x: x.cummin(0), samara.zeros(4), dynamic={"x": {0: "n"}})


def test_counts_are_checked() -> None:
    x = samara.zeros(3)
    for select, count in ((x.topk, 4), (x.topk, -1), (x.kthvalue, 0), (x.kthvalue, 4)):
        with pytest.raises(ShapeError):
            select(count)
    with pytest.raises(UnsupportedError, match="no norm"):
        x.norm("nuc")


def test_large_reductions_on_the_kernels_are_numpys() -> None:
    source = np.random.default_rng(0)
    array = source.standard_normal((80, 90)).astype(np.float32)
    array[3, 4] = np.nan
    x = samara.from_numpy(array)
    for found, expected in (
        (x.amax(0), array.max(0)),
        (x.amin((0, 1)), array.min()),
        (x.argmax(1), array.argmax(1)),
        (x.argmin(0), array.argmin(0)),
        (x.prod(1), array.prod(1)),
        (x.t().amax(1, keepdim=True), array.T.max(1, keepdims=True)),
    ):
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-5)
