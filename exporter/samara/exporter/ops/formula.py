# SPDX-License-Identifier: Apache-2.0
"""Formulas of pointwise operators: expressions from which C code and references are generated.

A row writes its formula as a function of symbols, named as the operator's inputs and attributes:

    lambda x, alpha: select(x >= 0, x, x * alpha)

Calling it with symbols gives an expression. Each of its operations is rounded separately, in the order written;
only `fma` may round once. A printer translates the expression into another language.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.ops import numeric as num

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """An operation on parts: a `Number`, or the `Mask` of a comparison."""

    op: str
    parts: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Mask(Expr):
    """True or false for each element."""


@dataclass(frozen=True, slots=True, eq=False)
class Number(Expr):
    """A float for each element. Python numbers in an operation with it are constants of its dtype."""

    def __neg__(self) -> Number:
        return _call("neg", self)

    def __add__(self, other: Operand) -> Number:
        return _call("add", self, other)

    def __radd__(self, other: Operand) -> Number:
        return _call("add", other, self)

    def __sub__(self, other: Operand) -> Number:
        return _call("sub", self, other)

    def __rsub__(self, other: Operand) -> Number:
        return _call("sub", other, self)

    def __mul__(self, other: Operand) -> Number:
        return _call("mul", self, other)

    def __rmul__(self, other: Operand) -> Number:
        return _call("mul", other, self)

    def __truediv__(self, other: Operand) -> Number:
        return _call("div", self, other)

    def __rtruediv__(self, other: Operand) -> Number:
        return _call("div", other, self)

    def __lt__(self, other: Operand) -> Mask:
        return _compare("lt", self, other)

    def __le__(self, other: Operand) -> Mask:
        return _compare("le", self, other)

    def __gt__(self, other: Operand) -> Mask:
        return _compare("gt", self, other)

    def __ge__(self, other: Operand) -> Mask:
        return _compare("ge", self, other)


@dataclass(frozen=True, slots=True, eq=False)
class Symbol(Number):
    """An input or an attribute."""

    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Number):
    value: float = 0.0


Operand = Number | float


def _number(value: Operand) -> Number:
    return value if isinstance(value, Number) else Constant("constant", value=float(value))


def _call(op: str, *parts: Operand) -> Number:
    return Number(op, tuple(map(_number, parts)))


def _compare(op: str, a: Operand, b: Operand) -> Mask:
    return Mask(op, (_number(a), _number(b)))


def equal(a: Operand, b: Operand) -> Mask:
    """a == b; NaN equals nothing."""
    return _compare("eq", a, b)


def is_nan(x: Number) -> Mask:
    """Whether x is NaN."""
    return _compare("ne", x, x)


def select(mask: Mask, a: Operand, b: Operand) -> Number:
    """a where the mask is true, else b."""
    return Number("select", (mask, _number(a), _number(b)))


def maximum(a: Operand, b: Operand) -> Number:
    """a where it is greater than b, else b: NaN in b stays."""
    return _call("max", a, b)


def minimum(a: Operand, b: Operand) -> Number:
    """a where it is less than b, else b: NaN in b stays."""
    return _call("min", a, b)


def clamp(x: Operand, lo: Operand, hi: Operand) -> Number:
    """x between lo and hi; NaN in x stays."""
    return _call("clamp", x, lo, hi)


def fma(a: Operand, b: Operand, c: Operand) -> Number:
    """a * b + c, rounded once where the instruction set can."""
    return _call("fma", a, b, c)


def _function(op: str) -> Callable[[Operand], Number]:
    return lambda x: _call(op, x)


absolute = _function("abs")
ceil = _function("ceil")
floor = _function("floor")
rint = _function("rint")  # halves to even
sqrt = _function("sqrt")
exp = _function("exp")
expm1_negative = _function("expm1_negative")  # e**x - 1 for x <= 0; undefined above
log = _function("log")
log1p_unit = _function("log1p_unit")  # ln(1 + x) for 0 <= x <= 1
tanh = _function("tanh")
erf = _function("erf")
sigmoid = _function("sigmoid")
sin = _function("sin")
cos = _function("cos")
tan = _function("tan")
asin = _function("asin")
acos = _function("acos")
atan = _function("atan")
sinh = _function("sinh")
cosh = _function("cosh")
asinh = _function("asinh")
acosh = _function("acosh")
atanh = _function("atanh")

# Functions of many operations.
_LONG: Final = frozenset(
    ("exp", "expm1_negative", "log", "log1p_unit", "tanh", "erf", "sigmoid", "sin", "cos", "tan", "asin",
     "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh")
)  # fmt: skip


def _trace(function: Callable[..., Number]) -> Number:
    return _number(function(*(Symbol("symbol", name=n) for n in _arguments(function))))


def _arguments(function: Callable[..., Number]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def walk(e: Expr) -> Iterator[Expr]:
    """The expression and all its parts."""
    yield e
    for part in e.parts:
        yield from walk(part)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """The float formula of a pointwise operator, for all its modes or for one.

    name: of the C kernel. inputs: how many of the symbols are inputs; the others are attributes, which kernels
    get as numbers. when: the attributes of this mode. double: the formula for float64 if it differs.
    """

    name: str
    value: Number
    symbols: tuple[str, ...]
    inputs: int
    double: Number
    when: Mapping[str, Any] = field(default_factory=dict)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the formula reads, in the order of the kernel's parameters."""
        return self.symbols[self.inputs :]

    @property
    def is_long(self) -> bool:
        """Whether it has so many operations that a kernel should contain it only once."""
        return any(e.op in _LONG for e in walk(self.value))

    def evaluate(self, *inputs: Array, **attrs: Any) -> Array:
        """The result on arrays of one float dtype."""
        own = inputs[0].dtype.type
        numbers = (own(attrs[name]) for name in self.attributes)
        known = dict(zip(self.symbols, (*inputs, *numbers), strict=True))
        return np.asarray(_evaluate(self.value, known, own))


def formula(
    name: str,
    value: Callable[..., Number],
    *,
    inputs: int = 1,
    double: Callable[..., Number] | None = None,
    when: Mapping[str, Any] | None = None,
) -> Formula:
    """The formula of a function of symbols."""
    if double is not None and _arguments(double) != _arguments(value):
        raise ValueError(f"{name}: the formula for float64 has other symbols")
    return Formula(
        name,
        _trace(value),
        _arguments(value),
        inputs,
        _trace(value if double is None else double),
        {} if when is None else when,
    )


def reference_of(formulas: tuple[Formula, ...]) -> Callable[..., Array]:
    """The reference of an operator with these formulas."""

    def reference(*inputs: Array, **attrs: Any) -> Array:
        own = (f for f in formulas if all(attrs[k] == v for k, v in f.when.items()))
        return next(own).evaluate(*inputs, **attrs)

    return reference


# ---- NumPy ----

_NUMPY: Final[dict[str, Callable[..., Any]]] = {
    "neg": np.negative,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "select": np.where,
    "max": lambda a, b: np.maximum(b, a),
    "min": lambda a, b: np.minimum(b, a),
    "clamp": lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi),
    "fma": lambda a, b, c: a * b + c,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "rint": np.rint,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "expm1_negative": lambda x: np.expm1(np.minimum(x, x.dtype.type(0))),
    "log": np.log,
    "log1p_unit": np.log1p,
    "tanh": np.tanh,
    "erf": num.erf,
    "sigmoid": num.sigmoid,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}


def _evaluate(e: Expr, known: Mapping[str, Any], own: Callable[[float], Any]) -> Any:
    if isinstance(e, Symbol):
        return known[e.name]
    if isinstance(e, Constant):
        return own(e.value)
    return _NUMPY[e.op](*(_evaluate(part, known, own) for part in e.parts))


# ---- C ----


@dataclass(frozen=True, slots=True)
class Dialect:
    """The syntax of formulas in a language.

    calls: by operation a text with a `{}` for every part. otherwise: the text of other operations, from the name
    and the parts joined by commas. constant: the text of a number.
    """

    calls: Mapping[str, str]
    otherwise: Callable[[str], str]
    constant: Callable[[float], str]

    def say(self, e: Expr, names: Mapping[str, str]) -> str:
        """The expression, with symbols by these names."""
        if isinstance(e, Symbol):
            return names[e.name]
        if isinstance(e, Constant):
            return self.constant(e.value)
        parts = [self.say(part, names) for part in e.parts]
        if e.op in self.calls:
            return self.calls[e.op].format(*parts)
        return f"{self.otherwise(e.op)}({', '.join(parts)})"


def _lanes(value: float) -> str:
    if value == 0:
        return "N(zero)()"
    text = str(np.float32(value))
    return f"N(set1)({text}{'' if '.' in text or 'e' in text else '.0'}f)"


# The vocabulary of simd/, vectors and portable C alike.
VECTORS: Final = Dialect({}, lambda op: f"N({op})", _lanes)

# float64 by the C library; operators stand in parentheses.
DOUBLES: Final = Dialect(
    {
        "neg": "(-{0})",
        **{
            op: f"({{0}} {sign} {{1}})"
            for op, sign in {
                "add": "+", "sub": "-", "mul": "*", "div": "/",
                "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
            }.items()
        },
        "select": "({0} ? {1} : {2})",
        "max": "({0} > {1} ? {0} : {1})",
        "min": "({0} < {1} ? {0} : {1})",
        "clamp": "smr_f64_clamp({0}, {1}, {2})",
        "abs": "fabs({0})",
        "rint": "nearbyint({0})",
        "expm1_negative": "expm1({0})",
        "log1p_unit": "log1p({0})",
        "sigmoid": "smr_f64_sigmoid({0})",
    },
    lambda op: op,
    repr,
)  # fmt: skip
