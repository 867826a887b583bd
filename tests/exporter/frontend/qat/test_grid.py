# SPDX-License-Identifier: Apache-2.0
"""Tensors on the int8 grid: integers beside floats, in place changes, gradients, traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter import ops
from samara.exporter.frontend.graph import GraphTensor, Tracer
from samara.exporter.frontend.qat import grid
from samara.exporter.frontend.qat.grid import Grid, GridTensor, TracedGridTensor
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import Quant
from samara.pybridge.errors import QuantizationError

QUANT = Quant.per_tensor(0.25, 3)


def _tensor(*values: int) -> GridTensor:
    q = np.array(values, np.int8)
    return grid.rounded_as(None, Grid(q, QUANT), None)


def test_data_are_the_integers_dequantized() -> None:
    t = _tensor(3, 7, -128)
    assert t.tolist() == [0.0, 1.0, -32.75]
    known = grid.grid_of(t)
    assert known is not None
    assert known.q.tolist() == [3, 7, -128]
    assert np.array_equal(t.numpy(), ops.dequantize.evaluate([known.q], {}, [QUANT]))
    assert grid.grid_of(wrap(np.zeros(3, np.float32))) is None
    assert grid.grid_of(2.0) is None


def test_outside_a_module_operators_are_float() -> None:
    t = _tensor(3, 7)
    out = t + t
    assert type(out) is Tensor
    assert out.tolist() == [0.0, 2.0]


def test_a_change_that_is_no_rule_leaves_the_grid() -> None:
    t = _tensor(3, 7)
    t.exp_()
    assert grid.grid_of(t) is None
    assert np.allclose(t.numpy(), np.exp([0, 1]))
    u = _tensor(3, 7)
    u += 1.0
    assert u.tolist() == [1.0, 2.0]
    assert grid.grid_of(u) is None


def test_results_for_the_caller_are_plain() -> None:
    t = _tensor(3, 7)
    out = grid.off_grid({"a": (t, [t, 2]), "b": None})
    assert type(out["a"][0]) is Tensor
    assert type(out["a"][1][0]) is Tensor
    assert out["a"][1][1] == 2
    assert out["a"][0].tolist() == t.tolist()


def test_gradients_are_the_surrogates_and_stop_at_the_clamp() -> None:
    x = samara.tensor([0.1, 0.5, 100.0], requires_grad=True)
    real = x * 3.0
    data = np.array([3, 9, 127], np.int8)
    inside = np.array([True, True, False])
    out = grid.rounded_as(real, Grid(data, QUANT), inside)
    assert out.tolist() == [0.0, 1.5, 31.0]
    (out * samara.tensor([1.0, 2.0, 4.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 6.0, 0.0]


def test_within_is_what_rounds_without_a_clamp() -> None:
    steps = np.array([-131.6, -131.4, 0, 124.4, 124.6], np.float32)
    assert grid.within(steps, QUANT).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("limits", "steps"),
    [
        ((-np.inf, np.inf), (-128, 127)),
        ((0.0, np.inf), (3, 127)),
        ((0.0, 6.0), (3, 27)),
        ((-1e9, 1e9), (-128, 127)),
        ((0.125, 0.375), (3, 5)),
    ],
)
def test_clamps_in_steps(limits: tuple[float, float], steps: tuple[int, int]) -> None:
    assert grid.clamp_steps(QUANT, *limits) == steps


def test_rows_run_on_arrays_and_in_traces() -> None:
    q = np.array([[1, -5, 9]], np.int8)
    table = np.arange(127, -129, -1).astype(np.int8)
    want = grid.row(ops.qlookup, Grid(q, QUANT), table, scale=0.5, zero_point=-1)
    assert want.q.tolist() == [[-2, 4, -10]]
    assert want.quant == Quant.per_tensor(0.5, -1)
    assert grid.row(ops.reinterpret, Grid(q, QUANT), to="i8").tolist() == q.tolist()

    def traced(x: Any) -> Any:
        made = grid.row(ops.quantize, x, scales=(0.25,), zero_points=(3,), axis=-1)
        out = grid.row(ops.qlookup, made, table, scale=0.5, zero_point=-1)
        return grid.traced_on_grid(out)

    real = ((q.astype(np.float32) - 3) * 0.25).astype(np.float32)
    program = samara.trace(traced, real)
    assert [n.op.name for n in program.main.nodes] == ["quantize", "qlookup", "dequantize"]
    (got,) = program.run({"x": real}).values()
    assert np.array_equal(got, grid.dequantized(want))


def test_floats_of_a_trace_are_made_when_they_are_wanted() -> None:
    tracer = Tracer("f", {})
    with tracer:
        x = tracer.input("x", np.zeros((2, 3), np.float32), {})
        made = grid.row(ops.quantize, x, scales=(0.25,), zero_points=(3,), axis=-1)
        t = grid.traced_on_grid(made)
        assert isinstance(t, TracedGridTensor)
        assert t.shape == (2, 3)
        assert t.dtype == np.float32
        assert len(tracer.root.nodes) == 1
        plain = grid.off_grid(t)
        assert type(plain) is GraphTensor
        _ = samara.exp(t)
        assert [n.op.name for n in tracer.root.nodes] == ["quantize", "dequantize", "exp"]
    with pytest.raises(QuantizationError, match="after its trace has ended"):
        grid.tracer_at_work()
