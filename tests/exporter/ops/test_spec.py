# SPDX-License-Identifier: Apache-2.0
"""The form of the op table: attributes, dispatch, guards, the closed table."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext, OpSpec, all_ops, get_op, op_by_code
from samara.exporter.ops.spec import define
from samara.exporter.types import Dim, DType, ShapeError, Sym, TensorType, UnsupportedError


def test_lookup() -> None:
    assert get_op("conv") is ops.conv is op_by_code(81)
    assert list(all_ops()) == sorted(all_ops(), key=lambda op: op.code)
    with pytest.raises(UnsupportedError, match="no IR operator 'convolve'"):
        get_op("convolve")
    with pytest.raises(UnsupportedError, match="code 9999"):
        op_by_code(9999)


def test_every_operator_is_exported_by_name() -> None:
    for op in all_ops():
        name = op.name if hasattr(ops, op.name) else f"{op.name}_"
        assert getattr(ops, name) is op


def test_the_table_is_closed() -> None:
    with pytest.raises(RuntimeError, match="closed"):
        define(dataclasses.replace(ops.conv, name="other", code=9999))


def test_complete_fills_and_normalises() -> None:
    attrs = ops.resize.complete({"sizes": [2, Dim.atom(Sym("n"))], "scales": (0, 0)})
    assert attrs["sizes"] == (Dim.const(2), Dim.atom(Sym("n")))
    assert attrs["cubic_a"] == -0.75
    assert ops.leaky_relu.complete({"alpha": 0.1})["alpha"] == float(np.float32(0.1))
    assert ops.cast.complete({"to": "float16"})["to"] is DType.F16
    with pytest.raises(TypeError, match="has no attribute 'slope'"):
        ops.leaky_relu.complete({"slope": 1})
    with pytest.raises(TypeError, match="needs attribute 'axis'"):
        ops.concat.complete({})
    with pytest.raises(TypeError, match="must be one of"):
        ops.pad.complete({"pads": (), "mode": "mirror"})
    with pytest.raises(TypeError):
        ops.concat.complete({"axis": 1.5})
    with pytest.raises(TypeError):
        ops.custom.complete({"name": 3, "dtypes": (), "ranks": ()})


def test_other_types_decide_for_themselves() -> None:
    class Graph:
        @staticmethod
        def __samara_op__(op: OpSpec, inputs: tuple[Any, ...], attrs: Any) -> Any:
            return op.name, len(inputs), attrs

    assert ops.add(np.zeros(1, np.float32), Graph()) == ("add", 2, {})
    assert ops.leaky_relu(Graph(), alpha=0.5) == ("leaky_relu", 1, {"alpha": 0.5})


def test_rules_check_counts_and_dtypes_first() -> None:
    x = TensorType.of("i32", (2,))
    with pytest.raises(ShapeError, match="0 inputs, expected 1 to 1"):
        ops.exp.infer(InferContext(ops.exp, [], {}))
    with pytest.raises(ShapeError, match="input 1 is required"):
        ops.add.infer(InferContext(ops.add, [x, None], {}))
    with pytest.raises(ShapeError, match="x is int32, expected one of float32, float16"):
        ops.exp.infer(InferContext(ops.exp, [x], {}))


def test_references_are_quiet_and_give_arrays() -> None:
    got = ops.log(np.float32(0))
    assert isinstance(got, np.ndarray)
    assert got.shape == ()
    assert got == -np.inf
