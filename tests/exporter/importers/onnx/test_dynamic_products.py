# SPDX-License-Identifier: Apache-2.0
"""Chains of dynamically quantized products: one node each, with onnxruntime's bits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.exporter.importers.onnx.models import check_native, kinds

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx.dynamic_products import with_dynamic_products
from samara.exporter.types import SamaraError

RNG = np.random.default_rng(3)
ROWS, K, N = 5, 12, 7


def _weights(
    name: str, dtype: type, per_column: bool, zero: int = 0
) -> tuple[list[onnx.TensorProto], list[str]]:
    """Weights [K, N], their scale and zero point, and the names of these."""
    # 7 bits: without VNNI, onnxruntime saturates products of bytes.
    shift = 128 if dtype is np.uint8 else 0
    count = (N,) if per_column else ()
    made = {
        f"{name}.w": (RNG.integers(-63, 64, (K, N)) + shift).astype(dtype),
        f"{name}.s": RNG.uniform(0.01, 0.02, count).astype(np.float32),
        f"{name}.z": np.full(count, shift + zero, dtype),
    }
    return [numpy_helper.from_array(a, n) for n, a in made.items()], list(made)


def _product(name: str, x: str, names: Sequence[str], bias: str = "") -> list[onnx.NodeProto]:
    """The nodes that quantize_dynamic writes behind DynamicQuantizeLinear of x; the result is `name`."""
    w, scale, zero = names
    nodes = [
        ("MatMulInteger", [f"{x}.q", w, f"{x}.zero", zero], f"{name}.sum"),
        ("Cast", [f"{name}.sum"], f"{name}.real"),
        ("Mul", [f"{x}.scale", scale], f"{name}.scales"),
        ("Mul", [f"{name}.real", f"{name}.scales"], f"{name}.scaled" if bias else name),
    ]
    if bias:
        nodes.append(("Add", [f"{name}.scaled", bias], name))
    made = [helper.make_node(op, i, [o], name=f"n.{o}") for op, i, o in nodes]
    made[1].attribute.append(helper.make_attribute("to", int(TensorProto.FLOAT)))
    return made


def _quantize(x: str) -> onnx.NodeProto:
    return helper.make_node("DynamicQuantizeLinear", [x], [f"{x}.q", f"{x}.scale", f"{x}.zero"])


def _model(
    nodes: Sequence[onnx.NodeProto], tensors: Sequence[onnx.TensorProto], outputs: Sequence[str]
) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", K])
    given = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    graph = helper.make_graph(nodes, "g", [x], given, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    return made


def _feeds(*offsets: float) -> list[dict[str, Any]]:
    return [{"x": (RNG.standard_normal((ROWS, K)) + o).astype(np.float32)} for o in offsets]


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_chain_is_one_node(dtype: type, per_column: bool, biased: bool) -> None:
    tensors, names = _weights("a", dtype, per_column, zero=3)
    bias = numpy_helper.from_array(RNG.standard_normal(N).astype(np.float32), "b")
    nodes = [_quantize("x"), *_product("y", "x", names, "b" if biased else "")]
    model = _model(nodes, [*tensors, *[bias] * biased], ["y"])
    # Ranges on both sides of 0, on either side, and none.
    feeds = [*_feeds(0, 9, -9), {"x": np.zeros((2, K), np.float32)}]
    program = check_native(model, *feeds, atol=0, rtol=1e-6)
    assert kinds(program) == ["matmul_dynamic"]
    assert program.main.nodes[0].attrs["range"] == "tensor"


def test_products_share_a_quantized_tensor() -> None:
    tensors, nodes = [], [_quantize("x")]
    for name in ("q", "k", "v"):
        made, names = _weights(name, np.int8, True)
        tensors += made
        nodes += _product(name, "x", names)
    program = check_native(_model(nodes, tensors, ["q", "k", "v"]), *_feeds(0), atol=0, rtol=1e-6)
    assert kinds(program) == ["matmul_dynamic"] * 3


@pytest.mark.parametrize(
    ("channels", "groups", "attrs"),
    [
        (6, 1, {"pads": [1, 1, 1, 1]}),
        (6, 2, {"strides": [2, 1]}),
        (6, 6, {"pads": [0, 1, 2, 1], "dilations": [2, 1]}),
    ],
)
@pytest.mark.parametrize(("dtype", "scale"), [(np.int8, 0.01), (np.uint8, 0.01), (np.int8, 0.0)])
def test_convolutions(
    dtype: type, scale: float, channels: int, groups: int, attrs: dict[str, Any]
) -> None:
    """A scale of 0 is none of a stored tensor, so its chain is spelled out."""
    shift = 128 if dtype is np.uint8 else 0
    weights = RNG.integers(-63, 64, (6, channels // groups, 3, 3)) + shift
    tensors = [
        numpy_helper.from_array(np.asarray(array), name)
        for name, array in {
            "w": weights.astype(dtype),
            "s": np.float32(scale),
            "z": dtype(shift + 2),
            "b": RNG.standard_normal(6).astype(np.float32),
            "shape": np.array([1, -1, 1, 1]),
        }.items()
    ]
    product = _product("y", "x", ["w", "s", "z"], "bias")
    product[0].op_type = "ConvInteger"
    for name, value in {"group": groups, **attrs}.items():
        product[0].attribute.append(helper.make_attribute(name, value))
    reshape = helper.make_node("Reshape", ["b", "shape"], ["bias"])
    model = _model([reshape, _quantize("x"), *product], tensors, ["y"])
    del model.graph.input[:]
    shape = [2, channels, 7, 8]
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
    feeds = [{"x": (RNG.standard_normal(shape) + o).astype(np.float32)} for o in (0, 5, -5)]
    program = check_native(model, *feeds, atol=0, rtol=1e-6)
    whole = [k for k in kinds(program) if k != "transpose"] == ["conv_dynamic"]
    assert whole == (scale > 0)


def _with_whole_bias(kind: int = TensorProto.INT32, scale: str = "s") -> onnx.ModelProto:
    """A convolution as older versions of onnxruntime write it: the bias in whole multiples of the scales."""
    arrays = {
        "w": RNG.integers(-63, 64, (6, 3, 3, 3)).astype(np.int8),
        "s": np.float32(0.01),
        "other": np.float32(0.02),
        "z": np.int8(2),
        "b": RNG.standard_normal(6).astype(np.float32),
        "shape": np.array([1, -1, 1, 1]),
    }
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()]
    product = _product("y", "x", ["w", "s", "z"])
    product[0].op_type = "ConvInteger"
    product[1].input[0] = "y.biased"
    nodes = [
        ("Mul", ["x.scale", scale], "b.scale"),
        ("Div", ["b", "b.scale"], "b.real"),
        ("Floor", ["b.real"], "b.floor"),
        ("Cast", ["b.floor"], "b.whole"),
        ("Reshape", ["b.whole", "shape"], "b.wide"),
    ]
    before = [helper.make_node(op, i, [o]) for op, i, o in nodes]
    before[3].attribute.append(helper.make_attribute("to", kind))
    added = helper.make_node("Add", ["y.sum", "b.wide"], ["y.biased"])
    model = _model([_quantize("x"), *before, product[0], added, *product[1:]], tensors, ["y"])
    del model.graph.input[:]
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 7, 8])
    model.graph.input.append(shape)
    return model


def test_a_bias_in_whole_multiples_of_the_scales() -> None:
    """The bias itself is added, less than one multiple more."""
    x = RNG.standard_normal((2, 3, 7, 8)).astype(np.float32)
    multiple = 0.01 * (x.max() - x.min()) / 255
    program = check_native(_with_whole_bias(), {"x": x}, atol=1.001 * multiple, rtol=0)
    assert [k for k in kinds(program) if k != "transpose"] == ["conv_dynamic"]


def test_another_whole_bias_stays() -> None:
    for model in (_with_whole_bias(scale="other"), _with_whole_bias(kind=TensorProto.INT64)):
        assert with_dynamic_products(model) is model


def test_scales_that_are_no_scales_of_columns_stay() -> None:
    tensors, names = _weights("a", np.int8, False)
    tensors[1] = numpy_helper.from_array(
        RNG.uniform(0.1, 0.2, (ROWS, 1)).astype(np.float32), names[1]
    )
    model = _model([_quantize("x"), *_product("y", "x", names)], tensors, ["y"])
    assert with_dynamic_products(model) is model


@pytest.mark.parametrize("shown", ["y.sum", "y.real", "y.scaled"])
def test_tensors_that_are_used_elsewhere_stay(shown: str) -> None:
    tensors, names = _weights("a", np.int8, True)
    bias = numpy_helper.from_array(RNG.standard_normal(N).astype(np.float32), "b")
    nodes = [_quantize("x"), *_product("y", "x", names, "b")]
    model = _model(nodes, [*tensors, bias], ["y"])
    kind = TensorProto.INT32 if shown == "y.sum" else TensorProto.FLOAT
    model.graph.output.append(helper.make_tensor_value_info(shown, kind, None))
    program = check_native(model, *_feeds(0), atol=0, rtol=1e-6)
    assert set(program.main.output_names) == {"y", shown}
    whole = [n.op.name for n in program.main.nodes].count("matmul_dynamic")
    assert whole == (shown == "y.scaled")  # the Add alone remains outside


def test_what_is_no_such_chain_stays_as_it_is() -> None:
    tensors, names = _weights("a", np.int8, False)
    plain = _model([_quantize("x"), *_product("y", "x", names)], tensors, ["y"])
    assert with_dynamic_products(plain) is not plain
    other = onnx.ModelProto()
    other.CopyFrom(plain)
    other.graph.node[2].attribute[0].i = TensorProto.DOUBLE
    assert with_dynamic_products(other) is other
    other.CopyFrom(plain)
    other.graph.node[1].input[2] = ""
    assert with_dynamic_products(other) is other
    float_net = _model([helper.make_node("Relu", ["x"], ["y"])], [], ["y"])
    assert with_dynamic_products(float_net) is float_net


def _whole() -> onnx.ModelProto:
    tensors, names = _weights("a", np.int8, True)
    bias = numpy_helper.from_array(RNG.standard_normal(N).astype(np.float32), "b")
    return _model([_quantize("x"), *_product("y", "x", names, "b")], [*tensors, bias], ["y"])


@pytest.mark.parametrize("node", range(6))
@pytest.mark.parametrize("part", ["input", "output", "attribute"])
def test_a_chain_with_a_part_missing_is_an_error_or_a_result(node: int, part: str) -> None:
    """Nothing but a SamaraError, whatever a damaged file lacks."""
    for count in (0, 1, 2, 3):
        model = _whole()
        fields = getattr(model.graph.node[node], part)
        if count < len(fields):
            del fields[count:]
            with contextlib.suppress(SamaraError):
                import_onnx(model)


def test_weights_of_other_types_are_refused_or_spelled_out() -> None:
    for index, array, refused in (
        (0, np.zeros((K, N), np.int32), True),
        (1, np.zeros(N, np.float64), False),
        (2, np.zeros(N, np.uint8), False),
        (2, np.zeros(N + 1, np.int8), True),
    ):
        model = _whole()
        old = model.graph.initializer[index]
        old.CopyFrom(numpy_helper.from_array(array, old.name))
        if refused:
            with pytest.raises(SamaraError):
                import_onnx(model)
        else:
            assert "matmul_dynamic" not in kinds(import_onnx(model))


def test_a_vector_added_to_pixels_is_no_bias() -> None:
    """It has a number per column of the picture, even if there are as many as channels."""
    weights = (RNG.integers(-63, 64, (6, 4, 1, 1))).astype(np.int8)
    arrays = {"w": weights, "s": np.float32(0.01), "z": np.int8(0), "b": np.arange(6, dtype="f4")}
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()]
    product = _product("y", "x", ["w", "s", "z"], "b")
    product[0].op_type = "ConvInteger"
    model = _model([_quantize("x"), *product], tensors, ["y"])
    del model.graph.input[:]
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 5, 6]))
    feeds = {"x": RNG.standard_normal((1, 4, 5, 6)).astype(np.float32)}
    program = check_native(model, feeds, atol=0, rtol=1e-6)
    assert {"conv_dynamic", "add"} <= set(kinds(program))
