# SPDX-License-Identifier: Apache-2.0
"""Pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.nn.functional.channel_order import (
    batched,
    both_ends,
    channels_first,
    channels_last,
    per_axis,
)
from samara.exporter.frontend.operands import plain_size
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ceildiv, dlt, dmax
from samara.pybridge.errors import ShapeError, UnsupportedError


def _pool(n: int, kind: str) -> Callable[..., Tensor]:
    if kind == "max":

        def max_pool(
            input: Tensor,
            kernel_size: Any,
            stride: Any = None,
            padding: Any = 0,
            dilation: Any = 1,
            ceil_mode: bool = False,
            return_indices: bool = False,
        ) -> Tensor:
            if return_indices:
                raise UnsupportedError(
                    "return_indices is not available", fix="use unfold and max over a dimension"
                )
            return _max(input, kernel_size, stride, padding, dilation, ceil_mode, n)

        max_pool.__doc__ = f"The largest element under a window of {n} spatial dimensions."
        max_pool.__name__ = f"max_pool{n}d"
        return max_pool

    def avg_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _avg(
            input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, n
        )

    avg_pool.__doc__ = f"The mean under a window of {n} spatial dimensions."
    avg_pool.__name__ = f"avg_pool{n}d"
    return avg_pool


max_pool1d = _pool(1, "max")
max_pool2d = _pool(2, "max")
max_pool3d = _pool(3, "max")
avg_pool1d = _pool(1, "avg")
avg_pool2d = _pool(2, "avg")
avg_pool3d = _pool(3, "avg")


def _max(
    input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, n: int
) -> Any:
    x, single = batched(input, n + 2, f"max_pool{n}d")
    kernel = per_axis(kernel_size, n, "kernel_size")
    strides = kernel if stride in (None, ()) else per_axis(stride, n, "stride")
    pads = _checked(per_axis(padding, n, "padding"), kernel)
    dilations = per_axis(dilation, n, "dilation")
    more = _extra(x.shape[2:], kernel, strides, pads, dilations, ceil)
    y = ops.max_pool(
        channels_last(x),
        kernel=kernel,
        strides=strides,
        dilations=dilations,
        pads=(*pads, *(p + m for p, m in zip(pads, more, strict=True))),
    )
    y = channels_first(y)
    return y.squeeze(0) if single else y


def _avg(
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil: bool,
    count_pad: bool,
    divisor: int | None,
    n: int,
) -> Any:
    x, single = batched(input, n + 2, f"avg_pool{n}d")
    kernel = per_axis(kernel_size, n, "kernel_size")
    strides = kernel if stride in (None, ()) else per_axis(stride, n, "stride")
    pads = _checked(per_axis(padding, n, "padding"), kernel)
    more = _extra(x.shape[2:], kernel, strides, pads, (1,) * n, ceil)
    if divisor is not None and any(more):
        raise UnsupportedError("avg_pool with ceil_mode and divisor_override")
    y = ops.avg_pool(
        channels_last(x),
        kernel=kernel,
        strides=strides,
        dilations=(1,) * n,
        pads=both_ends(pads),
        extend=more,
        count_include_pad=count_pad or divisor is not None,
    )
    if divisor is not None:
        size = 1
        for k in kernel:
            size *= k
        y = y * (size / divisor)
    y = channels_first(y)
    return y.squeeze(0) if single else y


def _checked(pads: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, ...]:
    if any(2 * p > k for p, k in zip(pads, kernel, strict=True)):
        raise ShapeError(f"padding {pads} is more than half of the kernel {kernel}")
    return pads


def _extra(
    sizes: Sequence[Any],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil: bool,
) -> tuple[Any, ...]:
    """Elements after each axis that rounding the output size up takes in."""
    if not ceil:
        return (0,) * len(kernel)
    out = []
    for n, k, s, p, d in zip(sizes, kernel, strides, pads, dilations, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        windows = ceildiv(span, s) + 1
        # A window must begin inside the input or its left padding.
        windows = windows - 1 + dlt((windows - 1) * s, n + p)
        out.append(plain_size(dmax((windows - 1) * s - span, 0)))
    return tuple(out)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None) -> Tensor:
    """The p-norm under a window."""
    return _lp(input, norm_type, kernel_size, stride, 1)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None) -> Tensor:
    """The p-norm under a window."""
    return _lp(input, norm_type, kernel_size, stride, 2)


def _lp(input: Any, p: float, kernel_size: Any, stride: Any, n: int) -> Tensor:
    x, single = batched(input, n + 2, f"lp_pool{n}d")
    kernel = per_axis(kernel_size, n, "kernel_size")
    y = ops.lp_pool(
        channels_last(x),
        kernel=kernel,
        strides=kernel if stride is None else per_axis(stride, n, "stride"),
        dilations=(1,) * n,
        pads=(0,) * (2 * n),
        p=int(p),
    )
    y = channels_first(y)
    return y.squeeze(0) if single else y


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that make exactly `output_size` of the last dimension."""
    return _adaptive(input, output_size, 1, largest=False)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that make exactly `output_size` of the last two dimensions."""
    return _adaptive(input, output_size, 2, largest=False)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that make exactly `output_size` of the last three dimensions."""
    return _adaptive(input, output_size, 3, largest=False)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Largest elements over windows that make exactly `output_size` of the last dimension."""
    return _adaptive(input, output_size, 1, largest=True)


def adaptive_max_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Largest elements over windows that make exactly `output_size` of the last two dimensions."""
    return _adaptive(input, output_size, 2, largest=True)


def adaptive_max_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Largest elements over windows that make exactly `output_size` of the last three."""
    return _adaptive(input, output_size, 3, largest=True)


def _adaptive(input: Any, output_size: Any, n: int, largest: bool) -> Any:
    what = f"adaptive_{'max' if largest else 'avg'}_pool{n}d"
    x, single = batched(input, n + 2, what)
    given = (
        (output_size,) * n if output_size is None or isinstance(output_size, int) else output_size
    )
    sizes = [x.shape[i + 2] if o is None else o for i, o in enumerate(given)]
    if len(sizes) != n:
        raise ShapeError(f"{what}: output_size has {len(sizes)} values for {n} dimensions")
    if all(o == 1 for o in sizes):
        axes = tuple(range(2, n + 2))
        y = _reduced(x, axes, largest)
        return y.squeeze(0) if single else y
    if not all(isinstance(s, int) for s in x.shape[2:]):
        raise UnsupportedError(f"{what} of symbolic sizes to {sizes}", fix="pool to size 1")
    if all(s % o == 0 for s, o in zip(x.shape[2:], sizes, strict=True)):
        kernel = tuple(s // o for s, o in zip(x.shape[2:], sizes, strict=True))
        return (
            _max(input, kernel, None, 0, 1, False, n)
            if largest
            else _avg(input, kernel, None, 0, False, True, None, n)
        )
    # The last axis first: the gradient of equal elements then is the first one's in row-major order.
    for i, o in reversed(list(enumerate(sizes))):
        x = _adaptive_axis(x, i + 2, o, largest)
    return x.squeeze(0) if single else x


def _adaptive_axis(x: Any, axis: int, out: int, largest: bool) -> Any:
    """One axis: window i covers floor(i n / out) to ceil((i + 1) n / out)."""
    n = x.shape[axis]
    if n == out:
        return x
    parts = [
        _reduced(
            x.narrow(axis, i * n // out, -(-(i + 1) * n // out) - i * n // out), (axis,), largest
        )
        for i in range(out)
    ]
    return ops.concat(*parts, axis=axis)


def _reduced(x: Any, axes: tuple[int, ...], largest: bool) -> Any:
    """The largest elements, or means, over axes, which stay with size 1."""
    if largest:
        return ops.reduce_max(x, axes=axes, keepdims=True, first=True)
    return ops.reduce_mean(x, axes=axes, keepdims=True)
