# SPDX-License-Identifier: Apache-2.0
"""Transforms: values, layouts, random ones, and that deterministic ones can be traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.data import transforms as T
from samara.exporter.frontend.random import Generator, manual_seed
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.frontend.trace import trace
from samara.pybridge.errors import SamaraError, ShapeError

RNG = np.random.default_rng(0)
PHOTO = RNG.integers(0, 256, (6, 8, 3), np.uint8)  # [H, W, C]
PLANES = PHOTO.transpose(2, 0, 1)


def test_to_tensor() -> None:
    x = T.ToTensor()(PHOTO)
    assert isinstance(x, Tensor)
    assert np.array_equal(x.numpy(), PLANES.astype(np.float32) / np.float32(255))
    assert T.ToTensor()(PHOTO[:, :, 0]).shape == (1, 6, 8)
    floats = T.ToTensor()(np.full((2, 3, 1), 7, np.float32))
    assert floats.tolist() == [[[7, 7, 7], [7, 7, 7]]]
    with pytest.raises(ShapeError):
        T.ToTensor()(np.zeros(3))


def test_normalize() -> None:
    x = RNG.random((2, 3, 4, 5), np.float32)
    mean, std = (0.5, 0.25, 0.0), (0.5, 2.0, 1.0)
    columns = [np.array(numbers, np.float32)[:, None, None] for numbers in (mean, std)]
    want = (x - columns[0]) / columns[1]
    assert np.array_equal(T.Normalize(mean, std)(from_numpy(x)).numpy(), want)
    with pytest.raises(SamaraError, match="apply ToTensor before"):
        T.Normalize(mean, std)(PHOTO)
    for bad in (((0,), (1, 2)), ((0,), (0,))):
        with pytest.raises(SamaraError, match="one number per channel"):
            T.Normalize(*bad)


def test_arrays_stay_arrays_in_their_layout() -> None:
    crop = T.CenterCrop((2, 4))
    assert np.array_equal(crop(PHOTO), PHOTO[2:4, 2:6])
    assert np.array_equal(crop(PHOTO[:, :, 0]), PHOTO[2:4, 2:6, 0])
    assert np.array_equal(crop(from_numpy(PLANES.copy())).numpy(), PLANES[:, 2:4, 2:6])
    with pytest.raises(ShapeError):
        crop(np.zeros((1, 2, 3, 4)))
    with pytest.raises(ShapeError):
        crop(from_numpy(np.zeros((3, 4))))


def test_crops_of_odd_and_small_images() -> None:
    # round((7 - 4) / 2) is 2, round((5 - 4) / 2) is 0: halves go to even, as in torchvision.
    x = np.arange(35).reshape(1, 7, 5)
    assert np.array_equal(T.CenterCrop(4)(from_numpy(x)).numpy(), x[:, 2:6, 0:4])
    small = T.CenterCrop(4)(from_numpy(np.ones((1, 1, 3), np.float32))).numpy()
    want = np.zeros((1, 4, 4))
    want[0, 1, :3] = 1
    assert np.array_equal(small, want)


def test_padding() -> None:
    x = from_numpy(np.ones((1, 1, 2), np.float32))
    assert T.Pad(1)(x).shape == (1, 3, 4)
    assert T.Pad((1, 2))(x).shape == (1, 5, 4)
    out = T.Pad((1, 0, 0, 2), fill=3)(x).numpy()
    assert out.tolist() == [[[3, 1, 1], [3, 3, 3], [3, 3, 3]]]
    edge = T.Pad((2, 0), padding_mode="edge")(from_numpy(np.array([[[1, 2]]])))
    assert edge.tolist() == [[[1, 1, 1, 2, 2, 2]]]
    with pytest.raises(SamaraError, match="1, 2 or 4"):
        T.Pad((1, 2, 3))


def test_resize() -> None:
    x = from_numpy(np.arange(16, dtype=np.float32).reshape(1, 4, 4))
    # Half a size with antialias: a triangle over four pixels, cut at the border.
    assert T.Resize(2, antialias=False)(x).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    w = np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7
    want = w @ x.numpy()[0] @ w.T
    assert np.allclose(T.Resize((2, 2))(x).numpy()[0], want, atol=1e-5)
    assert T.Resize((2, 2), "nearest")(x).tolist() == [[[0, 2], [8, 10]]]
    assert T.Resize(3)(PHOTO).shape == (3, 4, 3)
    assert T.Resize([4])(PHOTO.transpose(1, 0, 2)).shape == (5, 4, 3)
    assert T.Resize((6, 8))(PHOTO).dtype == np.uint8
    assert np.array_equal(T.Resize((6, 8))(PHOTO), PHOTO)
    batch = from_numpy(RNG.random((2, 5, 3, 6, 8), np.float32))
    assert T.Resize((3, 3), "bicubic")(batch).shape == (2, 5, 3, 3, 3)
    sharp = np.zeros((4, 4), np.uint8)
    sharp[1:3] = 255
    assert T.Resize((9, 9), "bicubic")(sharp).max() == 255  # overshoot is clipped, not wrapped
    with pytest.raises(SamaraError, match="interpolation"):
        T.Resize(3, "lanczos")


def test_colours() -> None:
    x = from_numpy(np.array([1.0, 0.5, 0.25], np.float32).reshape(3, 1, 1))
    assert T.Grayscale()(x).item() == pytest.approx(0.2989 + 0.587 / 2 + 0.114 / 4, rel=1e-6)
    assert T.Grayscale(3)(PHOTO).shape == PHOTO.shape
    assert T.ConvertImageDtype()(PHOTO).max() <= 1
    assert T.ConvertImageDtype(np.float16)(x).dtype == np.float16
    with pytest.raises(ShapeError, match="3 channels"):
        T.Grayscale()(x[:2])
    for bad in (lambda: T.Grayscale(2), lambda: T.ConvertImageDtype(np.int8)):
        with pytest.raises(SamaraError):
            bad()


def test_random_ones_repeat_from_a_seed() -> None:
    pipeline = T.Compose(
        [
            T.RandomCrop(4, padding=1),
            T.RandomHorizontalFlip(),
            T.RandomVerticalFlip(),
            T.RandomApply([T.Lambda(np.negative)], 0.5),
        ]
    )
    manual_seed(1)
    first = [pipeline(PHOTO) for _ in range(20)]
    manual_seed(1)
    assert all(np.array_equal(a, pipeline(PHOTO)) for a in first)
    assert len({a.tobytes() for a in first}) > 15


def test_what_random_ones_do() -> None:
    own = Generator(0)
    assert np.array_equal(T.RandomHorizontalFlip(1.0)(PHOTO), PHOTO[:, ::-1])
    assert np.array_equal(T.RandomVerticalFlip(1.0)(PHOTO), PHOTO[::-1])
    assert T.RandomHorizontalFlip(0.0)(PHOTO) is PHOTO
    corners = {tuple(T.RandomCrop((5, 7), generator=own)(PHOTO)[0, 0]) for _ in range(60)}
    assert corners == {tuple(PHOTO[y, x]) for y in range(2) for x in range(2)}
    assert T.RandomCrop(10, pad_if_needed=True)(PHOTO).shape == (10, 10, 3)
    with pytest.raises(ShapeError, match="pad_if_needed"):
        T.RandomCrop(7)(PHOTO)


@pytest.mark.parametrize(
    ("transform", "example"),
    [
        (T.Compose([T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)]), PHOTO),
        (T.Compose([T.Resize((3, 4)), T.CenterCrop(2)]), PLANES[None].astype(np.float32)),
        (T.Compose([T.Grayscale(3), T.Pad(1, fill=2)]), PLANES.astype(np.float32)),
        (T.Resize((9, 9), "nearest", antialias=False), PLANES.copy()),
    ],
)
def test_deterministic_ones_can_be_traced(transform: Any, example: Any) -> None:
    other = RNG.permuted(example)
    program = trace(transform, (from_numpy(np.ascontiguousarray(example)),))
    (name,) = (value.name for value in program.main.inputs)
    (got,) = program.run({name: other}).values()
    want = transform(from_numpy(other)).numpy()
    assert got.dtype == want.dtype
    assert np.allclose(got, want, atol=1e-6)
