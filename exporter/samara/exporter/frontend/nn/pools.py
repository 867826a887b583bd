# SPDX-License-Identifier: Apache-2.0
"""Pooling and padding layers."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import UnsupportedError


def _values_only(return_indices: bool) -> None:
    if return_indices:
        raise UnsupportedError(
            "return_indices is not available", fix="use unfold and max over a dimension"
        )


class _MaxPool(Module):
    """Settings of the max pools."""

    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        _values_only(return_indices)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.ceil_mode = ceil_mode

    def _settings(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode


class MaxPool1d(_MaxPool):
    """`functional.max_pool1d`.

    >>> nn.MaxPool1d(3, stride=2, padding=1)(samara.ones(1, 3, 8)).shape
    (1, 3, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool1d(input, *self._settings())


class MaxPool2d(_MaxPool):
    """`functional.max_pool2d`.

    >>> nn.MaxPool2d(3, stride=2, padding=1)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, *self._settings())


class MaxPool3d(_MaxPool):
    """`functional.max_pool3d`.

    >>> nn.MaxPool3d(3, stride=2, padding=1)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 4, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool3d(input, *self._settings())


class _AvgPool(Module):
    """Settings of the average pools."""

    _shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _settings(self) -> tuple[Any, ...]:
        window = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return (*window, self.count_include_pad, self.divisor_override)


class AvgPool1d(_AvgPool):
    """`functional.avg_pool1d`.

    >>> nn.AvgPool1d(2)(samara.ones(1, 3, 8)).shape
    (1, 3, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, *self._settings())


class AvgPool2d(_AvgPool):
    """`functional.avg_pool2d`.

    >>> nn.AvgPool2d(2)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._settings())


class AvgPool3d(_AvgPool):
    """`functional.avg_pool3d`.

    >>> nn.AvgPool3d(2)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 4, 4, 4)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._settings())


class _Adaptive(Module):
    """The setting of the adaptive pools."""

    _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_Adaptive):
    """`functional.adaptive_avg_pool1d`.

    >>> nn.AdaptiveAvgPool1d(2)(samara.ones(1, 3, 8)).shape
    (1, 3, 2)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """`functional.adaptive_avg_pool2d`.

    >>> nn.AdaptiveAvgPool2d(2)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 2, 2)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """`functional.adaptive_avg_pool3d`.

    >>> nn.AdaptiveAvgPool3d(2)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 2, 2, 2)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    """Adaptive max pools, which give values only."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        _values_only(return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """`functional.adaptive_max_pool1d`.

    >>> nn.AdaptiveMaxPool1d(2)(samara.ones(1, 3, 8)).shape
    (1, 3, 2)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """`functional.adaptive_max_pool2d`.

    >>> nn.AdaptiveMaxPool2d(2)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 2, 2)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """`functional.adaptive_max_pool3d`.

    >>> nn.AdaptiveMaxPool3d(2)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 2, 2, 2)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(input, self.output_size)


class _Pad(Module):
    """A border of `padding` elements: one number, or pairs from the last dimension backwards."""

    spatial = 2
    mode = "constant"

    def __init__(self, padding: Any, value: float = 0.0) -> None:
        super().__init__()
        n = 2 * self.spatial
        self.padding = (padding,) * n if isinstance(padding, int) else tuple(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Pad):
    """Zeros around the last dimension.

    >>> nn.ZeroPad1d(1)(samara.ones(1, 3, 8)).shape
    (1, 3, 10)
    """

    spatial = 1


class ZeroPad2d(_Pad):
    """Zeros around the last 2 dimensions.

    >>> nn.ZeroPad2d(1)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 10, 10)
    """

    spatial = 2


class ZeroPad3d(_Pad):
    """Zeros around the last 3 dimensions.

    >>> nn.ZeroPad3d(1)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 10, 10, 10)
    """

    spatial = 3


class ConstantPad1d(_Pad):
    """A value around the last dimension.

    >>> nn.ConstantPad1d(1, 0.5)(samara.ones(1, 3, 8)).shape
    (1, 3, 10)
    """

    spatial = 1


class ConstantPad2d(_Pad):
    """A value around the last 2 dimensions.

    >>> nn.ConstantPad2d(1, 0.5)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 10, 10)
    """

    spatial = 2


class ConstantPad3d(_Pad):
    """A value around the last 3 dimensions.

    >>> nn.ConstantPad3d(1, 0.5)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 10, 10, 10)
    """

    spatial = 3


class ReflectionPad1d(_Pad):
    """A mirror image of the inside around the last dimension.

    >>> nn.ReflectionPad1d(1)(samara.ones(1, 3, 8)).shape
    (1, 3, 10)
    """

    spatial = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """A mirror image of the inside around the last 2 dimensions.

    >>> nn.ReflectionPad2d(1)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 10, 10)
    """

    spatial = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """A mirror image of the inside around the last 3 dimensions.

    >>> nn.ReflectionPad3d(1)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 10, 10, 10)
    """

    spatial = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """The edge repeated around the last dimension.

    >>> nn.ReplicationPad1d(1)(samara.ones(1, 3, 8)).shape
    (1, 3, 10)
    """

    spatial = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """The edge repeated around the last 2 dimensions.

    >>> nn.ReplicationPad2d(1)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 10, 10)
    """

    spatial = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """The edge repeated around the last 3 dimensions.

    >>> nn.ReplicationPad3d(1)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 10, 10, 10)
    """

    spatial = 3
    mode = "replicate"


class CircularPad1d(_Pad):
    """Elements of the opposite side around the last dimension.

    >>> nn.CircularPad1d(1)(samara.ones(1, 3, 8)).shape
    (1, 3, 10)
    """

    spatial = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """Elements of the opposite side around the last 2 dimensions.

    >>> nn.CircularPad2d(1)(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 10, 10)
    """

    spatial = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """Elements of the opposite side around the last 3 dimensions.

    >>> nn.CircularPad3d(1)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 10, 10, 10)
    """

    spatial = 3
    mode = "circular"
