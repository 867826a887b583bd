# SPDX-License-Identifier: Apache-2.0
"""MatMulNBits: onnxruntime's answers, and files that stay small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import Array, Case, built, check_native, normal, tensor

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError, UnsupportedError

MS = "com.microsoft"


def given(depth: int, columns: int, bits: int, size: int, zeros: str = "", rows: int = 3) -> Case:
    rng = np.random.default_rng(depth + columns + bits)
    blocks = -(-depth // size)
    packed = rng.integers(0, 256, (columns, blocks, size * bits // 8)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.02, columns * blocks).astype(np.float32)
    inputs: list[Array | None] = [normal(rows, depth), packed, scales]
    if zeros == "packed":
        inputs.append(rng.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8))
    if zeros == "floats":
        inputs.append(rng.uniform(0, 1 << bits, (columns, blocks)).astype(np.float32))
    attrs = {"K": depth, "N": columns, "bits": bits, "block_size": size}
    constants = tuple(range(1, len(inputs)))
    return Case("MatMulNBits", inputs, attrs, 17, constants, domain=MS, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("zeros", ["", "packed", "floats"])
@pytest.mark.parametrize(
    ("depth", "columns", "bits", "size"),
    [(32, 8, 4, 16), (96, 5, 4, 32), (100, 7, 4, 32), (64, 6, 8, 32), (128, 3, 2, 64)],
)
def test_like_onnxruntime(depth: int, columns: int, bits: int, size: int, zeros: str) -> None:
    if bits == 8 and zeros == "floats":
        return  # onnxruntime has no such kernel; test_by_the_definition is the witness
    given(depth, columns, bits, size, zeros).check_native()


@pytest.mark.parametrize("zeros", ["", "packed", "floats"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_by_the_definition(bits: int, zeros: str) -> None:
    """Three blocks of zero points leave bits of their rows' last byte unused."""
    case = given(48, 4, bits, 16, zeros)
    a, packed, scales, *more = (np.asarray(x) for x in case.inputs)
    fields = np.stack([packed >> s & (1 << bits) - 1 for s in range(0, 8, bits)], -1)
    codes = fields.reshape(4, 3, 16).astype(np.float64)
    zero: Any = 1 << bits >> 1
    if zeros == "floats":
        zero = more[0].reshape(4, 3, 1)
    elif more:
        rows = more[0].reshape(4, -1)
        zero = np.stack([rows >> s & (1 << bits) - 1 for s in range(0, 8, bits)], -1)
        zero = zero.reshape(4, -1)[:, :3, None].astype(np.float64)
    w = (codes - zero) * scales.reshape(4, 3, 1).astype(np.float64)
    want = {"y0": (a @ w.reshape(4, 48).T).astype(np.float32)}
    case.gives(want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("bits", "bytes_each"), [(2, 0.5), (4, 0.5), (8, 1.0)])
def test_weights_stay_packed(bits: int, bytes_each: float, tmp_path: Path) -> None:
    case = given(512, 256, bits, 32)
    export(import_onnx(case.model()), tmp_path / "m.samara", check=False)
    numbers = 512 * 256
    assert (tmp_path / "m.samara").stat().st_size < numbers * (bytes_each + 4 / 32) + 70_000


def test_what_is_refused() -> None:
    case = given(32, 8, 4, 16)
    ordered = [*case.inputs, None, np.zeros(32, np.int32)]
    replace(case, inputs=ordered, constants=(1, 2, 4)).refused(UnsupportedError, "g_idx")
    replace(case, constants=(2,)).refused(UnsupportedError, "weights must be a constant")
    replace(case, attrs={**case.attrs, "bits": 3}).refused(UnsupportedError, "3 bits")
    replace(case, attrs={**case.attrs, "N": 9}).refused(ShapeError, "do not hold")


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("kind", ["int4", "uint4", "uint8"])
@pytest.mark.parametrize(("width", "size"), [(64, 16), (48, 32)])
def test_gather_block_quantized(width: int, size: int, kind: str, zeros: bool) -> None:
    """Rows of an embedding by onnxruntime; indices of any rank."""
    rng = np.random.default_rng(width)
    blocks = -(-width // size)
    low, high = {"int4": (-8, 8), "uint4": (0, 16), "uint8": (0, 256)}[kind]
    code = getattr(onnx.TensorProto, kind.upper())

    def drawn(name: str, shape: tuple[int, ...]) -> onnx.TensorProto:
        return oh.make_tensor(name, code, shape, rng.integers(low, high, shape).ravel().tolist())

    attrs: dict[str, Any] = {"gather_axis": 0, "quantize_axis": 1, "block_size": size}
    attrs |= {"bits": 8} if kind == "uint8" else {}
    names = ["data", "indices", "scales"] + ["zeros"] * zeros
    node = oh.make_node("GatherBlockQuantized", names, ["y"], domain=MS, **attrs)
    scales = rng.uniform(0.1, 0.2, (9, blocks)).astype(np.float32)
    held = [drawn("data", (9, width)), tensor(scales, "scales")]
    held += [drawn("zeros", (9, blocks))] * zeros
    indices = (onnx.TensorProto.INT64, ["a", "b"])
    model = built([node], {"indices": indices}, ["y"], held, domain=MS)
    check_native(model, {"indices": np.array([[3, 0], [8, 3], [1, 1]])})
