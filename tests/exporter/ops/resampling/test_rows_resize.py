# SPDX-License-Identifier: Apache-2.0
"""Known answers of resize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import ShapeError, TensorType, f32_bits


def line(*values: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(values, dtype).reshape(1, -1, 1)


def resized(x: np.ndarray, size: int, scale: float = 0.0, **attrs: Any) -> list[float]:
    bits = f32_bits(scale) if scale else 0
    got: list[float] = ops.resize(x, sizes=(size,), scales=(bits,), **attrs).ravel().tolist()
    return got


def test_nearest() -> None:
    assert resized(line(1, 2), 4) == [1, 1, 2, 2]
    assert resized(line(1, 2, 3, 4), 2) == [1, 3]
    assert resized(line(1, 2, 3, 4), 2, nearest="round_prefer_ceil") == [2, 4]
    assert resized(line(1, 2, 3), 6, coordinate="asymmetric", nearest="ceil") == [1, 2, 2, 3, 3, 3]
    assert resized(line(1, 2, dtype=np.uint8), 3) == [1, 1, 2]


def test_linear() -> None:
    assert resized(line(0, 4), 4, mode="linear") == [0, 1, 3, 4]
    assert resized(line(0, 4), 3, mode="linear", coordinate="align_corners") == [0, 2, 4]
    assert resized(line(0, 4, 8), 6, mode="linear", coordinate="asymmetric") == [0, 2, 4, 6, 8, 8]
    # Halving with antialias averages with weights 1 3 3 1 instead of two neighbours.
    smooth = resized(line(0, 0, 8, 0, 0, 0, 0, 0), 4, mode="linear", antialias=True)
    assert smooth == [1, 3, 0, 0]


def test_scale_differs_from_the_ratio() -> None:
    # floor(3 * 0.9) = 2; sample positions follow the scale 0.9, not 2/3.
    got = resized(line(0, 1, 2), 2, 0.9, mode="linear")
    assert got == pytest.approx([0.5 / 0.9 - 0.5, 1.5 / 0.9 - 0.5], rel=1e-6)


def test_cubic_keeps_a_line() -> None:
    got = resized(line(*range(8)), 16, mode="cubic", cubic_a=-0.5)
    np.testing.assert_allclose(np.diff(got)[4:11], 0.5, rtol=1e-6)
    whole = resized(line(1, 5, 2), 3, mode="cubic")
    assert whole == [1, 5, 2]


def test_crop_extrapolates() -> None:
    attrs: dict[str, Any] = {"coordinate": "tf_crop_and_resize", "extrapolation": -1.0}
    got = resized(line(0, 1, 2), 3, mode="linear", roi=(0.5, 1.5), **attrs)
    assert got == [1, 2, -1]


def test_integers_are_not_interpolated() -> None:
    attrs = ops.resize.complete({"sizes": (4,), "scales": (0,), "mode": "linear"})
    ctx = InferContext(ops.resize, [TensorType.of("u8", (1, 2, 1))], attrs)
    with pytest.raises(ShapeError, match="mode nearest only"):
        ops.resize.infer(ctx)


def test_the_gradient_gives_back_what_was_repeated() -> None:
    dy = line(1, 2, 3, 4, 5, 6)
    assert ops.resize_grad(dy, size=(2,), scales=(0,)).ravel().tolist() == [6, 15]
    assert ops.resize_grad(line(5), size=(3,), scales=(0,)).ravel().tolist() == [0, 5, 0]


@pytest.mark.parametrize("size", [(8, 10), (3, 4), (7, 12)])
@pytest.mark.parametrize(
    ("mode", "how", "attrs"),
    [
        ("nearest", {}, {"coordinate": "asymmetric", "nearest": "floor"}),
        ("bilinear", {}, {"mode": "linear"}),
        ("bilinear", {"align_corners": True}, {"mode": "linear", "coordinate": "align_corners"}),
        ("bilinear", {"antialias": True}, {"mode": "linear", "exclude_outside": True}),
        ("bicubic", {}, {"mode": "cubic"}),
        ("bicubic", {"antialias": True}, {"mode": "cubic", "exclude_outside": True}),
    ],
)
def test_like_interpolate(
    mode: str, how: dict[str, Any], attrs: dict[str, Any], size: tuple[int, int]
) -> None:
    """PyTorch's interpolate, and its gradient."""
    torch = pytest.importorskip("torch")
    attrs = {"scales": (0, 0), "antialias": "antialias" in how, **attrs}
    if mode == "bicubic" and "antialias" in how:
        attrs["cubic_a"] = -0.5
    rng = np.random.default_rng(sum(size))
    x = rng.normal(size=(2, 3, 5, 6))
    tx = torch.tensor(x, requires_grad=True)
    theirs = torch.nn.functional.interpolate(tx, size=size, mode=mode, **how)
    dy = rng.normal(size=theirs.shape)
    theirs.backward(torch.tensor(dy))
    y = ops.resize(np.moveaxis(x, 1, -1), sizes=size, **attrs)
    dx = ops.resize_grad(np.moveaxis(dy, 1, -1), size=(5, 6), **attrs)
    np.testing.assert_allclose(np.moveaxis(y, -1, 1), theirs.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(np.moveaxis(dx, -1, 1), tx.grad.numpy(), atol=1e-12)
