# SPDX-License-Identifier: Apache-2.0
"""The routines of exact models in numpy, with the bits of runtime_c/src/kernels/f32_exact.

Arrays are float32. Every operation rounds once, because numpy never fuses them. Sums run over the
last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from samara.exporter.ops.numeric import Array

PARTIALS: Final = 16
_F = np.float32


def _hex(*texts: str) -> tuple[np.float32, ...]:
    return tuple(_F(float.fromhex(text)) for text in texts)


_LOG2E, _MAGIC = _hex("0x1.715476p+0", "0x1.8p23")
_LN2_HIGH, _LN2_LOW = _hex("0x1.62e4p-1", "0x1.7f7d1cp-20")
_EXP = _hex("0x1.6a4b98p-10", "0x1.123e5cp-7", "0x1.5558bap-5", "0x1.55548cp-3", "0x1.fffffcp-2")
_LOG = _hex(
    *("-0x1.38cf2p-4", "0x1.05602ep-3", "-0x1.0d81f2p-3", "0x1.22d8f8p-3"),
    *("-0x1.54728cp-3", "0x1.99a01ep-3", "-0x1.000226p-2", "0x1.555554p-2"),
)
_TANH = _hex("-0x1.696b9cp-8", "0x1.4f5dap-6", "-0x1.b7cfbap-5", "0x1.1103fp-3", "-0x1.555524p-2")
_ERF = _hex(
    *("-0x1.20c812p-11", "0x1.406224p-8", "-0x1.b540ecp-6"),
    *("0x1.ce012ep-4", "-0x1.81263ap-2", "0x1.20dd74p+0"),
)
_ERFC = _hex(
    *("0x1.86debep-13", "-0x1.825bcap-9", "0x1.65cbdcp-6", "-0x1.a65372p-4"),
    *("-0x1.46bae6p-1", "-0x1.2088ecp+0", "-0x1.661a16p-12"),
)


def _polynomial(coefficients: tuple[np.float32, ...], x: Array) -> Array:
    y = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        y = y * x + c
    return y


# ---- sums ----


def total(x: Array) -> Array:
    """The sum over the last axis: sixteen partial sums, then their upper half to the lower."""
    n = x.shape[-1]
    partials = np.zeros((*x.shape[:-1], PARTIALS), _F)
    with np.errstate(all="ignore"):
        for i in range(0, n - n % PARTIALS, PARTIALS):
            partials += x[..., i : i + PARTIALS]
        partials[..., : n % PARTIALS] += x[..., n - n % PARTIALS :]
        half = PARTIALS
        while half > 1:
            half //= 2
            partials = partials[..., :half] + partials[..., half:]
    return partials[..., 0]


def dot(a: Array, b: Array) -> Array:
    """The sum of a * b over the last axis."""
    with np.errstate(all="ignore"):
        return total(a * b)


def largest(x: Array) -> Array:
    """The largest element of the last axis: NaN if any is; never -0."""
    with np.errstate(all="ignore"):
        return np.asarray(np.max(x, axis=-1, initial=_F(-np.inf)) + _F(0))


# ---- functions of one element ----


def exp(x: Array) -> Array:
    """e^x within 1 ulp; results below 2^-125.5 are 0."""
    x = np.clip(x, _F(-87.25), _F(89))
    t = x * _LOG2E + _MAGIC
    n = t - _MAGIC
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    y = (_polynomial(_EXP, r) * (r * r) + r) + _F(1)
    power = ((t.view(np.int32) + np.int32(126)) << 23).view(_F)
    return np.asarray((y + y) * power)


def log(x: Array) -> Array:
    """The natural logarithm."""
    small = x < _F(2.0**-126)
    scaled = np.where(small, x * _F(2.0**23), x)
    bits = np.asarray(scaled).view(np.int32)
    e = (bits - np.int32(0x3F3504F3)) >> 23
    f = (bits - (e << 23)).view(_F) - _F(1)
    n = np.where(small, e.astype(_F) - _F(23), e.astype(_F))
    f2 = f * f
    y = (f2 * f) * _polynomial(_LOG, f) + f2 * _F(-0.5)
    y = (n * _LN2_LOW + y) + f
    y = n * _LN2_HIGH + y
    y = np.where(x == _F(np.inf), x, y)
    y = np.where(x == _F(0), _F(-np.inf), y)
    y = np.where(x < _F(0), _F(np.nan), y)
    return np.where(np.isnan(x), x, y)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    e = exp(-np.abs(x))
    return np.where(x < _F(0), e, _F(1)) / (_F(1) + e)


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return x * sigmoid(x)


def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    a, x2 = np.abs(x), x * x
    near = (x2 * x) * _polynomial(_TANH, x2) + x
    far = _F(1) - _F(2) / (exp(a + a) + _F(1))
    return np.where(a < _F(0.625), near, np.where(x < _F(0), -far, far))


def erf(x: Array) -> Array:
    """The error function."""
    a, x2 = np.abs(x), x * x
    near = x * _polynomial(_ERF, x2)
    far = _F(1) - exp(_polynomial(_ERFC, np.minimum(a, _F(4))))
    return np.where(a <= _F(1), near, np.where(x < _F(0), -far, far))


def gelu(x: Array) -> Array:
    """x / 2 * (erf(x / sqrt 2) + 1)."""
    return (x * _F(0.5)) * (erf(x * _F(0.70710677)) + _F(1))


def gelu_tanh(x: Array) -> Array:
    """gelu with tanh in place of erf."""
    u = ((x * x) * x) * _F(0.044715) + x
    return (x * _F(0.5)) * (tanh(u * _F(0.7978846)) + _F(1))


def relu(x: Array) -> Array:
    """0 if x < 0, else x."""
    return np.where(x < _F(0), _F(0), x)


def clamp(x: Array, lo: float, hi: float) -> Array:
    """`lo` if x < lo, `hi` if x > hi, else x."""
    low = np.where(x < _F(lo), _F(lo), x)
    return np.where(low > _F(hi), _F(hi), low)


def quiet(function: Callable[[Array], Array], x: Array) -> Array:
    """`function` of x, without numpy's warnings of overflow and invalid operations."""
    with np.errstate(all="ignore"):
        return np.asarray(function(np.ascontiguousarray(x)), _F).reshape(x.shape)


FUNCTIONS: Final[dict[str, Callable[[Array], Array]]] = {
    "exp": exp,
    "log": log,
    "sigmoid": sigmoid,
    "silu": silu,
    "tanh": tanh,
    "erf": erf,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": relu,
}
"""In the order of `enum smr_f32_exact_function`, without `clamp`, the last."""


# ---- rows ----


def softmax(x: Array, logarithm: bool = False) -> Array:
    """Over the last axis: e * (1 / sum e) of e = exp(x - max), or (x - max) - log(sum e)."""
    with np.errstate(all="ignore"):
        top = largest(x)[..., None]
        e = exp(x - top)
        s = total(e)[..., None]
        return (x - top) - log(s) if logarithm else (_F(1) / s) * e


def normalize(
    x: Array, scale: Array | None, bias: Array | None, eps: float, *, centred: bool
) -> Array:
    """Layer normalisation over the last axis, or root mean square if not centred."""
    with np.errstate(all="ignore"):
        n = _F(x.shape[-1])
        mean = total(x)[..., None] / n if centred else _F(0)
        away = x - mean
        inverse = _F(1) / np.sqrt(total(away * away)[..., None] / n + _F(eps))
        y = away * inverse
        if scale is not None:
            y = y * scale
        return y if bias is None else y + bias


def matmul(a: Array, b: Array) -> Array:
    """a @ b, whose elements are dot products; leading axes broadcast."""
    columns = np.ascontiguousarray(np.swapaxes(b, -1, -2))
    return dot(a[..., :, None, :], columns[..., None, :, :])
