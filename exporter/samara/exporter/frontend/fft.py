# SPDX-License-Identifier: Apache-2.0
"""`samara.fft`: discrete Fourier transforms; complex tensors are pairs of real numbers.

Tensors have no complex dtype. NAME_as_real is `torch.fft.NAME` with each complex tensor in the form that
`torch.view_as_real` gives: a last axis of 2 holds the real and the imaginary part. `dim` counts the axes
without that one. PyTorch's own names raise UnsupportedError: what a program does with their results,
`abs` for one, would mean something else for pairs.

Transforms are differentiable and export: they are the operator `dft`, in float16, float32 and float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.operands import as_tensor as size_tensor
from samara.exporter.frontend.operands import axes_of, axis_of, floating, plain_size
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError, Dim
from samara.pybridge.errors import ShapeError, UnsupportedError

__all__ = [
    "fft",
    "fft2",
    "fft2_as_real",
    "fft_as_real",
    "fftfreq",
    "fftshift",
    "ifft",
    "ifft2",
    "ifft2_as_real",
    "ifft_as_real",
    "ifftshift",
    "irfft",
    "irfft2",
    "irfft2_as_real",
    "irfft_as_real",
    "rfft",
    "rfft2",
    "rfft2_as_real",
    "rfft_as_real",
    "rfftfreq",
]


def fft_as_real(input: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Transform of pairs [..., 2] along `dim`, cut or filled with zeros to `n`; the same form.

    norm: "backward" (None) scales the inverse by 1/n, "forward" the transform, "ortho" both by its
    root. Raises ShapeError unless the last axis is 2 and n positive. PyTorch: `torch.fft.fft`.
    """
    return _transform(_pairs(input, "fft"), n, dim, norm)


def ifft_as_real(input: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft_as_real`. PyTorch: `torch.fft.ifft`.

    >>> z = samara.randn(8, 2)
    >>> samara.allclose(samara.fft.ifft_as_real(samara.fft.fft_as_real(z)), z, atol=1e-5)
    True
    """
    return _transform(_pairs(input, "ifft"), n, dim, norm, inverse=True)


def rfft_as_real(input: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The n / 2 + 1 first elements of the transform of real numbers, as pairs [..., 2].

    Other arguments are those of `fft_as_real`. PyTorch: `torch.fft.rfft`.

    >>> samara.fft.rfft_as_real(samara.tensor([1.0, 0.0, 0.0, 0.0])).tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    """
    return _transform(_real(input, "rfft"), n, dim, norm, onesided=True)


def irfft_as_real(input: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Real numbers, from the first half of their transform as pairs [..., 2].

    n: their number, 2 * (size - 1) if None. The imaginary part of the first element, and for an even
    n of the last, is ignored. PyTorch: `torch.fft.irfft`.

    >>> half = samara.fft.rfft_as_real(samara.tensor([1.0, 2.0, 3.0]))
    >>> [round(v, 4) for v in samara.fft.irfft_as_real(half, n=3).tolist()]
    [1.0, 2.0, 3.0]
    """
    z = _pairs(input, "irfft")
    if n is None:
        n = (z.shape[_axis(z, dim)] - 1) * 2
    return _transform(z, n, dim, norm, inverse=True, onesided=True).squeeze(-1)


def fft2_as_real(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """Transform of pairs [..., 2] along two axes. s: their lengths. PyTorch: `torch.fft.fft2`."""
    z = _pairs(input, "fft2")
    for axis, n in zip(*_two(z, s, dim), strict=True):
        z = _transform(z, n, axis, norm)
    return z


def ifft2_as_real(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Tensor:
    """The inverse of `fft2_as_real`. PyTorch: `torch.fft.ifft2`."""
    z = _pairs(input, "ifft2")
    for axis, n in zip(*_two(z, s, dim), strict=True):
        z = _transform(z, n, axis, norm, inverse=True)
    return z


def rfft2_as_real(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Tensor:
    """Transform of real numbers along two axes, of the last one only the first half; pairs [..., 2].

    PyTorch: `torch.fft.rfft2`.
    """
    z = _real(input, "rfft2")
    (first, last), (rows, columns) = _two(z, s, dim)
    return _transform(_transform(z, columns, last, norm, onesided=True), rows, first, norm)


def irfft2_as_real(
    input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Tensor:
    """The inverse of `rfft2_as_real`; real numbers. PyTorch: `torch.fft.irfft2`."""
    z = _pairs(input, "irfft2")
    (first, last), (rows, columns) = _two(z, s, dim)
    half = _transform(z, rows, first, norm, inverse=True)
    return irfft_as_real(half, columns, last, norm)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of the n elements of a transform of samples at distance d, float32 [n].

    >>> samara.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies(np.fft.fftfreq(n, d), dtype, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of the n / 2 + 1 elements of `rfft`, float32."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype, requires_grad)


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move frequency 0 to the middle of the axes `dim` (all if None). Pairs need `dim`."""
    axes = axes_of(input, dim)
    return input.roll([input.shape[a] // 2 for a in axes], list(axes))


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    axes = axes_of(input, dim)
    return input.roll([-(input.shape[a] // 2) for a in axes], list(axes))


def _frequencies(array: Any, dtype: Any, requires_grad: bool) -> Tensor:
    kind = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
    return wrap(array.astype(kind)).requires_grad_(requires_grad)


# ---- one transform


def _pairs(input: Any, name: str) -> Tensor:
    z: Tensor = floating(input)
    if z.ndim < 2 or z.shape[-1] != 2:
        raise ShapeError(
            f"fft.{name}_as_real takes pairs of a real and an imaginary part along the last axis, got "
            f"shape {list(z.shape)}",
            fix="samara.stack([real, imag], -1) makes them",
        )
    return z


def _real(input: Any, name: str) -> Tensor:
    x: Tensor = floating(input)
    if x.ndim == 0:
        raise ShapeError(f"fft.{name}_as_real needs an axis, got a tensor of 0 dimensions")
    return x.unsqueeze(-1)


def _axis(z: Tensor, dim: int) -> int:
    """`dim` counted from the front, without the axis of the parts."""
    return axis_of(z.select(-1, 0), dim)


def _two(z: Tensor, s: Any, dim: Any) -> tuple[tuple[int, int], tuple[Any, Any]]:
    """Two axes and their lengths (None: as they are)."""
    axes = tuple(_axis(z, d) for d in dim)
    sizes = (None, None) if s is None else tuple(None if n == -1 else n for n in s)
    if len(axes) != 2 or len(sizes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"two different axes and two sizes are needed, got dim {dim} and s {s}")
    return axes, sizes


_POWERS = {"backward": (0.0, 0.0), "ortho": (-0.5, 0.5), "forward": (-1.0, 1.0)}
"""Norm -> power of n by which the transform, and the inverse divided by n, are scaled."""


def _transform(
    z: Tensor, n: Any, dim: int, norm: str | None, inverse: bool = False, onesided: bool = False
) -> Tensor:
    axis = _axis(z, dim)
    length = plain_size(z.shape[axis] if n is None else n)
    if isinstance(length, bool) or not isinstance(length, (int, Dim)):
        raise ArgumentError(f"the length of a transform is {n!r}", fix="use an integer")
    found = _POWERS.get("backward" if norm is None else norm)
    if found is None:
        names = ", ".join(f'"{k}"' for k in _POWERS)
        raise ArgumentError(f"there is no norm {norm!r}", fix=f"use {names}")
    y: Tensor = ops.dft(z, length=length, axis=axis, inverse=inverse, onesided=onesided)
    power = found[inverse]
    if not power:
        return y
    if isinstance(length, int):
        return y * float(length) ** power
    return y * size_tensor(length).to(y.dtype) ** power


# ---- PyTorch's names


def _refused(name: str) -> Callable[..., Tensor]:
    def refuse(*args: Any, **kwargs: Any) -> Tensor:
        raise UnsupportedError(
            f"fft.{name} works on complex tensors, which samara lacks",
            fix=f"use samara.fft.{name}_as_real: complex numbers are pairs along a last axis of 2",
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"UnsupportedError: `torch.fft.{name}` is `{name}_as_real` here."
    return refuse


fft = _refused("fft")
ifft = _refused("ifft")
rfft = _refused("rfft")
irfft = _refused("irfft")
fft2 = _refused("fft2")
ifft2 = _refused("ifft2")
rfft2 = _refused("rfft2")
irfft2 = _refused("irfft2")

name_counterparts(globals(), __all__, "torch.fft")
