# SPDX-License-Identifier: Apache-2.0
"""Records of inputs from what ONNX files say of images."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

import samara
from samara.exporter.ir.records import records_of


def model(
    dims: list[int | str],
    said: dict[str, str] | None = None,
    *,
    dtype: int = TensorProto.FLOAT,
    denotation: str = "",
    inputs: int = 1,
) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(f"x{i}", dtype, dims) for i in range(inputs)]
    infos[0].type.denotation = denotation
    nodes = [helper.make_node("Identity", [f"x{i}"], [f"y{i}"]) for i in range(inputs)]
    outs = [helper.make_tensor_value_info(f"y{i}", dtype, dims) for i in range(inputs)]
    graph = helper.make_graph(nodes, "g", infos, outs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    helper.set_model_props(made, said or {})
    return made


RGB = {"Image.BitmapPixelFormat": "Rgb8"}


@pytest.mark.parametrize(
    ("dims", "said", "record"),
    [
        ([1, 3, 24, 32], RGB, "rgb float32 nchw resize=32x24"),
        ([1, 24, 32, 3], RGB, "rgb float32 nhwc resize=32x24"),
        (
            [1, 3, 24, 32],
            {"Image.BitmapPixelFormat": "Bgr8", "Image.NominalPixelRange": "Normalized_0_1"},
            "bgr float32 nchw resize=32x24 std=255",
        ),
        (
            [1, 3, 24, 32],
            {**RGB, "Image.NominalPixelRange": "Normalized_1_1", "Image.ColorSpaceGamma": "SRGB"},
            "rgb float32 nchw resize=32x24 mean=127.5 std=127.5",
        ),
        (
            [1, 1, 28, 28],
            {"Image.BitmapPixelFormat": "Gray8", "Image.NominalPixelRange": "NominalRange_0_255"},
            "gray float32 nchw resize=28x28",
        ),
        ([1, 3, "h", "w"], RGB, "rgb float32 nchw"),
        ([1, 3, 24, 32], {**RGB, "Image.NominalPixelRange": "NominalRange_16_235"}, None),
        ([1, 3, 24, 32], {**RGB, "Image.ColorSpaceGamma": "Linear"}, None),
        ([1, 3, 24, 32], {"Image.BitmapPixelFormat": "Bgra8"}, None),
        ([1, 1, 24, 32], RGB, None),
        ([1, 24, 32], RGB, None),
        ([1, 5, 24, 32], RGB, None),
        ([1, 3, 24, 32], {}, None),
        ([1, 3, 24, 32], {"preprocess": "no JSON"}, None),
    ],
)
def test_properties(dims: list[int | str], said: dict[str, str], record: str | None) -> None:
    program = samara.import_onnx(model(dims, said))
    wanted = {} if record is None else {"x0": samara.ImageRecord.parse(record)}
    assert records_of(program) == wanted


def test_the_denotation_is_enough() -> None:
    program = samara.import_onnx(model([1, 3, 8, 8], denotation="IMAGE", inputs=2))
    assert records_of(program).keys() == {"x0"}
    assert not records_of(samara.import_onnx(model([1, 3, 8, 8], RGB, inputs=2)))  # which one?


def test_bytes_keep_their_range() -> None:
    bytes_in = model([1, 3, 8, 8], RGB, dtype=TensorProto.UINT8)
    assert str(records_of(samara.import_onnx(bytes_in))["x0"]) == "rgb uint8 nchw resize=8x8"
    said = {**RGB, "Image.NominalPixelRange": "Normalized_0_1"}
    assert not records_of(samara.import_onnx(model([1, 3, 8, 8], said, dtype=TensorProto.UINT8)))


def test_names_follow() -> None:
    program = samara.import_onnx(model([1, 3, 8, 8], RGB), rename={"x0": "image"})
    assert records_of(program).keys() == {"image"}
    laid = samara.import_onnx(model([1, 3, 8, 8], RGB), layout={"x0": "NHWC"})
    assert records_of(laid)["x0"].layout == "nhwc"
