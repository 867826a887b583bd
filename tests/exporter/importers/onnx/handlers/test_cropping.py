# SPDX-License-Identifier: Apache-2.0
"""CenterCropPad, and Resize of a region that is known at run time only, against onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, agree, ints, native, normal, witness

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError, UnsupportedError


@pytest.mark.parametrize("sizes", [(4, 9), (9, 4), (6, 7), (3, 3), (7, 10), (1, 8)])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("symbolic", [False, True])
def test_center_crop_pad(sizes: tuple[int, int], constant: bool, symbolic: bool) -> None:
    inputs, constants = [normal(6, 7), ints(*sizes)], (1,) if constant else ()
    how: Any = {"symbolic": symbolic, "reference": True}
    Case("CenterCropPad", inputs, {}, 18, constants, **how).check_native()


def test_center_crop_pad_of_some_axes() -> None:
    for axes in ([0, 2], [-3, -1]):
        inputs = [normal(5, 2, 6), ints(8, 3)]
        Case("CenterCropPad", inputs, {"axes": axes}, 18, reference=True).check()
    wrong = Case("CenterCropPad", [normal(5, 2), ints(8, 3)], {"axes": [0]}, 18, (1,))
    wrong.refused(SamaraError, "2 sizes for 1 axes")


X = normal(1, 2, 5, 6)
ROIS = {
    "inside": [0, 0, 0.23, 0.13, 1, 1, 0.77, 0.89],
    "outside": [0, 0, -0.3, 0.5, 1, 1, 0.6, 1.4],
    "flipped": [0, 0, 0.91, 0.13, 1, 1, 0.22, 0.87],
}


def crop(roi: Array, sizes: Array, constants: tuple[int, ...], **attrs: Any) -> Case:
    attrs = {"coordinate_transformation_mode": "tf_crop_and_resize", **attrs}
    return Case("Resize", [X, roi, None, sizes], attrs, 19, constants, reference=True,
                atol=2e-5, rtol=1e-4)  # fmt: skip


SIZES = [(1, 2, 3, 4), (1, 2, 7, 1)]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    ("sizes", "constants"), [(SIZES[:1], (3,)), (SIZES[1:], (3,)), (SIZES, ())]
)
def test_a_region_known_at_run_time(
    mode: str, sizes: list[tuple[int, ...]], constants: tuple[int, ...]
) -> None:
    """One program takes all regions, and all sizes that are no constants."""
    attrs: dict[str, Any] = {"mode": mode, "extrapolation_value": 3.5}
    rois = [np.array(roi, np.float32) for roi in ROIS.values()]
    cases = [(roi, ints(*size)) for size in sizes for roi in rois]
    given = [crop(*case, constants, **attrs) for case in cases]
    program = import_onnx(given[0].model())
    answers = native(program, *(case.feeds() for case in given))
    for case, runtime, by_c in zip(cases, given, answers, strict=True):
        want = witness(runtime.model(), runtime.feeds(), reference=True)
        by_python = program.run(runtime.feeds())
        for got in (by_python, by_c):
            agree(got, want, rtol=1e-4, atol=2e-5)
        # The same as with a constant region.
        fixed = crop(*case, (1, 3), **attrs).run()
        agree(by_python, fixed, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("rule", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_rounding(rule: str) -> None:
    roi = np.array(ROIS["inside"], np.float32)
    attrs = {"mode": "nearest", "nearest_mode": rule}
    crop(roi, ints(1, 2, 4, 4), (3,), **attrs).check()


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_elements_outside_weigh_nothing(mode: str) -> None:
    roi = np.array(ROIS["inside"], np.float32)
    attrs = {"mode": mode, "exclude_outside": 1, "cubic_coeff_a": -0.5}
    runtime, fixed = (crop(roi, ints(1, 2, 4, 7), c, **attrs) for c in ((3,), (1, 3)))
    got, want = (c.run()["y0"] for c in (runtime, fixed))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


def test_some_axes() -> None:
    """roi and sizes follow the axes as they are given."""
    roi = np.array([0.31, 0.23, 0.71, 0.89], np.float32)
    turned = roi[[1, 0, 3, 2]]
    attrs = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}

    def case(axes: list[int], region: Array, *sizes: int) -> Case:
        return Case("Resize", [X, region, None, ints(*sizes)], {**attrs, "axes": axes}, 19,
                    reference=True, atol=2e-5, rtol=1e-4)  # fmt: skip

    case([2, 3], roi, 3, 4).check_native()
    case([3, 2], turned, 4, 3).check_native()
    got, want = case([-1, -2], turned, 4, 3).run(), case([2, 3], roi, 3, 4).run()
    np.testing.assert_allclose(got["y0"], want["y0"], rtol=1e-5, atol=1e-6)


def test_refuses() -> None:
    roi = np.array(ROIS["inside"], np.float32)
    crop(roi[:6], ints(1, 2, 3, 4), (3,), mode="linear").refused(SamaraError, "expected 8 elements")
    with pytest.raises(UnsupportedError, match="antialias"):
        import_onnx(crop(roi, ints(1, 2, 3, 4), (3,), mode="linear", antialias=1).model())
