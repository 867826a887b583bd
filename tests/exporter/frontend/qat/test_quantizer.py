# SPDX-License-Identifier: Apache-2.0
"""Quantizer: learns a range, freezes it, puts tensors on its grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter import ops
from samara.exporter.frontend.qat.grid import GridTensor, grid_of
from samara.exporter.frontend.qat.quantizer import Quantizer, observer_factory, snapped
from samara.exporter.quantize.observers import MinMax, choose_parameters
from samara.exporter.types import Quant
from samara.pybridge.errors import QuantizationError, UnsupportedError


def _quantizer(observer: Any = "moving-average") -> Quantizer:
    return Quantizer(observer_factory(observer), "the input of here")


def test_learns_while_training_only() -> None:
    one = _quantizer()
    one(samara.tensor([-1.0, 3.0]))
    assert one.range.tolist() == [-1.0, 3.0]
    one(samara.tensor([-2.0, 3.0]))
    assert np.allclose(one.range.tolist(), [-1.1, 3.0])
    one.freeze()
    one(samara.tensor([-50.0]))
    one.freeze(False)
    one.eval()
    one(samara.tensor([-50.0]))
    assert np.allclose(one.range.tolist(), [-1.1, 3.0])
    one.train()
    one(samara.tensor([-50.0]))
    assert one.range.tolist()[0] < -5


def test_puts_on_the_grid_as_the_operator_does(rng: np.random.Generator) -> None:
    one = _quantizer("minmax")
    x = rng.standard_normal((3, 5)).astype(np.float32)
    out = one(samara.from_numpy(x))
    assert isinstance(out, GridTensor)
    lo, hi = (float(v) for v in one.range.numpy())
    quant = choose_parameters(lo, hi)
    found = grid_of(out)
    assert found is not None
    assert found.quant == quant == one.quant
    scales = {"scales": quant.scales, "zero_points": quant.zero_points, "axis": -1}
    want = ops.quantize.evaluate([x], ops.quantize.complete(scales))
    assert np.array_equal(found.q, want)
    assert one(out) is out  # what lies on a grid stays there


def test_gradients_stop_where_values_are_clamped() -> None:
    x = samara.tensor([-1.0, 0.3, 2.0, 9.0], requires_grad=True)
    out = snapped(x, Quant.per_tensor(0.02, 0))  # -2.56 … 2.54
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 0.0]


def test_state_goes_on_where_it_was(tmp_path: Path) -> None:
    one = _quantizer()
    one(samara.tensor([-1.0, 3.0]))
    one.freeze()
    samara.save(one.state_dict(), tmp_path / "state")
    two = _quantizer()
    two.load_state_dict(samara.load(tmp_path / "state"))
    assert two.quant == one.quant
    assert not two.live
    two.freeze(False)
    two(samara.tensor([-2.0, 3.0]))
    assert np.allclose(two.range.tolist(), [-1.1, 3.0])  # and not again from the first values


def test_what_cannot_be_known() -> None:
    one = _quantizer().eval()
    with pytest.raises(QuantizationError, match="range of the input of here is not known yet"):
        one(samara.tensor([1.0]))
    one.train()
    with pytest.raises(QuantizationError, match="no finite value"):
        one(samara.tensor([np.nan]))
    with pytest.raises(QuantizationError, match="beyond float32"):
        Quantizer(_Huge, "x")(samara.tensor([1.0]))
    with pytest.raises(UnsupportedError, match="while its observers learn"):
        samara.trace(one, samara.tensor([1.0]))
    with pytest.raises(QuantizationError, match="there is no observer 'median'"):
        observer_factory("median")


class _Huge:
    def update(self, array: Any) -> None:
        """Nothing is kept."""

    def range(self) -> tuple[float, float]:
        return -1e300, 1e300


def test_observers_by_name_or_callable() -> None:
    assert isinstance(observer_factory(MinMax)(), MinMax)
    for name in ("minmax", "percentile:99.9", "entropy", "mse"):
        one = _quantizer(name)
        one(samara.tensor(np.linspace(-1, 1, 1000).astype(np.float32)))
        lo, hi = one.range.tolist()
        assert -1 <= lo < -0.5
        assert 0.5 < hi <= 1
    assert "-1 to 1" in repr(_seen())


def _seen() -> Quantizer:
    one = _quantizer("minmax")
    one(samara.tensor([-1.0, 1.0]))
    return one
