# SPDX-License-Identifier: Apache-2.0
"""Known answers of grid_sample, and comparison with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import ShapeError, TensorType


def row(*values: float) -> np.ndarray:
    """One row of pixels of one channel."""
    return np.array(values, np.float32).reshape(1, 1, -1, 1)


def at(x: np.ndarray, *points: float, **how: Any) -> list[float]:
    """Samples of an image row at these coordinates."""
    grid = np.array([[v, 0] for v in points], np.float32).reshape(1, 1, -1, 2)
    got: list[float] = ops.grid_sample(x, grid, **how).ravel().tolist()
    return got


def test_linear() -> None:
    x = row(1, 2, 4)
    assert at(x, -1, -0.5, 0, 1, align_corners=True) == [1, 1.5, 2, 4]
    assert at(x, -2 / 3, 0, -1) == pytest.approx([1, 2, 0.5])
    assert at(x, -1, 1, 5, padding="border") == [1, 4, 4]


def test_nearest_and_beyond() -> None:
    x = row(1, 2, 4)
    how: dict[str, Any] = {"mode": "nearest", "align_corners": True}
    assert at(x, -0.5, 0.5, 2, **how) == [1, 4, 0]  # halves to even
    assert at(x, 2, -2, padding="reflection", **how) == [2, 2]
    assert at(x, float("nan"), **how) == [0]


def test_cubic() -> None:
    x = row(*range(8))
    how: dict[str, Any] = {"mode": "cubic", "align_corners": True}
    assert at(x, -3 / 7, 0, **how) == pytest.approx([2, 3.5])  # at an element, and between two
    assert at(row(3, 3, 3, 3, 3), 0.1, 0.3, **how) == pytest.approx([3, 3])
    assert at(row(1, 1), 1, 1.5, **how) == pytest.approx([1, 0.87890625 - 0.10546875])


@pytest.mark.parametrize("spatial", [(5, 6), (3, 4, 5), (1, 4)])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_like_pytorch(mode: str, padding: str, align: bool, spatial: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    if mode == "cubic" and len(spatial) == 3:
        pytest.skip(
            "PyTorch has no cubic sampling of volumes; onnx.reference is asked by the importer's tests"
        )
    rng = np.random.default_rng(len(mode) + len(padding))
    x = rng.normal(size=(2, 3, *spatial))
    grid = rng.uniform(-2.2, 2.2, (2, *[4] * len(spatial), len(spatial)))
    tx, tgrid = (torch.tensor(v, requires_grad=True) for v in (x, grid))
    theirs = torch.nn.functional.grid_sample(
        tx,
        tgrid,
        mode={"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode),
        padding_mode=padding,
        align_corners=align,
    )
    dy = rng.normal(size=theirs.shape)
    theirs.backward(torch.tensor(dy))
    how: Any = {"mode": mode, "padding": padding, "align_corners": align}
    x, dy = np.moveaxis(x, 1, -1), np.moveaxis(dy, 1, -1)
    dx, dgrid = ops.grid_sample_grad(dy, x, grid, **how)
    close: Any = {"rtol": 1e-10, "atol": 1e-12}
    y = np.moveaxis(ops.grid_sample(x, grid, **how), -1, 1)
    np.testing.assert_allclose(y, theirs.detach().numpy(), **close)
    np.testing.assert_allclose(np.moveaxis(dx, -1, 1), tx.grad.numpy(), **close)
    np.testing.assert_allclose(dgrid, tgrid.grad.numpy(), **close)


def test_refusals() -> None:
    def refusal(x: tuple[int, ...], grid: tuple[int, ...], **how: Any) -> str:
        types = [TensorType.of("f32", x), TensorType.of("f32", grid)]
        op = ops.grid_sample
        with pytest.raises(ShapeError) as caught:
            op.infer(InferContext(op, types, op.complete(how)))
        return str(caught.value)

    assert "must not be empty" in refusal((1, 0, 2, 1), (1, 2, 2, 2))
    assert "grid" in refusal((2, 3, 3, 1), (1, 2, 2, 2))
    assert "grid" in refusal((1, 3, 3, 1), (1, 2, 2, 3))
