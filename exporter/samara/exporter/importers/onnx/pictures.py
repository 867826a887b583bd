# SPDX-License-Identifier: Apache-2.0
"""Image records from ONNX metadata: the type denotation IMAGE and the standard metadata properties
Image.BitmapPixelFormat, Image.NominalPixelRange and Image.ColorSpaceGamma
(https://github.com/onnx/onnx/blob/main/docs/MetadataProps.md).
"""

from __future__ import annotations

from typing import Final

import onnx

from samara.exporter.ir.program import Program, Value
from samara.exporter.types import DType

_FORMAT, _RANGE, _GAMMA = (
    "Image.BitmapPixelFormat",
    "Image.NominalPixelRange",
    "Image.ColorSpaceGamma",
)
_COLOURS: Final = {"Gray8": "gray", "Rgb8": "rgb", "Bgr8": "bgr"}
_SCALES: Final = {
    "NominalRange_0_255": "",
    "Normalized_0_1": " std=255",
    "Normalized_1_1": " mean=127.5 std=127.5",
}
_DTYPES: Final = {DType.F32: "float32", DType.F16: "float16", DType.U8: "uint8"}
_CHANNELS: Final = {1: "gray", 3: "rgb"}


def picture_records(model: onnx.ModelProto, program: Program) -> dict[str, str]:
    """Texts of records by the name of the input, for inputs with enough metadata: an image with 1 or 3 channels
    in an 8-bit format, in a range that a mean and a scale give, and not in linear light.
    """
    said = {p.key: p.value for p in model.metadata_props}
    images = {i.name for i in model.graph.input if i.type.denotation == "IMAGE"}
    fed = [v for v in program.main.inputs if v.name not in program.main.reads]
    if not images and _FORMAT in said:
        images = {v.name for v in fed if v.type.rank == 4} if len(fed) == 1 else set()
    if said.get(_GAMMA, "SRGB") != "SRGB" or said.get(_RANGE, "") not in ("", *_SCALES):
        return {}
    found = {v.name: _record(v, said) for v in fed if v.name in images}
    return {name: text for name, text in found.items() if text}


def _record(value: Value, said: dict[str, str]) -> str:
    """The text; empty if the metadata and the input do not match."""
    kind = value.type
    dtype = _DTYPES.get(kind.dtype)
    if dtype is None or kind.rank != 4:
        return ""
    sizes = [d.as_int() if d.is_static else None for d in kind.shape]
    layout = "nchw" if sizes[1] in _CHANNELS else "nhwc" if sizes[3] in _CHANNELS else ""
    channels = sizes[1] if layout == "nchw" else sizes[3]
    colour = _COLOURS.get(said[_FORMAT]) if _FORMAT in said else _CHANNELS.get(channels or 0)
    if not layout or colour is None or _CHANNELS[channels or 1] != colour.replace("bgr", "rgb"):
        return ""
    height, width = sizes[2:] if layout == "nchw" else sizes[1:3]
    resize = f" resize={width}x{height}" if width is not None and height is not None else ""
    scale = _SCALES[said[_RANGE]] if said.get(_RANGE) else ""
    if scale and dtype == "uint8":
        return ""
    return f"{colour} {dtype} {layout}{resize}{scale}"
