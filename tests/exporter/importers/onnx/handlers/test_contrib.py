# SPDX-License-Identifier: Apache-2.0
"""Float operators of com.microsoft: onnxruntime's answers, in the interpreter and the C runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import (
    Array,
    Case,
    answer,
    ints,
    ms,
    normal,
    scalar,
)

from samara.exporter.types import UnsupportedError

MS = "com.microsoft"


def i32(*values: int) -> Array:
    return np.array(values, np.int32)


X, ROW = normal(2, 3, 8), normal(8, seed=1)

PLAIN: list[tuple[str, list[Array | None], dict[str, Any], tuple[int, ...], int]] = [
    ("Gelu", [X], {}, (), 1),
    ("BiasGelu", [X, ROW], {}, (1,), 1),
    ("FastGelu", [X], {}, (), 1),
    ("FastGelu", [X, ROW], {}, (1,), 1),
    ("QuickGelu", [X], {}, (), 1),
    ("QuickGelu", [X], {"alpha": 1.0}, (), 1),
    ("QuickGelu", [X], {"alpha": 0.5}, (), 1),
    ("FusedMatMul", [normal(2, 3, 4), normal(2, 4, 5)], {"alpha": 0.5}, (), 1),
    ("FusedMatMul", [normal(2, 4, 3), normal(2, 5, 4)], {"transA": 1, "transB": 1}, (), 1),
    ("FusedMatMul", [normal(3, 2, 4), normal(2, 4, 5)], {"transBatchA": 1}, (), 1),
    ("FusedMatMul", [normal(4, 2, 3), normal(5, 2, 4)],
     {"transBatchA": 1, "transBatchB": 1, "transA": 1, "transB": 1}, (), 1),
    ("TransposeMatMul", [normal(4, 3), normal(4, 5)], {"transA": 1, "alpha": 2.0}, (), 1),
    ("FusedGemm", [normal(3, 4), normal(4, 5), normal(5)], {"activation": "Relu"}, (1, 2), 1),
    ("FusedGemm", [normal(3, 4), normal(5, 4), normal(5)],
     {"activation": "LeakyRelu", "activation_alpha": 0.3, "transB": 1, "alpha": 0.5, "beta": 2.0}, (), 1),
    ("SkipLayerNormalization", [X, normal(2, 3, 8, seed=2), ROW], {}, (2,), 1),
    ("SkipLayerNormalization", [X, normal(2, 3, 8, seed=2), ROW, ROW, normal(8)], {"epsilon": 1e-3}, (), 1),
    ("SkipSimplifiedLayerNormalization", [X, normal(2, 3, 8, seed=2), ROW, normal(8)], {}, (), 1),
    ("NhwcMaxPool", [(normal(1, 6, 7, 3) * 40).astype(np.int8)],
     {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, (), 1),
    ("ExpandDims", [X, i32(1)[0]], {}, (1,), 1),
    ("ExpandDims", [X, i32(-1)[0]], {}, (1,), 1),
    ("Trilu", [normal(4, 5)], {"upper": 0}, (), 1),
    ("Pad", [X, ints(0, 1, 0, 0, 0, 2), scalar(3.0)], {"mode": "constant"}, (1,), 1),
    ("Range", [scalar(1.0), scalar(9.0), scalar(2.0)], {}, (0, 1, 2), 1),
    ("GatherND", [X, np.array([[0, 1], [1, 2]])], {}, (), 1),
]  # fmt: skip


@pytest.mark.parametrize("row", PLAIN, ids=lambda r: r[0])
def test_like_onnxruntime(row: Any) -> None:
    op, inputs, attrs, constants, outputs = row
    ms(op, inputs, attrs, constants, outputs=outputs).check_native()


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [
        ("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 1.5]),
        ("HardSigmoid", [0.3, 0.4]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("z", [False, True])
def test_fused_conv(activation: str, parameters: list[float], z: bool) -> None:
    inputs: list[Array | None] = [normal(1, 4, 7, 6), normal(6, 4, 3, 3), normal(6)]
    inputs += [normal(1, 6, 7, 6, seed=4)] * z
    attrs: dict[str, Any] = {"activation": activation, "pads": [1, 1, 1, 1]}
    if parameters:
        attrs["activation_params"] = parameters
    ms("FusedConv", inputs, attrs, (1, 2)).check_native()


def test_fused_conv_without_activation() -> None:
    """FusedConv that only adds, with groups."""
    inputs = [normal(1, 4, 7, 6), normal(6, 2, 3, 3), None, normal(1, 6, 5, 4, seed=4)]
    ms("FusedConv", inputs, {"group": 2}, (1,)).check_native()
    odd = ms("FusedConv", [normal(1, 4, 7, 6), normal(6, 4, 3, 3)], {"activation": "Swirl"})
    odd.refused(UnsupportedError, "Swirl")


def test_the_other_outputs_of_skip_normalization() -> None:
    """onnxruntime's CPU kernels leave mean and deviation out; the sum is the fourth output."""
    x, skip, bias = X, normal(2, 3, 8, seed=2), normal(8)
    case = ms("SkipLayerNormalization", [x, skip, ROW, None, bias], {}, (2,), outputs=4)
    total = (x + skip + bias).astype(np.float64)
    mean = total.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-12)
    want = {"y0": (total - mean) * inverse * ROW, "y1": mean, "y2": inverse, "y3": total}
    case.gives({k: v.astype(np.float32) for k, v in want.items()}, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("domain", ["", MS])
def test_simplified_layer_normalization(domain: str) -> None:
    x, scale = normal(2, 3, 8), normal(8, seed=1)
    attrs = {"axis": -1, "epsilon": 1e-3}
    case = Case("SimplifiedLayerNormalization", [x, scale], attrs, 17, (1,), domain=domain)
    want = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-3) * scale
    case.gives({"y0": want.astype(np.float32)})


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("positions", [False, True])
def test_embed_layer_normalization(segments: bool, mask: bool, positions: bool) -> None:
    ids = np.array([[3, 1, 4], [1, 5, 0]], np.int32)
    inputs: list[Array | None] = [
        ids, np.array([[0, 0, 1], [1, 1, 0]], np.int32) if segments else None, normal(6, 8), normal(5, 8, seed=1),
        normal(2, 8, seed=2) if segments else None, normal(8, seed=3), normal(8, seed=4),
        np.array([[1, 1, 0], [1, 0, 0]], np.int32) if mask else None,
    ]  # fmt: skip
    inputs += [np.array([[2, 1, 0], [0, 4, 3]], np.int32)] * positions
    ms("EmbedLayerNormalization", inputs, {"epsilon": 1e-5}, (2, 3), outputs=2).check_native()


def test_a_bias_and_no_dropout() -> None:
    """Operators of training graphs and of diffusion models, which onnxruntime has for other devices."""
    x, bias, skip = normal(2, 8), normal(8, seed=1), normal(2, 8, seed=2)
    for op in ("BiasAdd", "BiasDropout"):
        ms(op, [x, bias, skip]).gives({"y0": x + bias + skip})
    case = ms("BiasDropout", [x, bias], outputs=2)
    case.gives({"y0": x + bias, "y1": np.ones((2, 8), np.bool_)})
    split = ms("BiasSplitGelu", [normal(2, 3, 8), normal(8, seed=1)])
    answer(split.model(), split.feeds())
    trains = ms("BiasDropout", [x, bias, skip, scalar(0.5), np.array(True)], constants=(3, 4))
    trains.refused(UnsupportedError, "training")


@pytest.mark.parametrize("op", ["Tokenizer", "SampleOp", "Inverse", "CropAndResize"])
def test_what_is_refused(op: str) -> None:
    caught = ms(op, [normal(2, 2)]).refused(UnsupportedError)
    assert op in str(caught)
