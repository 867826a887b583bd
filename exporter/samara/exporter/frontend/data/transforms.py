# SPDX-License-Identifier: Apache-2.0
"""Transforms of images: the deterministic ones can be traced into the exported program.

An image is a tensor [..., C, H, W], or an array [H, W, C] or [H, W] as the readers give it, which
stays an array. Names and meanings are torchvision's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.data.from_record import FromRecord
from samara.exporter.frontend.operands import cast, is_tensor
from samara.exporter.frontend.random import Generator, generator_of
from samara.exporter.frontend.tensor import wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "FromRecord",
    "Grayscale",
    "Lambda",
    "Normalize",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Resize",
    "ToTensor",
]

Size = int | Sequence[int]
_MODES: Final = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}
_LUMA: Final = (0.2989, 0.587, 0.114)  # ITU-R BT.601, rounded as torchvision has it


class Compose:
    """One transform after another."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image


class Lambda:
    """Any function as a transform. Workers need one that can be pickled, so no `lambda`."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)


class ToTensor:
    """[H, W, C] or [H, W] as a tensor [C, H, W]; uint8 becomes float32 of 0..1.

    A tensor may have that layout too, so that a program can begin with the bytes of a camera.
    """

    def __call__(self, image: Any) -> Any:
        x = image if is_tensor(image) else wrap(np.ascontiguousarray(image))
        if len(x.shape) == 2:
            x = x.unsqueeze(-1)
        if len(x.shape) != 3:
            raise ShapeError(f"an image [H, W] or [H, W, C] is expected, the shape is {x.shape}")
        x = x.permute(2, 0, 1)
        return _unit(x) if x.dtype == dtypes.uint8 else x.contiguous()


class ConvertImageDtype:
    """uint8 of 0..255 as floats of 0..1; floats in another float dtype."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)
        if self.dtype.kind != "f":
            raise ArgumentError(f"images are converted to floats, not to {self.dtype.name}")

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._convert)

    def _convert(self, x: Any) -> Any:
        return cast(_unit(x) if x.dtype == dtypes.uint8 else x, self.dtype)


class Normalize:
    """(x - mean) / std, each with one number per channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        if len(mean) != len(std) or not all(std):
            raise ArgumentError("mean and std have one number per channel, std no zeros")
        self.mean = tuple(mean)
        self.std = tuple(std)
        self.inplace = inplace  # no effect: the result is always new

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._normalize)

    def _normalize(self, x: Any) -> Any:
        if x.dtype.kind != "f":
            raise ArgumentError(
                f"Normalize needs floats, the image is {x.dtype.name}", fix="apply ToTensor before"
            )
        mean, std = (
            wrap(np.array(numbers, x.dtype).reshape(-1, 1, 1)) for numbers in (self.mean, self.std)
        )
        return (x - mean) / std


class Resize:
    """To `size`: (height, width), or the length of the shorter side.

    interpolation: "nearest", "bilinear" or "bicubic". antialias: widen the filter if the image shrinks, so that
    every pixel counts. uint8 is rounded and clipped.
    """

    def __init__(self, size: Size, interpolation: str = "bilinear", antialias: bool = True) -> None:
        if interpolation not in _MODES:
            raise ArgumentError(f"interpolation is {interpolation!r}, expected {list(_MODES)}")
        self.size = size
        self.interpolation = interpolation
        self.antialias = antialias and interpolation != "nearest"

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._resize)

    def _sizes(self, x: Any) -> tuple[Any, Any]:
        if not isinstance(self.size, int) and len(self.size) == 2:
            return self.size[0], self.size[1]
        short = self.size if isinstance(self.size, int) else self.size[0]
        height, width = x.shape[-2:]
        if height < width:
            return short, int(short * width / height)
        return int(short * height / width), short

    def _resize(self, x: Any) -> Any:
        sizes = self._sizes(x)
        smooth = self.interpolation != "nearest"
        lead = tuple(x.shape[:-3])
        wide = cast(x, dtypes.float32) if smooth and x.dtype.kind != "f" else x
        rows = wide.reshape(-1, *wide.shape[-3:]) if lead else wide.unsqueeze(0)
        y = ops.resize(
            rows.permute(0, 2, 3, 1),
            sizes=sizes,
            scales=(0, 0),
            mode=_MODES[self.interpolation],
            coordinate="half_pixel" if smooth else "asymmetric",
            nearest="floor",
            antialias=self.antialias,
            exclude_outside=self.antialias,
            cubic_a=-0.5 if self.antialias else -0.75,
        ).permute(0, 3, 1, 2)
        y = y.reshape(*lead, *y.shape[-3:]) if lead else y.squeeze(0)
        return cast(y.round().clamp(0, 255), x.dtype) if wide is not x else y


class Pad:
    """Add rows and columns: one number, (left and right, top and bottom) or (left, top, right, bottom), filled
    with `fill`, or by `padding_mode` "edge" or "reflect".
    """

    def __init__(self, padding: Size, fill: float = 0, padding_mode: str = "constant") -> None:
        numbers = [padding] if isinstance(padding, int) else list(padding)
        if len(numbers) not in (1, 2, 4) or any(n < 0 for n in numbers):
            raise ArgumentError(f"padding is 1, 2 or 4 numbers of at least 0, given: {numbers}")
        self.sides = (numbers * 4)[:4]  # left, top, right, bottom
        self.fill = fill
        self.padding_mode = padding_mode

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._pad)

    def _pad(self, x: Any) -> Any:
        return _padded(x, self.sides, self.fill, self.padding_mode)


class CenterCrop:
    """The middle of an image; a smaller image is padded with zeros first."""

    def __init__(self, size: Size) -> None:
        self.size = _pair(size)

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._crop)

    def _crop(self, x: Any) -> Any:
        height, width = self.size
        down, right = max(height - x.shape[-2], 0), max(width - x.shape[-1], 0)
        if down or right:
            sides = (right // 2, down // 2, (right + 1) // 2, (down + 1) // 2)
            x = _padded(x, sides, 0, "constant")
        top, left = round((x.shape[-2] - height) / 2), round((x.shape[-1] - width) / 2)
        return x[..., top : top + height, left : left + width]


class Grayscale:
    """Red, green and blue as brightness, in one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise ArgumentError(f"num_output_channels is {num_output_channels}, expected 1 or 3")
        self.num_output_channels = num_output_channels

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._gray)

    def _gray(self, x: Any) -> Any:
        if x.shape[-3] != 3:
            raise ShapeError(f"Grayscale needs 3 channels, the image has {x.shape[-3]}")
        r, g, b = (cast(x[..., i : i + 1, :, :], dtypes.float32) for i in range(3))
        y = r * _LUMA[0] + g * _LUMA[1] + b * _LUMA[2]
        y = cast(y.floor() if x.dtype.kind != "f" else y, x.dtype)
        return y if self.num_output_channels == 1 else y.expand(*y.shape[:-3], 3, *y.shape[-2:])


# ---- random transforms: their numbers come from Python, so a trace would freeze them ----


class RandomApply:
    """Transforms that are applied together, with probability `p`."""

    def __init__(
        self,
        transforms: Sequence[Callable[[Any], Any]],
        p: float = 0.5,
        generator: Generator | None = None,
    ) -> None:
        self.transforms = Compose(transforms)
        self.p = p
        self.generator = generator

    def __call__(self, image: Any) -> Any:
        return self.transforms(image) if _chance(self.p, self.generator) else image


class _RandomFlip:
    _axis: int

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        self.p = p
        self.generator = generator

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._flip) if _chance(self.p, self.generator) else image

    def _flip(self, x: Any) -> Any:
        return x.flip(self._axis)


class RandomHorizontalFlip(_RandomFlip):
    """Left and right exchanged, with probability `p`."""

    _axis = -1


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom exchanged, with probability `p`."""

    _axis = -2


class RandomCrop:
    """A part of `size` anywhere in the image, which is first padded as by `Pad`.

    Raises ShapeError if the image is smaller, unless `pad_if_needed`.
    """

    def __init__(
        self,
        size: Size,
        padding: Size | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
        generator: Generator | None = None,
    ) -> None:
        self.size = _pair(size)
        self.padding = None if padding is None else Pad(padding, fill, padding_mode)
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode
        self.generator = generator

    def __call__(self, image: Any) -> Any:
        return _on_tensor(image, self._crop)

    def _crop(self, x: Any) -> Any:
        height, width = self.size
        if self.padding is not None:
            x = self.padding._pad(x)
        down, right = max(height - x.shape[-2], 0), max(width - x.shape[-1], 0)
        if self.pad_if_needed and (down or right):
            x = _padded(x, (right, down, right, down), self.fill, self.padding_mode)
        rows, columns = x.shape[-2] - height, x.shape[-1] - width
        if rows < 0 or columns < 0:
            raise ShapeError(
                f"a crop of {height}x{width} needs a larger image than {list(x.shape[-2:])}",
                fix="pass pad_if_needed=True",
            )
        numbers = generator_of(self.generator)
        top = int(numbers.integers(0, rows + 1, ()))
        left = int(numbers.integers(0, columns + 1, ()))
        return x[..., top : top + height, left : left + width]


# ---- shared ----


def _on_tensor(image: Any, f: Callable[[Any], Any]) -> Any:
    """Apply `f` to a tensor [..., C, H, W]; an array [H, W, C] or [H, W] is converted and converted back."""
    if is_tensor(image):
        if len(image.shape) < 3:
            raise ShapeError(f"an image [..., C, H, W] is expected, the shape is {image.shape}")
        return f(image)
    array = np.asarray(image)
    if array.ndim not in (2, 3):
        raise ShapeError(f"an image [H, W] or [H, W, C] is expected, the shape is {array.shape}")
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    out = f(wrap(np.ascontiguousarray(planes))).numpy()
    return (
        out[0]
        if array.ndim == 2 and len(out) == 1
        else np.ascontiguousarray(out.transpose(1, 2, 0))
    )


def _unit(x: Any) -> Any:
    return cast(x, dtypes.float32) / 255.0


def _padded(x: Any, sides: Sequence[int], fill: float, mode: str) -> Any:
    """sides: left, top, right, bottom."""
    left, top, right, bottom = sides
    lead = (0,) * (len(x.shape) - 2)
    pads = (*lead, top, left, *lead, bottom, right)
    if mode != "constant" or fill == 0:
        return ops.pad(x, pads=pads, mode=mode)
    return ops.pad(x, wrap(np.array(fill, x.dtype)), pads=pads, mode=mode)


def _pair(size: Size) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    return (size[0], size[0]) if len(size) == 1 else (size[0], size[1])


def _chance(p: float, generator: Generator | None) -> bool:
    return float(generator_of(generator).uniform(())) < p
