# SPDX-License-Identifier: Apache-2.0
"""Elementwise methods of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import dtypes
from samara.exporter.frontend.operands import (
    SCALARS,
    as_tensor,
    cast,
    floating,
    is_tensor,
    pair,
)
from samara.pybridge.errors import UnsupportedError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor

_LOG2 = math.log(2.0)
_LOG10 = math.log(10.0)


def _of_float(name: str, op: Any) -> Callable[[Any], Tensor]:
    """The method `name`: an operator of one operand that converts integers and bools to float32."""

    def method(self: Any) -> Tensor:
        return op(floating(self))

    method.__name__ = name
    method.__qualname__ = f"PointwiseMethods.{name}"
    return method


class PointwiseMethods:
    """Elementwise methods. Operands broadcast and are promoted as in PyTorch."""

    __slots__ = ()

    # ---- arithmetic

    def add(self: Any, other: Any, *, alpha: float = 1) -> Tensor:
        """self + alpha * other."""
        x, y = pair(self, other)
        if alpha != 1:
            y = y * alpha
        if x.dtype == dtypes.bool_:
            return ops.logical_or(x, as_tensor(y, x))
        return ops.add(x, y)

    def sub(self: Any, other: Any, *, alpha: float = 1) -> Tensor:
        """self - alpha * other."""
        x, y = _numbers("subtracted", *pair(self, other))
        return ops.sub(x, y if alpha == 1 else y * alpha)

    def mul(self: Any, other: Any) -> Tensor:
        """self * other."""
        x, y = pair(self, other)
        if getattr(x, "dtype", None) == dtypes.bool_:
            return ops.logical_and(x, as_tensor(y, x))
        return ops.mul(x, y)

    def div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
        """self / other; `rounding_mode` "floor" or "trunc" rounds the quotient."""
        if rounding_mode is None:
            x, y = pair(self, other, floating=True)
            return ops.div(x, y)
        x, y = pair(self, other)
        if x.dtype.kind != "f":
            return _divide_integers(x, y, rounding_mode)
        quotient = ops.div(x, y)
        return quotient.floor() if rounding_mode == "floor" else quotient.trunc()

    def floor_divide(self: Any, other: Any) -> Tensor:
        """floor(self / other)."""
        return self.div(other, rounding_mode="floor")

    def remainder(self: Any, other: Any) -> Tensor:
        """self - other * floor(self / other): the sign of the divisor."""
        return ops.mod(*pair(self, other))

    def fmod(self: Any, other: Any) -> Tensor:
        """The remainder with the sign of the dividend."""
        return ops.mod(*pair(self, other), fmod=True)

    def pow(self: Any, exponent: Any) -> Tensor:
        """self to the power of `exponent`."""
        if isinstance(exponent, SCALARS) and not isinstance(exponent, bool):
            if exponent == 0.5:
                return floating(self).sqrt()
            if exponent == 2 and self.dtype.kind == "f":
                return ops.mul(self, self)
            if exponent < 0 and isinstance(exponent, int) and self.dtype.kind != "f":
                raise UnsupportedError(
                    "integers cannot be raised to negative powers", fix="call .float() first"
                )
        return ops.pow(*pair(self, exponent))

    def neg(self: Any) -> Tensor:
        """-self."""
        return ops.neg(_numbers("negated", self)[0])

    def abs(self: Any) -> Tensor:
        """|self|."""
        return ops.abs(self)

    def sign(self: Any) -> Tensor:
        """-1, 0 or 1."""
        return ops.sign(self)

    def square(self: Any) -> Tensor:
        """self * self."""
        return ops.mul(self, self)

    def reciprocal(self: Any) -> Tensor:
        """1 / self."""
        return ops.reciprocal(floating(self))

    def lerp(self: Any, end: Any, weight: Any) -> Tensor:
        """self + weight * (end - self)."""
        return self + (end - self) * weight

    def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Tensor:
        """self + value * tensor1 * tensor2."""
        return self + tensor1 * tensor2 * value

    def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Tensor:
        """self + value * tensor1 / tensor2."""
        return self + tensor1 / tensor2 * value

    # ---- powers, logarithms, trigonometry

    exp = _of_float("exp", ops.exp)

    def exp2(self: Any) -> Tensor:
        return ops.exp(floating(self) * _LOG2)

    def expm1(self: Any) -> Tensor:
        """exp(self) - 1, exact near 0: tanh(x/2) * (exp(x) + 1)."""
        x = floating(self)
        # Where exp overflows, the slope of tanh would be 0 * inf; from 40 on tanh is 1.
        return ops.mul(ops.tanh(ops.clamp(x, hi=40.0) * 0.5), ops.exp(x) + 1.0)

    log = _of_float("log", ops.log)

    def log2(self: Any) -> Tensor:
        return ops.log(floating(self)) * (1.0 / _LOG2)

    def log10(self: Any) -> Tensor:
        return ops.log(floating(self)) * (1.0 / _LOG10)

    def log1p(self: Any) -> Tensor:
        """log(1 + self), exact near 0: log(u) + (p - (u - 1)) / u, where u is 1 + p rounded.

        The second term is what rounding lost. It is 0 beyond |x| = 0.5, and its gradient is 0.
        """
        x = floating(self)
        p = ops.clamp(x.detach(), lo=-0.5, hi=0.5)
        u = p + 1.0
        return ops.log(x + 1.0) + (p - (u - 1.0)) / u

    sqrt = _of_float("sqrt", ops.sqrt)
    rsqrt = _of_float("rsqrt", ops.rsqrt)
    sin = _of_float("sin", ops.sin)
    cos = _of_float("cos", ops.cos)
    tan = _of_float("tan", ops.tan)
    asin = _of_float("asin", ops.asin)
    acos = _of_float("acos", ops.acos)
    atan = _of_float("atan", ops.atan)

    def atan2(self: Any, other: Any) -> Tensor:
        return ops.atan2(*pair(self, other, floating=True))

    sinh = _of_float("sinh", ops.sinh)
    cosh = _of_float("cosh", ops.cosh)
    tanh = _of_float("tanh", ops.tanh)
    asinh = _of_float("asinh", ops.asinh)
    acosh = _of_float("acosh", ops.acosh)
    atanh = _of_float("atanh", ops.atanh)
    erf = _of_float("erf", ops.erf)

    def erfc(self: Any) -> Tensor:
        return 1.0 - self.erf()

    sigmoid = _of_float("sigmoid", ops.sigmoid)

    def relu(self: Any) -> Tensor:
        return ops.relu(self)

    def logit(self: Any, eps: float | None = None) -> Tensor:
        """log(self / (1 - self)); `eps` clamps to [eps, 1 - eps] first."""
        x = floating(self) if eps is None else floating(self).clamp(eps, 1 - eps)
        return (x / (1.0 - x)).log()

    # ---- rounding and bounds

    def floor(self: Any) -> Tensor:
        return self.clone() if self.dtype.kind != "f" else ops.floor(self)

    def ceil(self: Any) -> Tensor:
        return self.clone() if self.dtype.kind != "f" else ops.ceil(self)

    def round(self: Any, *, decimals: int = 0) -> Tensor:
        """Round to the nearest multiple of 10**-decimals, ties to even."""
        if decimals and self.dtype.kind == "f":
            unit = 10.0 ** abs(decimals)
            scaled = ops.round(self * unit if decimals > 0 else self / unit)
            return scaled / unit if decimals > 0 else scaled * unit
        return self.clone() if self.dtype.kind != "f" else ops.round(self)

    def trunc(self: Any) -> Tensor:
        """Round towards zero."""
        if self.dtype.kind != "f":
            return self.clone()
        return ops.where(self < 0, ops.ceil(self), ops.floor(self))

    def frac(self: Any) -> Tensor:
        """self - trunc(self)."""
        return self - self.trunc()

    def clamp(self: Any, min: Any = None, max: Any = None) -> Tensor:
        """Clamp elements to [min, max] (numbers or tensors)."""
        if all(v is None or isinstance(v, SCALARS) for v in (min, max)) and self.dtype.kind == "f":
            lo = -math.inf if min is None else float(min)
            hi = math.inf if max is None else float(max)
            return ops.clamp(self, lo=lo, hi=hi)
        # If an element equals a bound, the element gets the gradient (first=True), not the bound.
        out = self if min is None else ops.max(*pair(self, min), first=True)
        return out if max is None else ops.min(*pair(out, max), first=True)

    clip = clamp

    def clamp_min(self: Any, min: Any) -> Tensor:
        return self.clamp(min=min)

    def clamp_max(self: Any, max: Any) -> Tensor:
        return self.clamp(max=max)

    def maximum(self: Any, other: Any) -> Tensor:
        return ops.max(*pair(self, other))

    def minimum(self: Any, other: Any) -> Tensor:
        return ops.min(*pair(self, other))

    # ---- comparison and logic

    def eq(self: Any, other: Any) -> Tensor:
        return ops.eq(*pair(self, other))

    def ne(self: Any, other: Any) -> Tensor:
        return ops.logical_not(ops.eq(*pair(self, other)))

    def lt(self: Any, other: Any) -> Tensor:
        return ops.lt(*_ordered(self, other))

    def le(self: Any, other: Any) -> Tensor:
        return ops.le(*_ordered(self, other))

    def gt(self: Any, other: Any) -> Tensor:
        x, y = _ordered(self, other)
        return ops.lt(y, x)

    def ge(self: Any, other: Any) -> Tensor:
        x, y = _ordered(self, other)
        return ops.le(y, x)

    def logical_and(self: Any, other: Any) -> Tensor:
        return ops.logical_and(_truth(self), _truth(other))

    def logical_or(self: Any, other: Any) -> Tensor:
        return ops.logical_or(_truth(self), _truth(other))

    def logical_xor(self: Any, other: Any) -> Tensor:
        return ops.logical_xor(_truth(self), _truth(other))

    def logical_not(self: Any) -> Tensor:
        return ops.logical_not(_truth(self))

    def bitwise_and(self: Any, other: Any) -> Tensor:
        return _bitwise(ops.logical_and, ops.bitwise_and, self, other)

    def bitwise_or(self: Any, other: Any) -> Tensor:
        return _bitwise(ops.logical_or, ops.bitwise_or, self, other)

    def bitwise_xor(self: Any, other: Any) -> Tensor:
        return _bitwise(ops.logical_xor, ops.bitwise_xor, self, other)

    def bitwise_not(self: Any) -> Tensor:
        if self.dtype == dtypes.bool_:
            return ops.logical_not(self)
        return ops.bitwise_not(self)

    isnan = _of_float("isnan", ops.isnan)
    isinf = _of_float("isinf", ops.isinf)

    def isfinite(self: Any) -> Tensor:
        return ops.lt(ops.abs(floating(self)), math.inf)

    # ---- choosing

    def where(self: Any, condition: Any, other: Any) -> Tensor:
        """self where `condition`, else `other`."""
        x, y = pair(self, other)
        return ops.where(condition, x, y)

    def masked_fill(self: Any, mask: Any, value: Any) -> Tensor:
        """`value` where `mask`, else self."""
        if isinstance(value, SCALARS):
            value = as_tensor(np.asarray(value, self.dtype))
        return ops.where(mask, cast(value, self.dtype), self)

    def nan_to_num(
        self: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Tensor:
        """Replace NaN and infinities; by default infinities become the dtype's largest numbers."""
        if self.dtype.kind != "f":
            return self.clone()
        limits = np.finfo(self.dtype)
        high = float(limits.max) if posinf is None else posinf
        low = float(limits.min) if neginf is None else neginf
        out = self.masked_fill(self.isnan(), nan)
        out = out.masked_fill(ops.eq(self, math.inf), high)
        return out.masked_fill(ops.eq(self, -math.inf), low)

    # ---- Python's operators; __add__, __sub__ and __mul__ are in tensor.py, with a fast path

    __radd__ = add
    __rmul__ = mul
    __truediv__ = div
    __floordiv__ = floor_divide
    __mod__ = remainder
    __pow__ = pow
    __neg__ = neg
    __abs__ = abs
    __invert__ = bitwise_not

    def __rsub__(self: Any, other: Any) -> Tensor:
        return ops.sub(*_numbers("subtracted", *pair(other, self)))

    def __rtruediv__(self: Any, other: Any) -> Tensor:
        return ops.div(*pair(other, self, floating=True))

    def __rfloordiv__(self: Any, other: Any) -> Tensor:
        return as_tensor(other, self).floor_divide(self)

    def __rmod__(self: Any, other: Any) -> Tensor:
        return ops.mod(*pair(other, self))

    def __rpow__(self: Any, other: Any) -> Tensor:
        return ops.pow(*pair(other, self))

    def __pos__(self: Any) -> Tensor:
        return self

    def __eq__(self: Any, other: Any) -> Tensor:  # type: ignore[override]
        return self.eq(other) if _comparable(other) else NotImplemented

    def __ne__(self: Any, other: Any) -> Tensor:  # type: ignore[override]
        return self.ne(other) if _comparable(other) else NotImplemented

    __lt__ = lt
    __le__ = le
    __gt__ = gt
    __ge__ = ge
    __and__ = bitwise_and
    __or__ = bitwise_or
    __xor__ = bitwise_xor
    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__


def _comparable(other: Any) -> bool:
    return is_tensor(other) or isinstance(other, (*SCALARS, np.ndarray, np.generic))


def _numbers(done: str, *operands: Any) -> tuple[Any, ...]:
    """The operands; UnsupportedError if one is bool."""
    if any(getattr(x, "dtype", None) == dtypes.bool_ for x in operands):
        raise UnsupportedError(
            f"bool tensors cannot be {done}", fix="use ^, ~ or logical_xor, or call .int() first"
        )
    return operands


def _ordered(a: Any, b: Any) -> tuple[Any, Any]:
    x, y = pair(a, b)
    if getattr(x, "dtype", None) == dtypes.bool_:
        return cast(x, dtypes.uint8), cast(as_tensor(y, x), dtypes.uint8)
    return x, y


def _truth(x: Any) -> Any:
    x = as_tensor(x)
    return x if x.dtype == dtypes.bool_ else ops.logical_not(ops.eq(x, 0))


def _bitwise(logical: Any, bits: Any, a: Any, b: Any) -> Tensor:
    x, y = pair(a, b)
    if x.dtype.kind == "f":
        raise UnsupportedError(
            "bits of floating point tensors cannot be combined", fix="call .long() first"
        )
    return (logical if x.dtype == dtypes.bool_ else bits)(x, as_tensor(y, x))


def _divide_integers(x: Any, y: Any, mode: str) -> Tensor:
    """Integer division. ops.div truncates, so "floor" subtracts the remainder first."""
    if mode == "trunc":
        return ops.div(x, y)
    return ops.div(ops.sub(x, ops.mod(x, y)), y)
