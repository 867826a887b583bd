# SPDX-License-Identifier: Apache-2.0
"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.types import as_dim


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


@tflite_op("RESIZE_BILINEAR", newest=4)
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
