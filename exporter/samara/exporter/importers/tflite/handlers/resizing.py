# SPDX-License-Identifier: Apache-2.0
"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.differences import BYTES, Difference
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.types import as_dim

_STEPS = Difference(
    "LiteRT rounds the distance of two pixels to 1/1024, and the error adds up along a row",
    types=("int8",),
)
_TIES_UP = Difference(
    "LiteRT rounds ties up, samara to even", ("reference", "optimized"), ("uint8",)
)
_BITS = Difference(
    "XNNPACK rounds weights to 11 bits and ties up, samara ties to even", ("XNNPACK",), BYTES
)


def _resized(ctx: OperatorContext, mode: str, coordinate: str, nearest: str) -> Any:
    x = ctx.value(0)
    if x.type.rank != 4:
        raise ctx.wrong(f"input 0 is {x.type}, expected rank 4")
    size = ctx.dims(1, "the size")
    if len(size) != 2:
        raise ctx.wrong(f"the size has {len(size)} elements, expected 2")
    return ctx.final(
        "resize",
        x,
        sizes=size,
        scales=[as_dim(0)] * 2,
        mode=mode,
        coordinate=coordinate,
        nearest=nearest,
    )


@tflite_op(
    "RESIZE_BILINEAR",
    newest=4,
    differences=(_STEPS, _STEPS.of("int16", is_coarse=True), _TIES_UP, _BITS),
)
def resize_bilinear(ctx: OperatorContext) -> Any:
    if ctx.option("align_corners", False):
        coordinate = "align_corners"
    else:
        coordinate = "half_pixel" if ctx.option("half_pixel_centers", False) else "asymmetric"
    return _resized(ctx, "linear", coordinate, "floor")


@tflite_op("RESIZE_NEAREST_NEIGHBOR", newest=4)
def resize_nearest_neighbor(ctx: OperatorContext) -> Any:
    """Rounded down, but with align_corners to the nearest element, halves up."""
    if ctx.option("align_corners", False):
        return _resized(ctx, "nearest", "align_corners", "round_prefer_ceil")
    half = ctx.option("half_pixel_centers", False)
    return _resized(ctx, "nearest", "tf_half_pixel_for_nn" if half else "asymmetric", "floor")
