# SPDX-License-Identifier: Apache-2.0
"""Quantized operators of com.microsoft: within one step of onnxruntime, in both runtimes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper as oh
from tests.exporter.importers.onnx.models import Array, Case, agree, native, scalar, witness

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.types import DType, SamaraError

MS = "com.microsoft"
RNG = np.random.default_rng(1)


def quantized(*shape: int, dtype: type = np.uint8) -> Array:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def zero(value: int, dtype: type = np.uint8) -> Array:
    return np.array(value, dtype)


def check(case: Case, *rows: str) -> None:
    """The case in both runtimes; the passes make these rows of it, and leave nothing real."""
    made = run_passes(case.check_native(), PIPELINE, check=True)[0].main.nodes
    assert set(rows) <= {n.op.name for n in made}
    assert not any(v.type.dtype is DType.F32 for n in made for v in n.outputs)


BYTES = pytest.mark.parametrize("dtype", [np.uint8, np.int8])


@BYTES
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_qlinear_binary(op: str, dtype: type) -> None:
    inputs = [
        quantized(2, 3, 4, dtype=dtype), scalar(0.05), zero(3, dtype),
        quantized(3, 1, dtype=dtype), scalar(0.02), zero(9, dtype), scalar(0.1), zero(7, dtype),
    ]  # fmt: skip
    case = Case(op, inputs, {}, 13, (1, 2, 4, 5, 6, 7), domain=MS, steps=1)
    check(case, "qadd" if op == "QLinearAdd" else "qmul")


@BYTES
@pytest.mark.parametrize(
    ("op", "attrs", "scale"),
    [
        ("QLinearSigmoid", {}, 1 / 256),
        ("QLinearLeakyRelu", {"alpha": 0.2}, 0.05),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}, 1 / 256),
        ("QLinearSoftmax", {"axis": 1, "opset": 11}, 1 / 256),
    ],
)
def test_qlinear_unary(op: str, attrs: dict[str, Any], scale: float, dtype: type) -> None:
    inputs = [quantized(2, 3, 4, dtype=dtype), scalar(0.05), zero(3, dtype)]
    inputs += [scalar(scale), zero(np.iinfo(dtype).min, dtype)]
    case = Case(op, inputs, attrs, 13, (1, 2, 3, 4), domain=MS, steps=1)
    check(case, "qsoftmax" if op == "QLinearSoftmax" else "qlookup")


@BYTES
@pytest.mark.parametrize("last", [0, 1])
def test_qlinear_pools(last: int, dtype: type) -> None:
    inputs = [
        quantized(*((1, 6, 6, 3) if last else (1, 3, 6, 6)), dtype=dtype),
        scalar(0.05), zero(3, dtype), scalar(0.06), zero(4, dtype),
    ]  # fmt: skip
    attrs = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1], "channels_last": last}
    for op, more, row in (
        ("QLinearAveragePool", attrs, "qavg_pool"),
        ("QLinearAveragePool", {**attrs, "count_include_pad": 1}, "qavg_pool"),
        ("QLinearGlobalAveragePool", {"channels_last": last}, "qmean"),
    ):
        check(Case(op, inputs, more, 13, (1, 2, 3, 4), domain=MS, steps=1), row)


GEOMETRIES = (
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1], "count_include_pad": 1},
    {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [4, 1], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "strides": [1, 2], "pads": [0, 1, 2, 0]},
)


@BYTES
@pytest.mark.parametrize("geometry", range(len(GEOMETRIES)))
@pytest.mark.parametrize("equal", [True, False], ids=["ties", "other scales"])
def test_average_pools_of_random_tensors(geometry: int, equal: bool, dtype: type) -> None:
    """With equal scales many means are ties, which fall by float32 noise. onnxruntime adds the taps
    of float pools in their order from opset 19 on, in another before; QLinearAveragePool adds the
    zero point before it rounds.
    """
    rng = np.random.default_rng(geometry)
    scale, offset = float(rng.uniform(0.01, 0.1)), int(rng.integers(1, 100))
    x = quantized(2, 37, 9, 8, dtype=dtype)
    out = (scale, offset) if equal else (0.9 * scale, offset + 3)
    inputs = [x, scalar(scale), zero(offset, dtype), scalar(out[0]), zero(out[1], dtype)]
    attrs = GEOMETRIES[geometry]
    one = Case("QLinearAveragePool", inputs, attrs, 13, (1, 2, 3, 4), domain=MS).model()
    nodes = [
        oh.make_node("DequantizeLinear", ["x0", "x1", "x2"], ["real"]),
        oh.make_node("AveragePool", ["real"], ["mean"], **attrs),
        oh.make_node("QuantizeLinear", ["mean", "x3", "x4"], ["y0"]),
    ]
    g = one.graph
    three = oh.make_graph(nodes, "three", g.input, g.output, g.initializer)
    opsets = [
        oh.make_model(three, opset_imports=[oh.make_opsetid("", v)], ir_version=9) for v in (19, 13)
    ]
    got = [answer(m, {"x0": x}) for m in (*opsets, one)]
    agree(got[0], witness(opsets[0], {"x0": x}))
    for found, model in zip(got[1:], (opsets[1], one), strict=True):
        agree(found, got[0])
        want = witness(model, {"x0": x})
        agree(found, want, steps=1)
        assert np.mean(found["y0"] != want["y0"]) < 0.25


def answer(model: onnx.ModelProto, feeds: dict[str, Array]) -> dict[str, Array]:
    """What both runtimes compute."""
    program = import_onnx(model)
    (got,) = native(program, feeds)
    agree(run_passes(program, PIPELINE)[0].run(feeds), got)
    return got


@BYTES
@pytest.mark.parametrize("size", [2, 3, 8])
def test_global_average_pools_of_random_tensors(size: int, dtype: type) -> None:
    """QLinearGlobalAveragePool adds integers: the bits of `qmean`."""
    x = quantized(2, 70, size, size, dtype=dtype)
    inputs = [x, scalar(0.03), zero(5, dtype), scalar(0.03), zero(5, dtype)]
    case = Case("QLinearGlobalAveragePool", inputs, {}, 13, (1, 2, 3, 4), domain=MS)
    (got,) = native(import_onnx(case.model()), case.feeds())
    agree(got, witness(case.model(), case.feeds()))


@BYTES
def test_qlinear_reduce_mean(dtype: type) -> None:
    """onnxruntime keeps no CPU kernel of it: the definition is the witness."""
    x = quantized(2, 3, 4, dtype=dtype)
    inputs = [x, scalar(0.05), zero(3, dtype), scalar(0.02), zero(7, dtype)]
    info = np.iinfo(dtype)
    for axes, keep in (([1], 1), ([-1, 0], 0), (None, 1)):
        attrs = {"keepdims": keep} | ({} if axes is None else {"axes": axes})
        wide: Any = x.astype(np.float64) - 3
        mean = wide.mean(None if axes is None else tuple(axes), keepdims=bool(keep))
        want = np.clip(np.rint(mean * 0.05 / 0.02) + 7, info.min, info.max).astype(dtype)
        case = Case("QLinearReduceMean", inputs, attrs, 13, (1, 2, 3, 4), domain=MS)
        case.gives({"y0": want}, steps=1)


@BYTES
def test_qlinear_where(dtype: type) -> None:
    inputs = [
        np.random.default_rng(3).random((2, 3, 4)) < 0.5, quantized(3, 4, dtype=dtype), scalar(0.05), zero(3, dtype),
        quantized(2, 1, 4, dtype=dtype), scalar(0.02), zero(9, dtype), scalar(0.1), zero(7, dtype),
    ]  # fmt: skip
    case = Case("QLinearWhere", inputs, {}, 13, (2, 3, 5, 6, 7, 8), domain=MS, steps=1)
    check(case, "where", "requantize")


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_parameters_at_run_time(op: str) -> None:
    """Scales and zero points that are inputs of the graph."""
    inputs: list[Array | None] = [
        quantized(2, 3, 4), scalar(0.05), zero(3), quantized(2, 3, 4), scalar(0.02), zero(9), scalar(0.1), zero(7),
    ]  # fmt: skip
    Case(op, inputs, {}, 13, (), domain=MS, steps=1).check_native()


def test_qlinear_concat() -> None:
    inputs = [
        scalar(0.05), zero(3), quantized(2, 3), scalar(0.04), zero(9), quantized(2, 2), scalar(0.07), zero(100),
    ]  # fmt: skip
    case = Case("QLinearConcat", inputs, {"axis": 1}, 13, (0, 1, 3, 4, 6, 7), domain=MS, steps=1)
    check(case, "concat", "requantize")


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_dynamic_quantize_lstm(direction: str, per_column: bool) -> None:
    """onnxruntime quantizes the operands of each step as well: near, not equal."""
    d, i, h = 1 + (direction == "bidirectional"), 5, 4
    rng = np.random.default_rng(5)
    scale = rng.uniform(0.003, 0.006, (d, 4 * h) if per_column else d).astype(np.float32)
    zero = np.zeros(scale.shape, np.int8)
    # 7 bits: without VNNI, ONNX Runtime saturates products with uint8.
    weights = [rng.integers(-64, 64, (d, size, 4 * h)).astype(np.int8) for size in (i, h)]
    inputs: list[Array | None] = [
        rng.standard_normal((6, 2, i)).astype(np.float32), *weights,
        rng.standard_normal((d, 8 * h)).astype(np.float32), None, None, None, None, scale, zero, scale, zero,
    ]  # fmt: skip
    Case(
        "DynamicQuantizeLSTM", inputs, {"hidden_size": h, "direction": direction}, 17,
        (1, 2, 3, 8, 9, 10, 11), outputs=3, domain=MS, atol=2e-2,
    ).check_native()  # fmt: skip


@pytest.mark.parametrize("apart", [False, True])
def test_weights_of_dynamic_quantize_lstm_stay_integers(apart: bool) -> None:
    """The operator has one scale for each row of the gates: directions with other scales become nodes."""
    rng = np.random.default_rng(6)
    scale = np.tile(rng.uniform(0.003, 0.006, 16).astype(np.float32), (2, 1))
    scale[1] *= 1 + apart
    zero = np.full(scale.shape, 128, np.uint8)
    weights = [rng.integers(1, 256, (2, size, 16)).astype(np.uint8) for size in (5, 4)]
    inputs: list[Array | None] = [
        rng.standard_normal((6, 2, 5)).astype(np.float32), *weights, None,
        None, None, None, None, scale, zero, scale, zero,
    ]  # fmt: skip
    case = Case(
        "DynamicQuantizeLSTM", inputs, {"hidden_size": 4, "direction": "bidirectional"}, 17,
        (1, 2, 8, 9, 10, 11), outputs=3, domain=MS, atol=2e-2,
    )  # fmt: skip
    nodes = [n for n in import_onnx(case.model()).main.nodes if n.op.name == "lstm"]
    assert len(nodes) == 1 + apart
    for index, given in ((1, weights[0]), (2, weights[1])):
        kept = [n.inputs[index] for n in nodes]
        assert all(v is not None and v.type.dtype is DType.QS8 for v in kept)
        got = np.concatenate([v.constant for v in kept if v is not None and v.constant is not None])
        assert np.array_equal(got, given.astype(np.float32).transpose(0, 2, 1) - 128)


@pytest.mark.parametrize(
    ("index", "array"),
    [
        (1, np.zeros((0, 5, 16), np.uint8)),
        (1, np.zeros((2, 5, 16), np.int32)),
        (8, np.ones(3, np.float32)),
        (8, np.zeros(2, np.float32)),
        (9, np.zeros(3, np.uint8)),
    ],
)
def test_damaged_weights_of_dynamic_quantize_lstm(index: int, array: Array) -> None:
    """An error, or the float form; nothing else, whatever a file says."""
    scale, zero_point = np.ones(2, np.float32), np.zeros(2, np.uint8)
    inputs: list[Array | None] = [
        np.zeros((6, 2, 5), np.float32), np.zeros((2, 5, 16), np.uint8), np.zeros((2, 4, 16), np.uint8),
        None, None, None, None, None, scale, zero_point, scale, zero_point,
    ]  # fmt: skip
    inputs[index] = array
    attrs = {"hidden_size": 4, "direction": "bidirectional"}
    case = Case(
        "DynamicQuantizeLSTM", inputs, attrs, 17, (1, 2, 8, 9, 10, 11), outputs=3, domain=MS
    )
    try:
        program = import_onnx(case.model())
    except SamaraError:
        return
    (node,) = [n for n in program.main.nodes if n.op.name == "lstm"]
    assert {v.type.dtype for v in node.inputs[1:3] if v is not None} == {DType.F32}
