# SPDX-License-Identifier: Apache-2.0
"""Removed operators: onnxruntime still runs most of them, arithmetic says the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import Array, Case, agree, answer, built, ints, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError

CLOSE: Any = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.parametrize("symbolic", [False, True])
def test_image_scaler(symbolic: bool) -> None:
    attrs = {"bias": [0.5, -1.0, 2.0], "scale": 0.25}
    x = normal(2, 3, 4, 5)
    case = Case("ImageScaler", [x], attrs, 8, **CLOSE)
    if not symbolic:
        case.check_native()
        return
    program = import_onnx(case.model(), shapes={"x0": ("n", 3, "h", "w")})
    bias = np.array(attrs["bias"], np.float32).reshape(-1, 1, 1)
    agree(program.run({"x0": x}), {"y0": x * np.float32(0.25) + bias})


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Affine", {"alpha": 0.5, "beta": -1.25}),
        ("ParametricSoftplus", {"alpha": 0.5, "beta": 2.0}),
        ("ScaledTanh", {"alpha": 1.5, "beta": 0.25}),
    ],
)
def test_elementwise(op: str, attrs: dict[str, float]) -> None:
    Case(op, [normal(3, 5)], attrs, 8, **CLOSE).check_native()


@pytest.mark.parametrize(
    "attrs",
    [
        {"border": [1, 2, 3, 0]},
        {"border": [1, 0, 0, 0], "scale": [3, 4]},
        {"border": [0, 0, 0, 0]},
    ],
)
def test_crop(attrs: dict[str, list[int]]) -> None:
    x = normal(2, 3, 6, 7)
    Case("Crop", [x], attrs, 8).check_native()
    Case("Crop", [x], attrs, 8, symbolic=True).check_native()


def test_crop_of_more_than_there_is() -> None:
    for attrs in (
        {"border": [4, 0, 3, 0]},
        {"border": [0, 0, 0, 0], "scale": [7, 1]},
        {"border": [1, 2]},
    ):
        Case("Crop", [normal(1, 1, 6, 7)], attrs, 8).refused(ShapeError)
    Case("ImageScaler", [normal(1, 3, 2, 2)], {"bias": [1.0]}, 8).refused(ShapeError, "bias")


def run(op: str, *inputs: Array, **attrs: Any) -> Array:
    """By both runtimes of ours, which agree."""
    case = Case(op, list(inputs), attrs, 8)
    return np.asarray(answer(case.model(), case.feeds())["y0"])


def test_scale() -> None:
    x = normal(3, 4)
    np.testing.assert_array_equal(run("Scale", x, scale=3.0), x * np.float32(3))


def test_given_tensor_fill() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    forms: list[tuple[Array, dict[str, Any], tuple[int, int]]] = [
        (normal(2, 3), {}, (2, 3)),
        (normal(2), {"extra_shape": [3]}, (2, 3)),
        (ints(3, 2), {"input_as_shape": 1}, (3, 2)),
    ]
    for x, attrs, shape in forms:
        got = run("GivenTensorFill", x, values=values, **attrs)
        np.testing.assert_array_equal(got, np.array(values, np.float32).reshape(shape))


def test_given_tensor_fill_alone() -> None:
    node = oh.make_node("GivenTensorFill", [], ["y"], values=[1.0, 2.0], shape=[2, 1])
    model = built([node], {}, ["y"], opset=8, ir_version=8)
    np.testing.assert_array_equal(import_onnx(model).run({})["y"], [[1.0], [2.0]])
