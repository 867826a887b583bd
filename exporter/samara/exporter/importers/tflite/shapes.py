# SPDX-License-Identifier: Apache-2.0
"""Shape arithmetic: operators over small integer tensors with dims as elements become expressions.

Without it, `SHAPE → STRIDED_SLICE → PACK → RESHAPE` would compute at run time what is known as an integer
expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter.importers.common import shape_arithmetic as arithmetic
from samara.exporter.importers.common.operand import ShapeData, shape_data
from samara.exporter.importers.common.shape_arithmetic import NotArithmetic, each, ints, need
from samara.exporter.importers.tflite.element_types import IMPORTED_DTYPES
from samara.exporter.importers.tflite.model import NO_TENSOR, Operator
from samara.exporter.types import DType

if TYPE_CHECKING:
    from samara.exporter.importers.tflite.graph import Graph

Data = list[ShapeData | None]


def propagate(graph: Graph, operator: Operator) -> ShapeData | None:
    """The result of an operator as ShapeData, or None if it is not shape arithmetic."""
    if operator.is_custom or not operator.inputs:
        return None
    if operator.name in ("SHAPE", "RANK"):
        return _shape_of(graph, operator)
    rule = _RULES.get(operator.name)
    if rule is None or operator.options.get("fused_activation_function", "NONE") != "NONE":
        return None
    operands = [None if i == NO_TENSOR else graph.lookup(i) for i in operator.inputs]
    if not any(isinstance(o, ShapeData) for o in operands):
        return None
    data = [None if o is None else arithmetic.as_data(o) for o in operands]
    if any(o is not None and d is None for o, d in zip(operands, data, strict=True)):
        return None
    try:
        result = rule(data, _Options(graph, operator))
    except (NotArithmetic, ArithmeticError, LookupError, ValueError):
        return None  # not expressible, or an error that the operator's converter explains better
    return arithmetic.concluded(graph, result)


class _Options:
    """The options of an operator, and the element type of its result."""

    def __init__(self, graph: Graph, operator: Operator) -> None:
        self.values = operator.options
        made = next((i for i in operator.outputs if i != NO_TENSOR), None)
        kind = "INT32" if made is None else graph.tensor(made).type
        self.dtype = IMPORTED_DTYPES.get(kind, DType.I32)

    def get(self, name: str, default: Any = 0) -> Any:
        return self.values.get(name, default)


def _shape_of(graph: Graph, operator: Operator) -> ShapeData | None:
    dims = arithmetic.dims_of(graph, graph.lookup(operator.inputs[0]))
    if dims is None:
        return None
    if graph.tensor(operator.inputs[0]).type == "COMPLEX64":
        dims = dims[:-1]  # real and imaginary parts lie along an axis of their own
    if operator.name == "RANK":
        return shape_data(np.array(len(dims), dtype=object), DType.I32)
    wide = operator.options.get("out_type", "INT32") == "INT64"
    return shape_data(dims, DType.I64 if wide else DType.I32)


def _strided_slice(data: Data, o: _Options) -> ShapeData:
    x = need(data, 0)
    begin, end, step = (ints(need(data, i)) or [] for i in (1, 2, 3))
    if o.get("ellipsis_mask") or o.get("new_axis_mask") or o.get("offset", False):
        raise NotArithmetic
    index: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, step, strict=True)):
        if o.get("shrink_axis_mask") >> i & 1:
            index.append(b)
            continue
        low = None if o.get("begin_mask") >> i & 1 else b
        high = None if o.get("end_mask") >> i & 1 else e
        index.append(slice(low, high, s))
    return _view(x, x.elements[tuple(index)])


def _view(x: ShapeData, elements: Any) -> ShapeData:
    """Elements taken from x, also a single one, as an array."""
    return ShapeData(np.array(elements, dtype=object).reshape(np.shape(elements)), x.dtype)


def _slice(data: Data, o: _Options) -> ShapeData:
    x = need(data, 0)
    begin, size = (ints(need(data, i)) or [] for i in (1, 2))
    index = tuple(slice(b, None if n < 0 else b + n) for b, n in zip(begin, size, strict=True))
    return ShapeData(x.elements[index], x.dtype)


def _pack(data: Data, o: _Options) -> ShapeData:
    parts = arithmetic.all_of(data)
    apart = [ShapeData(np.expand_dims(p.elements, o.get("axis")), p.dtype) for p in parts]
    return arithmetic.concat(apart, o.get("axis"))


def _reshape(data: Data, o: _Options) -> ShapeData:
    x = need(data, 0)
    target = ints(need(data, 1)) if len(data) > 1 else list(o.get("new_shape", ()))
    return ShapeData(x.elements.reshape(target or ()), x.dtype)


def _squeeze(data: Data, o: _Options) -> ShapeData:
    x, axes = need(data, 0), tuple(o.get("squeeze_dims", ()))
    return ShapeData(np.squeeze(x.elements, axes or None), x.dtype)


def _expand_dims(data: Data, o: _Options) -> ShapeData:
    x = need(data, 0)
    return ShapeData(np.expand_dims(x.elements, arithmetic.scalar(need(data, 1))), x.dtype)


def _fill(data: Data, o: _Options) -> ShapeData:
    value = need(data, 1)
    if value.elements.size != 1:
        raise NotArithmetic
    return arithmetic.filled(ints(need(data, 0)) or (), value.dims()[0], value.dtype)


def _each(f: Callable[[Any], Any]) -> Callable[..., ShapeData]:
    return lambda d, o: ShapeData(each(need(d, 0).elements, f), need(d, 0).dtype)


def _binary(f: Callable[[Any, Any], Any], dtype: DType | None = None) -> Callable[..., ShapeData]:
    return lambda d, o: arithmetic.folded(arithmetic.all_of(d), f, dtype)


def _reduce(combine: Callable[[Any, Any], Any]) -> Callable[..., ShapeData]:
    return lambda d, o: arithmetic.reduced(
        need(d, 0), combine, ints(need(d, 1)), bool(o.get("keep_dims", False))
    )


def _concat(data: Data, o: _Options) -> ShapeData:
    return arithmetic.concat(arithmetic.all_of(data), o.get("axis"))


def _broadcast_args(data: Data, o: _Options) -> ShapeData:
    a, b = (need(data, i).dims() for i in (0, 1))
    rank = max(len(a), len(b))
    ones = [(1,) * (rank - len(s)) + tuple(s) for s in (a, b)]
    out = []
    for p, q in zip(*ones, strict=True):
        if p == 1 or p == q:
            out.append(q)
        elif q == 1:
            out.append(p)
        else:
            raise NotArithmetic
    return shape_data(out, need(data, 0).dtype)


_RULES: dict[str, Callable[[Data, _Options], ShapeData | None]] = {
    "GATHER": lambda d, o: arithmetic.gather(need(d, 0), need(d, 1), o.get("axis")),
    "STRIDED_SLICE": _strided_slice,
    "SLICE": _slice,
    "CONCATENATION": _concat,
    "PACK": _pack,
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand_dims,
    "CAST": lambda d, o: arithmetic.cast(need(d, 0), o.dtype),
    "FLOOR": _each(arithmetic.floored),
    "CEIL": _each(arithmetic.ceiled),
    "FILL": _fill,
    "RANGE": lambda d, o: arithmetic.stepped(need(d, 0), need(d, 1), need(d, 2)),
    "BROADCAST_TO": lambda d, o: arithmetic.expanded(need(d, 0), ints(need(d, 1)) or ()),
    "BROADCAST_ARGS": _broadcast_args,
    "SELECT": lambda d, o: arithmetic.chosen(need(d, 0), need(d, 1), need(d, 2)),
    "SELECT_V2": lambda d, o: arithmetic.chosen(need(d, 0), need(d, 1), need(d, 2)),
    "REDUCE_PROD": _reduce(lambda a, b: a * b),
    "SUM": _reduce(lambda a, b: a + b),
    "REDUCE_MAX": _reduce(arithmetic.larger),
    "REDUCE_MIN": _reduce(arithmetic.smaller),
    "ADD": _binary(arithmetic.plus),
    "SUB": _binary(arithmetic.minus),
    "MUL": _binary(arithmetic.times),
    "DIV": lambda d, o: arithmetic.divided(arithmetic.all_of(d)),
    "FLOOR_DIV": _binary(arithmetic.floored_quotient),
    "FLOOR_MOD": _binary(arithmetic.remainder),
    "MINIMUM": _binary(arithmetic.smaller),
    "MAXIMUM": _binary(arithmetic.larger),
    "EQUAL": _binary(arithmetic.COMPARISONS["eq"], DType.BOOL),
    "NOT_EQUAL": _binary(arithmetic.COMPARISONS["ne"], DType.BOOL),
    "LESS": _binary(arithmetic.COMPARISONS["lt"], DType.BOOL),
    "GREATER": _binary(arithmetic.COMPARISONS["gt"], DType.BOOL),
    "LESS_EQUAL": _binary(arithmetic.COMPARISONS["le"], DType.BOOL),
    "GREATER_EQUAL": _binary(arithmetic.COMPARISONS["ge"], DType.BOOL),
    "LOGICAL_AND": _binary(arithmetic.both, DType.BOOL),
    "LOGICAL_OR": _binary(arithmetic.larger, DType.BOOL),
    "LOGICAL_NOT": lambda d, o: arithmetic.inverted(need(d, 0)),
    "NEG": lambda d, o: arithmetic.negated(need(d, 0)),
}
