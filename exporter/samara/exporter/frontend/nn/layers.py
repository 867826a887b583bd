# SPDX-License-Identifier: Apache-2.0
"""Linear, convolution and reshaping layers."""

from __future__ import annotations

import math
from typing import Any

from samara.exporter.frontend import creation
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.functional.channel_order import per_axis
from samara.exporter.frontend.nn.functional.linear import conv, conv_transpose
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError, UnsupportedError


class Identity(Module):
    """Returns its input.

    >>> nn.Identity()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [-2.0, 0.5, 2.0]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(Module):
    """Dimensions `start_dim` to `end_dim` as one.

    >>> nn.Flatten()(samara.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """One dimension as several.

    >>> nn.Unflatten(1, (2, 3))(samara.ones(4, 6)).shape
    (4, 2, 3)
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


class Linear(Module):
    """x [..., in] @ weight [out, in]ᵀ + bias [out].

    >>> nn.Linear(4, 2)(samara.ones(3, 4)).shape
    (3, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        weight = creation.empty(out_features, in_features, dtype=dtype, device=device)
        self.weight = Parameter(weight)
        self.bias = Parameter(creation.empty(out_features, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(max(self.in_features, 1))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1ᵀ weight [out, in1, in2] x2 + bias.

    >>> nn.Bilinear(2, 3, 4)(samara.ones(1, 2), samara.ones(1, 3)).shape
    (1, 4)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place: Any = {"dtype": dtype, "device": device}
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(creation.empty(*shape, **place))
        self.bias = Parameter(creation.empty(out_features, **place)) if bias else None
        bound = 1 / math.sqrt(in1_features)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


class _Conv(Module):
    """Convolution of any number of `spatial` dimensions."""

    spatial = 2
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ShapeError(
                f"{in_channels} and {out_channels} channels cannot be cut into {groups} groups"
            )
        n = self.spatial
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = per_axis(kernel_size, n, "kernel_size")
        self.stride = per_axis(stride, n, "stride")
        self.padding = padding if isinstance(padding, str) else per_axis(padding, n, "padding")
        self.dilation = per_axis(dilation, n, "dilation")
        self.output_padding = per_axis(output_padding, n, "output_padding")
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = out_channels, in_channels
        if self.transposed:
            first, second = second, first
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(creation.empty(*shape, dtype=dtype, device=device))
        self.bias = Parameter(creation.empty(out_channels, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(fan in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(max(init.fan_in_and_out(self.weight)[0], 1))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        x, padding = self._padded(input)
        settings = (self.stride, padding, self.dilation, self.groups)
        return conv(x, self.weight, self.bias, *settings, self.spatial)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        if self.padding not in ((0,) * self.spatial, "valid"):
            text += f", padding={self.padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input with its border unless that is zeros, and the padding left to the operator."""
        if self.padding_mode == "zeros":
            return input, self.padding
        if isinstance(self.padding, str):
            total = [
                d * (k - 1) if self.padding == "same" else 0
                for k, d in zip(self.kernel_size, self.dilation, strict=True)
            ]
            ends = [(t // 2, t - t // 2) for t in total]
        else:
            ends = [(p, p) for p in self.padding]
        flat = [v for pair in reversed(ends) for v in pair]
        return F.pad(input, flat, self.padding_mode), 0


class Conv1d(_Conv):
    """Convolution of [N, C, L].

    >>> nn.Conv1d(3, 16, 3, stride=2, padding=1)(samara.ones(1, 3, 8)).shape
    (1, 16, 4)
    """

    spatial = 1


class Conv2d(_Conv):
    """Convolution of [N, C, H, W].

    >>> nn.Conv2d(3, 16, 3, stride=2, padding=1)(samara.ones(1, 3, 8, 8)).shape
    (1, 16, 4, 4)
    """

    spatial = 2


class Conv3d(_Conv):
    """Convolution of [N, C, D, H, W].

    >>> nn.Conv3d(3, 16, 3, stride=2, padding=1)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 16, 4, 4, 4)
    """

    spatial = 3


class _ConvTranspose(_Conv):
    """Transposed convolution of any number of `spatial` dimensions."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise UnsupportedError("transposed convolutions pad with zeros only")
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            device=device,
            dtype=dtype,
            output_padding=output_padding,
        )

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        more = self._padding_for(input, output_size)
        settings = (self.stride, self.padding, more, self.groups, self.dilation)
        return conv_transpose(input, self.weight, self.bias, *settings, self.spatial)

    def _padding_for(self, input: Tensor, output_size: Any) -> Any:
        """output_padding that gives `output_size` (spatial sizes)."""
        if output_size is None:
            return self.output_padding
        wanted = tuple(output_size)[-self.spatial :]
        pads = per_axis(self.padding, self.spatial, "padding")
        out = []
        for i, size in enumerate(wanted):
            least = (
                (int(input.shape[i - self.spatial]) - 1) * self.stride[i]
                - 2 * pads[i]
                + self.dilation[i] * (self.kernel_size[i] - 1)
                + 1
            )
            if not 0 <= size - least < max(self.stride[i], self.dilation[i]):
                raise ShapeError(f"output_size {size} is out of reach; the smallest is {least}")
            out.append(size - least)
        return tuple(out)


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of [N, C, L].

    >>> nn.ConvTranspose1d(3, 16, 2, stride=2)(samara.ones(1, 3, 8)).shape
    (1, 16, 16)
    """

    spatial = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of [N, C, H, W].

    >>> nn.ConvTranspose2d(3, 16, 2, stride=2)(samara.ones(1, 3, 8, 8)).shape
    (1, 16, 16, 16)
    """

    spatial = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of [N, C, D, H, W].

    >>> nn.ConvTranspose3d(3, 16, 2, stride=2)(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 16, 16, 16, 16)
    """

    spatial = 3
