# SPDX-License-Identifier: Apache-2.0
"""NumPy's universal functions on tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.operands import as_tensor, is_tensor

# Functions of one operand -> the tensor's method.
_UNARY: Final = {
    **{n: n for n in ("sign", "floor", "ceil", "trunc", "square", "exp", "exp2", "expm1", "log")},
    **{n: n for n in ("log2", "log10", "log1p", "sqrt", "reciprocal", "sin", "cos", "tan", "sinh")},
    **{n: n for n in ("cosh", "tanh", "logical_not", "isnan", "isinf", "isfinite")},
    **{f"arc{n}": f"a{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "negative": "neg",
    "positive": "clone",
    "absolute": "abs",
    "fabs": "abs",
    "rint": "round",
    "invert": "bitwise_not",
}
# Functions of two operands -> the operator's method if the first is a tensor, and if it is not.
_OPERATORS: Final = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
}
# Other functions of two operands -> the tensor's method.
_BINARY: Final = {
    **{n: n for n in ("maximum", "minimum", "hypot", "fmod", "logaddexp")},
    **{n: n for n in ("logical_and", "logical_or", "logical_xor")},
    "arctan2": "atan2",
}


def apply(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of `__array_ufunc__`."""
    name = ufunc.__name__
    if method != "__call__":
        raise TypeError(
            f"np.{name}.{method} of a tensor is not supported; use the tensor's own methods"
            " (sum, prod, cumsum, amax …), or t.numpy()"
        )
    if "out" in options:
        return _written(ufunc, inputs, options)
    if options:
        raise TypeError(
            f"np.{name} of a tensor takes no {', '.join(sorted(options))}; use t.to(dtype) or"
            " samara.where, or t.numpy()"
        )
    found = _known(name, inputs)
    if found is not NotImplemented:
        return found
    tensors = [v for v in inputs if is_tensor(v)]
    if any(t._symbolic or t._requires_grad for t in tensors):
        raise TypeError(
            f"np.{name} has no counterpart among tensor operations; use t.detach(), or compose it of"
            " tensor operations"
        )
    got = ufunc(*(v._data if is_tensor(v) else v for v in inputs))
    return tuple(map(_wrapped, got)) if isinstance(got, tuple) else _wrapped(got)


def _wrapped(value: Any) -> Any:
    return as_tensor(np.asarray(value))


def _written(ufunc: np.ufunc, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """NumPy's result in the caller's arrays."""
    if any(map(is_tensor, options["out"])):
        raise TypeError(
            f"np.{ufunc.__name__} cannot write into a tensor; use the tensor's methods that end"
            " in _, or out=array"
        )
    return ufunc(*(v.numpy() if is_tensor(v) else v for v in inputs), **options)


def _known(name: str, inputs: Sequence[Any]) -> Any:
    """The result of the tensor operation; NotImplemented if tensors have none."""
    if len(inputs) == 1:
        of_one = _UNARY.get(name)
        return NotImplemented if of_one is None else getattr(inputs[0], of_one)()
    if len(inputs) != 2:
        return NotImplemented
    x, y = inputs
    if name in _OPERATORS:
        first, second = _OPERATORS[name]
        function = getattr(x, first, None) if is_tensor(x) else getattr(y, second, None)
        return NotImplemented if function is None else function(y if is_tensor(x) else x)
    if name in _BINARY:
        x, y = (v if is_tensor(v) else as_tensor(v, inputs[i - 1]) for i, v in enumerate(inputs))
        return getattr(x, _BINARY[name])(y)
    return NotImplemented
