# SPDX-License-Identifier: Apache-2.0
"""Resize and Upsample against onnxruntime: modes, coordinates, scales and sizes in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, check, ints, kinds, normal, parse

from samara.exporter.types import SamaraError, ShapeError

CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}
X = normal(1, 2, 4, 5)
EMPTY = np.zeros(0, np.float32)
COORDINATES = (
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "half_pixel_symmetric",
)


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("target", [(8, 10), (2, 3), (7, 1)])
def test_sizes(mode: str, coordinate: str, target: tuple[int, int]) -> None:
    attrs = {"mode": mode, "coordinate_transformation_mode": coordinate}
    Case("Resize", [X, None, None, ints(1, 2, *target)], attrs, 19, (3,), **CLOSE).check()


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [(2.0, 2.0), (0.5, 0.6), (1.3, 1.0)])
@pytest.mark.parametrize("constants", [(2,), ()])
@pytest.mark.parametrize("symbolic", [False, True])
def test_scales(
    mode: str, scales: tuple[float, float], constants: tuple[int, ...], symbolic: bool
) -> None:
    inputs = [X, None, floats(1, 1, *scales)]
    how: Any = {"symbolic": symbolic and bool(constants), **CLOSE}
    Case("Resize", inputs, {"mode": mode}, 19, constants, **how).check()


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinate", ["half_pixel", "asymmetric", "align_corners"])
def test_nearest(rounding: str, coordinate: str) -> None:
    attrs = {"nearest_mode": rounding, "coordinate_transformation_mode": coordinate}
    Case("Resize", [X, None, None, ints(1, 2, 7, 3)], attrs, 19, (3,)).check()


@pytest.mark.parametrize(
    "attrs",
    [
        {"mode": "cubic", "cubic_coeff_a": -0.5},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "linear", "antialias": 1},
        {"mode": "cubic", "antialias": 1},
    ],
)
@pytest.mark.parametrize("target", [(3, 2), (9, 10)])
def test_details(attrs: dict[str, Any], target: tuple[int, int]) -> None:
    Case("Resize", [X, None, None, ints(1, 2, *target)], attrs, 19, (3,), **CLOSE).check()


@pytest.mark.parametrize("form", ["sizes", "scales"])
@pytest.mark.parametrize("axes", [(2, 3), (3, 2), (-1, -2), (3,)])
def test_axes(form: str, axes: tuple[int, ...]) -> None:
    if form == "sizes":
        inputs: list[Array | None] = [X, None, None, ints(*range(6, 6 + len(axes)))]
    else:
        inputs = [X, None, floats(*[1.5, 2.0][: len(axes)])]
    Case("Resize", inputs, {"axes": axes}, 18, (2, 3), reference=min(axes) >= 0, **CLOSE).check()


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_aspect_ratio(policy: str) -> None:
    attrs = {"keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    for constants, symbolic in (((3,), False), ((), False), ((3,), True), ((), True)):
        Case("Resize", [X, None, None, ints(9, 8)], attrs, 18, constants, symbolic=symbolic,
             reference=True, **CLOSE).check_native()  # fmt: skip


@pytest.mark.parametrize("sizes", [(7, 7, 7), (3, 12, 2), (2, 2, 9)])
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_aspect_ratio_of_three_axes(policy: str, sizes: tuple[int, ...], mode: str) -> None:
    attrs = {"keep_aspect_ratio_policy": policy, "axes": [2, 3, 4], "mode": mode}
    x = normal(1, 2, 4, 5, 3)
    for constants in ((3,), ()):
        Case("Resize", [x, None, None, ints(*sizes)], attrs, 18, constants, reference=True,
             **CLOSE).check()  # fmt: skip


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(0.6, 0.6), (1.7, 0.5), (0.3, 1.0), (2.0, 1.5)])
@pytest.mark.parametrize("form", ["constant", "run time", "symbolic"])
def test_corners_meet_before_rounding(mode: str, scales: tuple[float, float], form: str) -> None:
    """By scales, align_corners has the length that is not rounded down yet, as onnx.reference does."""
    attrs = {"mode": mode, "coordinate_transformation_mode": "align_corners"}
    constants = () if form == "run time" else (2,)
    Case("Resize", [X, None, floats(1, 1, *scales)], attrs, 19, constants, symbolic=form == "symbolic",
         reference=True, **CLOSE).check_native()  # fmt: skip


def test_corners_of_one_element() -> None:
    x = normal(1, 1, 1, 4)
    attrs = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    for constants in ((2,), ()):
        for scales in ((2.5, 0.25), (1.0, 0.3), (3.0, 0.7)):
            Case("Resize", [x, None, floats(1, 1, *scales)], attrs, 19, constants, reference=True,
                 **CLOSE).check()  # fmt: skip


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_crop(mode: str) -> None:
    roi = floats(0, 0, 0.2, 0.1, 1, 1, 0.7, 1.3)
    attrs: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    attrs |= {"mode": mode, "extrapolation_value": 9.0}
    for constants in ((1, 3), (3,)):
        Case("Resize", [X, roi, None, ints(1, 2, 3, 6)], attrs, 13, constants, **CLOSE).check()


@pytest.mark.parametrize("shape", [(1, 2, 5), (1, 2, 4, 5), (1, 2, 3, 4, 3)])
def test_spatial_dims(shape: tuple[int, ...]) -> None:
    scales = floats(1, 1, *[2.0] * (len(shape) - 2))
    inputs = [normal(*shape), None, scales]
    Case("Resize", inputs, {"mode": "linear"}, 13, (2,), reference=True, **CLOSE).check()


def test_a_matrix_and_its_channels() -> None:
    inputs = [normal(4, 5), None, floats(2, 1.5)]
    Case("Resize", inputs, {"mode": "linear"}, 13, (2,), **CLOSE).check()
    Case("Resize", [X, None, None, ints(1, 5, 4, 5)], {}, 13, (3,), reference=True, **CLOSE).check()


# ---- forms of older opsets


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("op", ["Upsample-7", "Upsample-9", "Resize-10"])
@pytest.mark.parametrize("constants", [(1,), ()])
def test_old_forms(mode: str, op: str, constants: tuple[int, ...]) -> None:
    kind, opset = op.split("-")
    if opset == "7":
        case = Case(kind, [X], {"mode": mode, "scales": [1.0, 1.0, 2.0, 3.0]}, 7, **CLOSE)
    else:
        case = Case(kind, [X, floats(1, 1, 2, 3)], {"mode": mode}, int(opset), constants, **CLOSE)
    case.check()


def test_resize_11_with_empty_operands() -> None:
    Case("Resize", [X, EMPTY, EMPTY, ints(1, 2, 8, 7)], {}, 11, (1, 2, 3), reference=True).check()
    Case("Resize", [X, EMPTY, floats(1, 1, 2, 2)], {}, 11, (1, 2)).check()


# ---- what is not known, or wrong


def test_run_time_scales_leave_the_channels_alone() -> None:
    Case("Resize", [X, None, floats(1, 2, 2, 2)], {}, 13).fails(SamaraError, "keeps its size")


def test_sizes_from_another_tensor() -> None:
    model = parse("""g (float[1, 2, h, w] x, float[1, 2, a, b] like) => (float[1, 2, p, q] y) {
        s = Shape(like)  y = Resize<mode = "linear">(x, , , s) }""")
    likes = (normal(1, 2, 7, 9), normal(1, 2, 2, 2))
    program = check(model, *({"x": X, "like": like} for like in likes), **CLOSE)
    assert kinds(program) == ["transpose", "resize", "transpose"]


@pytest.mark.parametrize(
    "inputs", [[X], [X, None, EMPTY], [X, None, floats(1, 1)], [X, None, None, ints(1, 2, 8)]]
)
def test_missing_sizes(inputs: list[Array | None]) -> None:
    Case("Resize", inputs, {}, 13, (2, 3)).refused(ShapeError)
