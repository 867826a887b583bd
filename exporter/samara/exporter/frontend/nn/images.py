# SPDX-License-Identifier: Apache-2.0
"""Layers that rearrange and resize images."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.tensor import Tensor


class PixelShuffle(Module):
    """Channels moved into space: [N, C r², H, W] to [N, C, H r, W r] (`functional.pixel_shuffle`).

    >>> nn.PixelShuffle(2)(samara.ones(1, 12, 4, 4)).shape
    (1, 3, 8, 8)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Space moved into channels (`functional.pixel_unshuffle`).

    >>> nn.PixelUnshuffle(2)(samara.ones(1, 3, 8, 8)).shape
    (1, 12, 4, 4)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)


class Upsample(Module):
    """`functional.interpolate`.

    >>> nn.Upsample(scale_factor=2)(samara.ones(1, 3, 4, 4)).shape
    (1, 3, 8, 8)
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )


class Unfold(Module):
    """Patches of [N, C, H, W] as columns (`functional.unfold`).

    >>> nn.Unfold(2, stride=2)(samara.ones(1, 3, 4, 4)).shape
    (1, 12, 4)
    """

    _shown = ("kernel_size", "stride", "padding")

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Columns of patches added up to [N, C, H, W] (`functional.fold`).

    >>> nn.Fold((4, 4), kernel_size=2, stride=2)(samara.ones(1, 12, 4)).shape
    (1, 3, 4, 4)
    """

    _shown = ("output_size", "kernel_size")

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
