# SPDX-License-Identifier: Apache-2.0
"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, bit-equal to onnxruntime in both runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.helper import make_node as node
from tests.exporter.importers.onnx.models import (
    Array,
    Case,
    agree,
    agree_both,
    built,
    kinds,
    native,
    normal,
    scalar,
    tensor,
)

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError, UnsupportedError

MS = "com.microsoft"
INTEGERS = [np.uint8, np.int8, np.uint16, np.int16]
EVERY = pytest.mark.parametrize("dtype", INTEGERS)
WHEN = pytest.mark.parametrize("constants", [(1, 2), ()], ids=["constants", "inputs"])


def some(shape: tuple[int, ...], dtype: Any) -> Array:
    info = np.iinfo(dtype)
    return np.random.default_rng(1).integers(info.min, info.max, shape, dtype, endpoint=True)


def reals(shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers beyond both ends of the range of 0.125 steps, many of them ties."""
    info = np.iinfo(dtype)
    return (some(shape, np.int16).astype(np.float64) * (info.max / 2.0**17)).astype(np.float32)


@WHEN
@EVERY
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_parameters(axis: int | None, dtype: type, constants: tuple[int, ...]) -> None:
    shape = (3, 4)
    count = () if axis is None else (shape[axis],)
    scales = np.asarray((1 + np.arange(np.prod(count, dtype=int))).reshape(count) / 8, np.float32)
    zeros: Array = np.full(count, np.iinfo(dtype).max // 3, dtype)
    attrs = {} if axis is None else {"axis": axis}
    for x in (reals(shape, dtype), reals(shape, dtype) * 4, np.rint(reals(shape, dtype) * 16) / 16):
        inputs = [x, scales, zeros]
        Case("QuantizeLinear", inputs, attrs, 21, constants).check_native()
    inputs = [some(shape, dtype), scales, zeros]
    Case("DequantizeLinear", inputs, attrs, 21, constants).check_native()


@WHEN
@EVERY
def test_microsoft(dtype: type, constants: tuple[int, ...]) -> None:
    zero = scalar(7, dtype)
    for op, x in (
        ("QuantizeLinear", reals((2, 5), dtype)),
        ("DequantizeLinear", some((2, 5), dtype)),
    ):
        Case(op, [x, scalar(0.3), zero], {}, 13, constants, domain=MS).check_native()


def _repeated(p: Array, block: int, axis: int, size: int) -> Array:
    every: Array = np.repeat(p, block, axis).take(range(size), axis)
    return every


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("block", [2, 3, 8])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_blocks(axis: int, block: int, symbolic: bool) -> None:
    """By the definition: onnxruntime takes no blocks that do not divide the axis."""
    shape = (6, 8, 4)
    counts = list(shape)
    counts[axis] = -(-shape[axis] // block)
    rng = np.random.default_rng(2)
    scales = rng.uniform(0.01, 0.1, counts).astype(np.float32)
    zeros = rng.integers(-9, 9, counts).astype(np.int8)
    attrs = {"axis": axis, "block_size": block}
    for op, x in (("QuantizeLinear", normal(*shape)), ("DequantizeLinear", some(shape, np.int8))):
        constants = () if symbolic else (1, 2)
        case = Case(op, [x, scales, zeros], attrs, 21, constants, symbolic=symbolic)
        s, z = (_repeated(p, block, axis, shape[axis]) for p in (scales, zeros))
        if op == "QuantizeLinear":
            want: Array = np.clip(np.rint(x / s) + z, -128, 127).astype(np.int8)
        else:
            want = (x.astype(np.float32) - z) * s
        case.gives({"y0": want}, atol=0, rtol=0)


@pytest.mark.parametrize("opset", [10, 11, 12])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_axis_before_its_opset(axis: int | None, opset: int) -> None:
    """As quantizers write weights per channel; without `axis` it is the second one."""
    shape = (3, 4, 2)
    count = shape[1 if axis is None else axis]
    scales = np.linspace(0.125, 1, count, dtype=np.float32)
    zeros: Array = np.arange(count).astype(np.int8)
    attrs = {} if axis is None else {"axis": axis}
    for op, x in (("QuantizeLinear", normal(*shape)), ("DequantizeLinear", some(shape, np.int8))):
        old = Case(op, [x, scales, zeros], attrs, opset, (1, 2)).model()
        new = Case(op, [x, scales, zeros], attrs, 13, (1, 2)).model()
        found, wanted = (import_onnx(m).run({"x0": x}) for m in (old, new))
        np.testing.assert_array_equal(found["y0"], wanted["y0"])


def test_no_zero_point_and_other_types() -> None:
    Case("QuantizeLinear", [normal(3, 4), scalar(0.02)], {}, 13, (1,)).check_native()
    Case("DequantizeLinear", [some((3, 4), np.uint8), scalar(0.02)], {}, 13, (1,)).check_native()
    steps = np.array([100, -2000, 70000], np.int32)
    Case("DequantizeLinear", [steps, scalar(0.02)], {}, 13, (1,)).check_native()
    Case("DequantizeLinear", [steps, scalar(0.02)], {}, 13, (0, 1)).check()
    for code, dtype in ((onnx.TensorProto.INT8, np.int8), (onnx.TensorProto.UINT16, np.uint16)):
        inputs = [normal(3, 4), scalar(0.02)]
        case = Case("QuantizeLinear", inputs, {"output_dtype": code}, 21, (1,))
        assert next(iter(case.check_native().run(case.feeds()).values())).dtype == dtype


@pytest.mark.parametrize("constants", [(1, 2), ()])
def test_halves(constants: tuple[int, ...]) -> None:
    """The division happens in the scale's precision, or in `precision`; products in the result's."""
    x, scale, zero = normal(3, 4).astype(np.float16), scalar(0.02, np.float16), scalar(9, np.uint8)
    Case("QuantizeLinear", [x, scale, zero], {}, 21, constants, reference=True).check_native()
    both = {"precision": onnx.TensorProto.FLOAT}
    wide = Case("QuantizeLinear", [x, scale, zero], both, 23, constants, reference=True, steps=1)
    wide.check_native()
    inputs = [some((3, 4), np.uint8), scale, zero]
    Case("DequantizeLinear", inputs, {}, 21, constants, rtol=2e-3, atol=2e-3).check_native()


def four_bits(kind: int, array: Array, name: str) -> onnx.TensorProto:
    return onnx.helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist())


@pytest.mark.parametrize(("kind", "low", "high"), [
    (onnx.TensorProto.UINT4, 0, 15), (onnx.TensorProto.INT4, -8, 7),
])  # fmt: skip
def test_four_bits(kind: int, low: int, high: int) -> None:
    """Weights in 4 bits per axis, and a tensor through 4 bits and back."""
    rng = np.random.default_rng(3)
    w = rng.integers(low, high + 1, (6, 5))
    zeros = rng.integers(low, high + 1, 6)
    scales = rng.uniform(0.1, 0.3, 6).astype(np.float32)
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["real"], axis=0),
        node("MatMul", ["x", "real"], ["y"]),
        node("QuantizeLinear", ["y", "step", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "step", "zero"], ["back"]),
    ]
    held = [tensor(scales, "s"), tensor(scalar(0.7), "step"), four_bits(kind, w, "w")]
    held += [four_bits(kind, zeros, "z"), four_bits(kind, np.array(3), "zero")]
    x = normal(3, 6)
    model = built(nodes, {"x": x}, ["y", "back"], held)
    real = (w - zeros[:, None]) * scales[:, None]
    y = (x @ real).astype(np.float32)
    back = (np.clip(np.rint(y / np.float32(0.7)) + 3, low, high) - 3) * np.float32(0.7)
    want = {"y": y, "back": back.astype(np.float32)}
    agree_both(import_onnx(model), {"x": x}, want, rtol=1e-5, atol=1e-5)


def test_weights_of_four_bits_stay_packed(tmp_path: Path) -> None:
    w = np.random.default_rng(4).integers(-8, 8, (256, 512))
    block = node("DequantizeLinear", ["w", "s"], ["real"], block_size=32)
    held = [four_bits(onnx.TensorProto.INT4, w, "w")]
    held += [tensor(np.full((256, 16), 0.1, np.float32), "s")]
    x = normal(3, 256)
    program = import_onnx(
        built([block, node("MatMul", ["x", "real"], ["y"])], {"x": x}, ["y"], held)
    )
    want = (x.astype(np.float64) @ (w * np.float64(0.1))).astype(np.float32)
    agree(native(program, {"x": x})[0], {"y": want}, rtol=1e-4, atol=1e-4)
    export(program, tmp_path / "m.samara", check=False)
    size = (tmp_path / "m.samara").stat().st_size
    assert size < 256 * 512 * (0.5 + 4 / 32) + 70_000


def test_bytes_use_their_rows() -> None:
    for x, op, rows in (
        (normal(3, 4), "QuantizeLinear", ["quantize", "reinterpret"]),
        (some((3, 4), np.uint8), "DequantizeLinear", ["reinterpret", "dequantize"]),
    ):
        case = Case(op, [x, scalar(0.1), scalar(3, np.uint8)], {}, 13, (1, 2))
        assert kinds(case.check()) == rows


def test_scales_that_no_row_takes() -> None:
    """0, negative, subnormal and infinite scales go by the formula."""
    for scale in (-0.5, 1e-40, np.inf):
        inputs = [some((3, 4), np.uint8), scalar(scale), scalar(3, np.uint8)]
        Case("DequantizeLinear", inputs, {}, 13, (1, 2), atol=0).check_native()


def test_dynamic() -> None:
    base = normal(3, 4)
    for x in (base, np.abs(base) + 1, -np.abs(base) - 1, base * 0, np.zeros((), np.float32) + 3):
        Case("DynamicQuantizeLinear", [np.asarray(x, np.float32)], {}, 11, outputs=3).check_native()
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = rng.standard_normal((5, 7)) * 10 ** rng.uniform(-3, 3) + rng.uniform(-1, 1)
        Case("DynamicQuantizeLinear", [x.astype(np.float32)], {}, 11, outputs=3).check()


def test_what_does_not_fit() -> None:
    Case(
        "DequantizeLinear", [some((4, 4), np.uint8), normal(3, 4)], {"axis": 0, "block_size": 2}, 21
    ).refused(ShapeError, "blocked parameters")
    many = Case("QuantizeLinear", [normal(3, 4), normal(3)], {"axis": 1}, 13, (1,))
    many.refused(ShapeError, "3 scales or zero points for 4")
    attrs = {"output_dtype": onnx.TensorProto.INT32}
    wide = Case("QuantizeLinear", [normal(3), scalar(0.1)], attrs, 21, (1,))
    wide.refused(UnsupportedError, "quantization to int32")
