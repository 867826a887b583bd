# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.init`: initial values of parameters."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from samara.exporter.frontend import tape
from samara.exporter.frontend.random import Generator, generator_of
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError

__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


class _Skipping(threading.local):
    on = False


_skipping = _Skipping()


@contextlib.contextmanager
def skipped() -> Iterator[None]:
    """Within the block no numbers are drawn in this thread: new layers await weights from elsewhere."""
    before, _skipping.on = _skipping.on, True
    try:
        yield
    finally:
        _skipping.on = before


def _fill(tensor: Tensor, array: Any) -> Tensor:
    with tape.no_grad():
        return tensor.copy_(np.asarray(array))


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers of [a, b)."""
    if _skipping.on:
        return tensor
    return _fill(tensor, generator_of(generator).uniform(tensor.shape, a, b))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal numbers."""
    if _skipping.on:
        return tensor
    return _fill(tensor, generator_of(generator).normal(tensor.shape, mean, std))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers, drawn again where they fall outside [a, b]."""
    source = generator_of(generator)
    out = source.normal(tensor.shape, mean, std)
    while (bad := (out < a) | (out > b)).any():
        out[bad] = source.normal((int(bad.sum()),), mean, std)
    return _fill(tensor, out)


def constant_(tensor: Tensor, val: float) -> Tensor:
    return _fill(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    return _fill(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    return _fill(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    rows, columns = tensor.shape
    return _fill(tensor, np.eye(rows, columns))


def fan_in_and_out(tensor: Tensor) -> tuple[int, int]:
    """(inputs, outputs) that meet in one element's unit, for [out, in, kernel…]."""
    if tensor.ndim < 2:
        raise ArgumentError(
            f"fan in and out of a tensor of shape {list(tensor.shape)}",
            fix="this initialiser needs at least 2 dimensions",
        )
    field = math.prod(tensor.shape[2:])
    return int(tensor.shape[1] * field), int(tensor.shape[0] * field)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    return _GAINS.get(nonlinearity, 1.0)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform with variance gain² 2 / (in + out) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fan_in_and_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with variance gain² 2 / (in + out) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fan_in_and_out(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform with variance gain² / fan (He et al. 2015, arXiv:1502.01852)."""
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with variance gain² / fan (He et al. 2015, arXiv:1502.01852)."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = fan_in_and_out(tensor)[0 if mode == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Orthonormal rows or columns of [rows, rest…] (Saxe et al. 2013, arXiv:1312.6120)."""
    rows = int(tensor.shape[0])
    columns = math.prod(tensor.shape[1:])
    drawn = generator_of(generator).normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn.astype(np.float64))
    q *= np.sign(np.diag(r))
    out = q if rows >= columns else q.T
    return _fill(tensor, gain * out.reshape(tensor.shape))
