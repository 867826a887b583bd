# SPDX-License-Identifier: Apache-2.0
"""What a converter sees of a node: attributes, operands, axes, folding."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import Array, ints, normal

from samara.exporter.importers.common.operand import shape_data
from samara.exporter.importers.onnx.branches import convert_graph
from samara.exporter.importers.onnx.context import NodeContext, import_dtype, tensor_data
from samara.exporter.importers.onnx.scope import ImportState, Scope
from samara.exporter.ir import ProgramBuilder
from samara.exporter.types import (
    DType,
    ModelFormatError,
    Read,
    ShapeError,
    UnsupportedError,
    as_dim,
    sym,
)


def context(
    node: onnx.NodeProto, constants: dict[str, Array] | None = None, **inputs: Any
) -> NodeContext:
    """The node in a scope; `inputs` are (dtype, shape) of run-time tensors."""
    builder = ProgramBuilder().function("main")
    tensors = [onnx.numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    state = ImportState({"": 21}, convert_graph)
    scope = Scope(state, builder, [node], list(node.output), initializers=tensors)
    for name, (dtype, shape) in inputs.items():
        scope.bind(name, builder.input(name, dtype, shape))
    return NodeContext(scope, node)


def node(*inputs: str, **attrs: Any) -> onnx.NodeProto:
    return oh.make_node("Op", inputs, ["y"], **attrs)


def test_attributes() -> None:
    tensor = onnx.numpy_helper.from_array(ints(1, 2))
    n = context(node(i=3, f=0.5, s="text", many=[1, 2], texts=["a", "b"], t=tensor))
    assert (n.attr("i"), n.attr("f"), n.attr("s")) == (3, 0.5, "text")
    assert (n.attr("many"), n.attr("texts")) == ([1, 2], ["a", "b"])
    assert n.attr("t").tolist() == [1, 2]
    assert n.attr("absent") is None
    assert n.attr("absent", 7) == 7
    assert n.has_attr("i")
    assert not n.has_attr("absent")


def test_operands() -> None:
    n = context(node("a", "", "c"), {"c": ints(4)}, a=("f32", [2, 3]))
    assert (n.input_count, n.has(0), n.has(1), n.has(7)) == (3, True, False, False)
    assert n.value(0).type.static_shape() == (2, 3)
    assert n.optional(1) is None
    assert n.optional(7) is None
    assert (n.rank(0), n.rank(2)) == (2, 1)
    assert n.constant(0) is None
    assert n.constant(1) is None
    assert n.need_constant(2, "c").tolist() == [4]
    with pytest.raises(ShapeError, match="input 1 is missing"):
        n.value(1)
    with pytest.raises(UnsupportedError, match="a must be a constant"):
        n.need_constant(0, "a")


def test_shape() -> None:
    n = context(node("a"), a=("f32", [2, "n"]))
    assert n.shape(0, 2) == (as_dim(2), sym("n"))
    with pytest.raises(ShapeError, match="expected rank 3"):
        n.shape(0, 3)


def test_dims() -> None:
    n = context(
        node("s", "c", "r", "k", "many", "matrix", "open"), {"c": ints(2, 5)},
        r=("i64", [2]), k=("i64", []), many=("i64", [5000]), matrix=("i64", [2, 2]), open=("i64", ["n"]),
    )  # fmt: skip
    n.scope.bind("s", shape_data([sym("n"), 4]))
    assert n.dims(0) == (sym("n"), as_dim(4))
    assert n.dims(1) == (as_dim(2), as_dim(5))
    assert [d.sole_atom() for d in n.dims(2)] == [Read("r", 0), Read("r", 1)]
    assert n.scalar_dim(3, "k").sole_atom() == Read("k", 0)
    with pytest.raises(ShapeError, match="shape has 5000 elements"):
        n.dims(4)
    with pytest.raises(UnsupportedError, match="static length"):
        n.dims(5)
    with pytest.raises(UnsupportedError, match="static length"):
        n.dims(6, "axes")
    with pytest.raises(ShapeError, match="one element, got 2"):
        n.scalar_dim(2, "k")


def test_dims_of_floats_are_bit_patterns() -> None:
    n = context(node("f"), {"f": np.array([1.0, 2.0], np.float32)})
    assert [d.as_int() for d in n.dims(0)] == [0x3F800000, 0x40000000]


def test_axes() -> None:
    assert context(node("x", axes=[0, -1])).axes(1) == [as_dim(0), as_dim(-1)]
    assert context(node("x", "a"), {"a": ints(2)}).axes(1) == [as_dim(2)]
    assert context(node("x")).axes(1) is None
    n = context(node("x", "r", axis=-1), x=("f32", [2, 3]), r=("i64", [1]))
    assert n.axis(0, 2) == 1
    assert n.static_axes([as_dim(-1), as_dim(0)], 3) == [2, 0]
    assert n.static_axes(list(n.dims(1)), 3) is None
    with pytest.raises(ShapeError, match="axis 3 is out of range"):
        n.static_axes([as_dim(3)], 3)
    with pytest.raises(ShapeError, match="axis -1 is out of range for rank 0"):
        n.axis(0, 0)


def test_small_constants_are_folded() -> None:
    n = context(node("c", "x"), {"c": normal(3)}, x=("f32", [3]))
    folded = n.emit("exp", n.value(0))
    np.testing.assert_allclose(folded.constant, np.exp(normal(3)), rtol=1e-6)
    assert not n.emit("exp", n.value(1)).is_constant
    assert not n.emit("expand", n.const(np.float32(1)), shape=(1 << 20,)).is_constant
    assert not n.emit("expand", n.const(np.float32(1)), shape=(sym("n"),)).is_constant


def test_results_carry_the_nodes_names() -> None:
    n = context(node("x"), x=("f32", [3]))
    assert n.final("exp", n.value(0)).name == "y"
    made = n.emit("exp", n.value(0))
    assert n.builder.nodes[-1].source is not None
    assert made.name != "y"


def test_a_value_outside_an_enumeration() -> None:
    n = context(node("x"), x=("f32", [1, 4, 1]))
    with pytest.raises(UnsupportedError, match="mode must be one of"):
        n.emit("resize", n.value(0), sizes=(8,), scales=(0,), mode="somehow")


def test_errors_name_the_node() -> None:
    n = context(oh.make_node("Op", [], ["y"], name="here"))
    assert (n.wrong("text").op, n.wrong("text").node) == ("Op", "here")
    assert n.unsupported("text", "do that").fix == "do that"
    assert context(node()).label == "y"


def test_dtypes() -> None:
    assert import_dtype(onnx.TensorProto.FLOAT16, "x") is DType.F16
    for code, name in ((onnx.TensorProto.COMPLEX64, "complex64"), (99, "code 99")):
        with pytest.raises(UnsupportedError, match=f"x: element type {name}"):
            import_dtype(code, "x")


def test_tensor_data() -> None:
    tensor = onnx.numpy_helper.from_array(normal(4))
    np.testing.assert_array_equal(tensor_data(tensor, "t"), normal(4))
    tensor.raw_data = tensor.raw_data[:7]
    with pytest.raises(ModelFormatError, match="the data of t cannot be read"):
        tensor_data(tensor, "t")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    with pytest.raises(ModelFormatError, match="another file"):
        tensor_data(tensor, "t")
