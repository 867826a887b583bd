# SPDX-License-Identifier: Apache-2.0
"""Operators that sample images, in the interpreter and the C runtime, against two witnesses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import (
    Array,
    Case,
    agree_both,
    ints,
    kinds,
    native,
    normal,
    scalar,
    witness,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ops import DataError
from samara.exporter.types import SamaraError, ShapeError, UnsupportedError

CLOSE: Any = {"rtol": 2e-5, "atol": 2e-6}
Ints = Sequence[int]


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def windows(size: Ints, window: Ints, pads: Ints, strides: Ints, dilations: Ints) -> list[int]:
    """How many windows each axis has."""
    s = len(size)
    return [
        (size[i] + pads[i] + pads[s + i] - (window[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in range(s)
    ]


# ---- GridSample ----


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    x, grid = normal(2, 3, 5, 6), uniform(-1.6, 1.6, 2, 4, 7, 2)
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": align}
    Case("GridSample", [x, grid], attrs, 20, symbolic=bool(align), **CLOSE).check_native()


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_by_its_first_names(mode: str) -> None:
    x, grid = normal(1, 2, 4, 5), uniform(-1.3, 1.3, 1, 3, 4, 2)
    Case("GridSample", [x, grid], {"mode": mode}, 16, **CLOSE).check_native()


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_of_volumes(mode: str, padding: str) -> None:
    if (mode, padding) == ("cubic", "border"):
        return  # onnxruntime has no cubic volumes, and onnx.reference moves points into the border
    x, grid = normal(2, 2, 3, 4, 5), uniform(-1.4, 1.4, 2, 2, 3, 4, 3)
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": 1}
    Case("GridSample", [x, grid], attrs, 22, reference=True, symbolic=True, **CLOSE).check_native()


def test_what_grid_sample_refuses() -> None:
    def refusal(x: Array, grid: Array, **attrs: Any) -> SamaraError:
        return Case("GridSample", [x, grid], attrs, 20).refused(SamaraError)

    assert isinstance(refusal(normal(1, 2, 5), normal(1, 4, 1)), UnsupportedError)
    assert "mode" in str(refusal(normal(1, 2, 5, 5), normal(1, 4, 4, 2), mode="sinc"))
    assert "grid" in str(refusal(normal(2, 2, 5, 5), normal(1, 4, 4, 2)))
    assert "uint8" in str(refusal(np.ones((1, 1, 2, 2), np.uint8), normal(1, 1, 1, 2)))


def test_grid_sample_of_half_floats_at_finer_points() -> None:
    x, grid = normal(1, 2, 40, 50).astype(np.float16), uniform(-1, 1, 1, 3, 4, 2)
    Case("GridSample", [x, grid], {}, 20, reference=True, atol=2e-3).check_native()


# ---- regions ----

REGIONS = np.array(
    [[1, 1, 6, 7], [0, 0, 3.5, 2.25], [4, 5, 13, 14], [-3, -2, 2, 2], [6, 6, 6, 6], [2, 3, 40, 50]],
    np.float32,
)
IMAGES = np.array([0, 1, 1, 0, 1, 0], np.int64)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sampling", [0, 1, 3])
@pytest.mark.parametrize("shift", [None, "half_pixel", "output_half_pixel"])
def test_roi_align(mode: str, sampling: int, shift: str | None) -> None:
    attrs: dict[str, Any] = {"mode": mode, "sampling_ratio": sampling, "spatial_scale": 0.75}
    attrs |= {"output_height": 3, "output_width": 2}
    if shift is not None:
        attrs["coordinate_transformation_mode"] = shift
    for opset in (10, 16) if shift is None else (16,):
        inputs = [normal(2, 5, 9, 11), REGIONS, IMAGES]
        Case("RoiAlign", inputs, attrs, opset, symbolic=sampling == 1, **CLOSE).check_native()


def test_roi_align_by_its_definition() -> None:
    attrs = {"output_height": 2, "output_width": 3, "sampling_ratio": 2}
    inputs = [normal(2, 3, 8, 8), REGIONS, IMAGES]
    Case("RoiAlign", inputs, attrs, 22, reference=True, **CLOSE).check_native()


def test_roi_align_without_regions() -> None:
    case = Case("RoiAlign", [normal(1, 2, 4, 4), REGIONS[:0], IMAGES[:0]], {"output_height": 2}, 16)
    program = import_onnx(case.model())
    for got in (program.run(case.feeds()), *native(program, case.feeds())):
        assert got["y0"].shape == (0, 2, 2, 1)


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("symbolic", [False, True])
def test_max_roi_pool(scale: float, symbolic: bool) -> None:
    regions = np.concatenate([IMAGES[:, None].astype(np.float32), REGIONS], axis=1)
    attrs = {"pooled_shape": [3, 2], "spatial_scale": scale}
    case = Case("MaxRoiPool", [normal(2, 5, 9, 11), regions], attrs, 1 + 20, symbolic=symbolic)
    case.check_native()


@pytest.mark.parametrize("image", [-1, 2])
def test_images_that_are_not_there(image: int) -> None:
    """Which image a region lies in is looked at while running."""
    wrong = np.array([0, image], np.int64)
    pooled = np.concatenate([wrong[:, None].astype(np.float32), REGIONS[:2]], axis=1)
    attrs = {"pooled_shape": [2, 2]}
    for case in (
        Case("RoiAlign", [normal(2, 3, 8, 8), REGIONS[:2], wrong], {}, 16),
        Case("MaxRoiPool", [normal(2, 3, 8, 8), pooled], attrs),
    ):
        program = import_onnx(case.model())
        with pytest.raises(DataError, match=f"image {image}"):
            program.run(case.feeds())
        with pytest.raises(SamaraError, match=f"image {image}"):
            native(program, case.feeds())


def test_regions_that_no_run_can_end() -> None:
    regions = np.array([[0, 0, 1e9, 1]], np.float32)
    case = Case("RoiAlign", [normal(1, 1, 4, 4), regions, IMAGES[:1]], {}, 16)
    case.fails(SamaraError, "samples")
    with pytest.raises(SamaraError, match="samples"):
        native(import_onnx(case.model()), case.feeds())


# ---- NonMaxSuppression ----


def boxes_of(n: int, count: int, center: int) -> Array:
    rng = np.random.default_rng(count + center)
    first, size = rng.uniform(0, 4, (n, count, 2)), rng.uniform(0.2, 2, (n, count, 2))
    return np.concatenate([first, size if center else first + size], axis=2).astype(np.float32)


def suppression(
    n: int, classes: int, count: int, *scalars: Array | None, center: int = 0, **more: Any
) -> Case:
    """scalars: most boxes, overlap, score."""
    scores = uniform(0, 1, n, classes, count)
    scores[..., ::3] = np.float32(0.5)  # equal ones keep their order
    inputs = [boxes_of(n, count, center), scores, *scalars]
    return Case("NonMaxSuppression", inputs, {"center_point_box": center}, 11, **more)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("constants", [(), (2, 3, 4)])
def test_suppression(center: int, overlap: float, constants: Sequence[int]) -> None:
    scalars = ints(5), np.array([overlap], np.float32), np.array([0.2], np.float32)
    suppression(2, 3, 40, *scalars, center=center, constants=constants).check_native()


def test_suppression_with_symbols() -> None:
    suppression(2, 2, 33, ints(7), np.array([0.4], np.float32), symbolic=True).check_native()


@pytest.mark.parametrize("most", [0, 1, 100])
def test_as_many_boxes_as_asked_for(most: int) -> None:
    for constants in ((), (2,)):
        suppression(1, 2, 20, scalar(most, np.int64), constants=constants).check_native()


def test_suppression_without_a_number() -> None:
    """Left out, the most boxes of a class are none."""
    case = suppression(1, 2, 20)
    program = import_onnx(case.model())
    for got in (program.run(case.feeds()), *native(program, case.feeds())):
        assert got["y0"].shape == (0, 3)
        assert got["y0"].dtype == np.int64


def test_suppression_runs_without_allocating() -> None:
    """The number of boxes is bounded by the shapes, though only data decides it."""
    case = suppression(1, 2, 20, ints(3), constants=(2,))
    program = import_onnx(case.model())
    (bound,) = program.main.bounds.values()
    assert bound == 1 * 2 * 3


def test_suppression_by_its_definition() -> None:
    scalars = ints(4), np.array([0.5], np.float32), np.array([0.1], np.float32)
    suppression(1, 2, 25, *scalars, reference=True).check_native()


# ---- DeformConv ----

DEFORMED: dict[str, dict[str, Any]] = {
    "plain": {},
    "pads": {"pads": [1, 0, 2, 1]},
    "strides": {"strides": [2, 1], "pads": [1, 1, 1, 1]},
    "dilations": {"dilations": [2, 3]},
    "groups": {"group": 2},
    "offset groups": {"offset_group": 3},
    "depthwise": {"group": 6, "offset_group": 2, "strides": [2, 1]},
    "both": {"group": 3, "offset_group": 2, "pads": [1, 1, 1, 1]},
}


@pytest.mark.parametrize("name", DEFORMED)
@pytest.mark.parametrize("extras", [False, True])
def test_deform_conv(name: str, extras: bool) -> None:
    attrs = DEFORMED[name]
    groups, moving = attrs.get("group", 1), attrs.get("offset_group", 1)
    pads, strides = attrs.get("pads", [0] * 4), attrs.get("strides", [1, 1])
    dilations = attrs.get("dilations", [1, 1])
    x, w = normal(2, 6, 8, 9), normal(6, 6 // groups, 3, 2, seed=1)
    out = windows(x.shape[2:], w.shape[2:], pads, strides, dilations)
    inputs: list[Array | None] = [x, w, uniform(-2, 2, 2, moving * 12, *out)]
    if extras:
        inputs += [normal(6, seed=2), uniform(0, 1, 2, moving * 6, *out)]
    elif name == "pads":
        inputs += [None, uniform(0, 1, 2, moving * 6, *out)]
    Case("DeformConv", inputs, attrs, 19, constants=(1,), rtol=1e-5, atol=1e-5).check_native()


@pytest.mark.parametrize("groups", [1, 2])
def test_deform_conv_with_symbols(groups: int) -> None:
    """Weights are inputs; sizes of the image are symbolic."""
    inputs = [normal(1, 2, 6, 5), normal(2, 2 // groups, 2, 2, seed=1), uniform(-1, 1, 1, 8, 5, 4)]
    attrs = {"kernel_shape": [2, 2], "group": groups}
    case = Case("DeformConv", inputs, attrs, 22, reference=True, atol=1e-5)
    shapes = {"x0": ("n", 2, "h", "w"), "x2": ("n", 8, "oh", "ow")}
    program = import_onnx(case.model(), shapes=shapes)
    assert "conv" in kinds(program)
    want = witness(case.model(), case.feeds(), reference=True)
    agree_both(program, case.feeds(), want, atol=1e-5)


def test_what_deform_conv_refuses() -> None:
    def refusal(*inputs: Array, **attrs: Any) -> SamaraError:
        return Case("DeformConv", list(inputs), attrs, 19).refused(SamaraError)

    x, w, offset = normal(1, 2, 6, 5), normal(3, 2, 2, 2), normal(1, 8, 5, 4)
    line = refusal(x[..., 0], w[..., 0], offset[..., 0])
    assert isinstance(line, UnsupportedError)
    assert "rank 3" in str(line)
    assert isinstance(refusal(x, w, offset, kernel_shape=[3, 3]), ShapeError)
    assert isinstance(refusal(x, w, offset[:, :6]), ShapeError)
    assert isinstance(refusal(x, w, offset, offset_group=3), ShapeError)


# ---- Col2Im ----

FOLDED: dict[str, tuple[list[int], list[int], dict[str, Any]]] = {
    "plain": ([5, 6], [2, 3], {}),
    "one axis": ([17], [4], {"strides": [2], "dilations": [3]}),
    "three axes": ([4, 5, 6], [2, 1, 3], {"strides": [1, 2, 1], "pads": [0, 1, 1, 1, 0, 1]}),
    "strides": ([9, 11], [3, 2], {"strides": [2, 3], "pads": [0, 1, 1, 0]}),
    "dilations": ([9, 10], [2, 3], {"dilations": [3, 2], "pads": [1, 2, 0, 1]}),
}


@pytest.mark.parametrize("name", FOLDED)
@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_col2im(name: str, constants: Sequence[int]) -> None:
    size, block, attrs = FOLDED[name]
    s = len(size)
    pads, strides = attrs.get("pads", [0] * (2 * s)), attrs.get("strides", [1] * s)
    dilations = attrs.get("dilations", [1] * s)
    x = normal(2, 3 * math.prod(block), math.prod(windows(size, block, pads, strides, dilations)))
    inputs = [x, ints(*size), ints(*block)]
    for reference in (False, True):
        # onnxruntime writes past the last window of one axis.
        if reference or s > 1:
            case = Case("Col2Im", inputs, attrs, 18, constants, reference=reference, **CLOSE)
            case.check_native()


def test_col2im_of_wrong_sizes() -> None:
    x = normal(1, 12, 16)
    for size, block in (((5, 5), (2, 3)), ((4, 4), (5, 1))):
        case = Case("Col2Im", [x, ints(*size), ints(*block)], {}, 18, constants=(1, 2))
        case.refused(ShapeError)
        case = Case("Col2Im", [x, ints(*size), ints(*block)], {}, 18)
        program = import_onnx(case.model())
        with pytest.raises(SamaraError):
            native(program, case.feeds())
    with pytest.raises(UnsupportedError, match="4 axes"):
        import_onnx(Case("Col2Im", [x, ints(1, 1, 4, 4), ints(1, 1, 1, 1)], {}, 18).model())
