# SPDX-License-Identifier: Apache-2.0
"""Shape arithmetic: nodes over small integer tensors with dims as elements become expressions.

Without it, `Shape → Gather → Concat → Reshape` would compute at run time what is known as an integer
expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from samara.exporter.importers.common import shape_arithmetic as arithmetic
from samara.exporter.importers.common.operand import ShapeData, shape_data
from samara.exporter.importers.common.shape_arithmetic import NotArithmetic, each, ints, need
from samara.exporter.importers.onnx.context import element_code, tensor_data
from samara.exporter.importers.onnx.element_types import IMPORTED_DTYPES
from samara.exporter.types import DType

if TYPE_CHECKING:
    from samara.exporter.importers.onnx.scope import Scope

Data = list[ShapeData | None]


def propagate(scope: Scope, node: onnx.NodeProto) -> Any:
    """The result of a node as ShapeData, or None if the node is not shape arithmetic."""
    if node.domain not in ("", "ai.onnx") or not node.input:
        return None
    if node.op_type in ("Shape", "Size"):
        return _shape_of(scope, node)
    rule = _RULES.get(node.op_type)
    if rule is None or any(a.name == "broadcast" for a in node.attribute):
        return None
    operands = [scope.lookup(n) if n else None for n in node.input]
    if not any(isinstance(o, ShapeData) for o in operands):
        return None
    data = [None if o is None else arithmetic.as_data(o) for o in operands]
    if any(o is not None and d is None for o, d in zip(operands, data, strict=True)):
        return None
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    try:
        result = rule(data, attrs)
    except (NotArithmetic, ArithmeticError, LookupError, ValueError):
        return None  # not expressible, or an error that the operator's converter explains better
    return arithmetic.concluded(scope, result)


def _shape_of(scope: Scope, node: onnx.NodeProto) -> ShapeData | None:
    dims = arithmetic.dims_of(scope, scope.lookup(node.input[0]))
    if dims is None:
        return None
    if node.op_type == "Size":
        return shape_data(np.array(arithmetic.product(dims), dtype=object))
    attrs = {a.name: a.i for a in node.attribute}
    start, end, _ = slice(attrs.get("start"), attrs.get("end")).indices(len(dims))
    return shape_data(dims[start:end])


def _axes(data: Data, attrs: dict[str, Any], index: int) -> list[int] | None:
    if "axes" in attrs:
        return [int(a) for a in attrs["axes"]]
    return ints(data[index]) if len(data) > index else None


def _slice(data: Data, attrs: dict[str, Any]) -> ShapeData:
    x = need(data, 0)
    if "starts" in attrs:
        starts, ends, axes, steps = (
            list(attrs["starts"]),
            list(attrs["ends"]),
            attrs.get("axes"),
            None,
        )
    else:
        got = [ints(data[i]) if i < len(data) else None for i in range(1, 5)]
        starts, ends, axes, steps = got[0] or [], got[1] or [], got[2], got[3]
    axes = list(axes) if axes is not None else list(range(len(starts)))
    steps = steps or [1] * len(starts)
    index = [slice(None)] * x.elements.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = x.elements.shape[axis]
        stop: int | None = end
        if step < 0 and end < -size:
            stop = None
        index[axis] = slice(start, stop, step)
    return ShapeData(x.elements[tuple(index)], x.dtype)


def _unsqueeze(data: Data, attrs: dict[str, Any]) -> ShapeData:
    x, axes = need(data, 0), _axes(data, attrs, 1)
    if axes is None:
        raise NotArithmetic
    return ShapeData(np.expand_dims(x.elements, tuple(axes)), x.dtype)


def _squeeze(data: Data, attrs: dict[str, Any]) -> ShapeData:
    x, axes = need(data, 0), _axes(data, attrs, 1)
    return ShapeData(np.squeeze(x.elements, None if axes is None else tuple(axes)), x.dtype)


def _reshape(data: Data, attrs: dict[str, Any]) -> ShapeData:
    x = need(data, 0)
    target = ints(need(data, 1)) or []
    if not attrs.get("allowzero", 0):
        target = [x.elements.shape[i] if n == 0 else n for i, n in enumerate(target)]
    return ShapeData(x.elements.reshape(target), x.dtype)


def _cast(data: Data, attrs: dict[str, Any]) -> ShapeData:
    x = need(data, 0)
    to = attrs["to"]
    if isinstance(to, bytes):  # by name, before opset 6
        to = element_code(to.decode("utf-8", "replace"))
    if to not in IMPORTED_DTYPES:
        raise NotArithmetic
    return arithmetic.cast(x, IMPORTED_DTYPES[to])


def _constant_of_shape(data: Data, attrs: dict[str, Any]) -> ShapeData | None:
    if "value" not in attrs:
        return None
    value = tensor_data(attrs["value"], "attribute 'value'").reshape(-1)[0]
    if value.dtype not in (np.int64, np.int32):
        return None
    shape = ints(need(data, 0)) or []
    filled = arithmetic.filled(shape, int(value), DType.from_numpy(value.dtype))
    return shape_data(filled.elements, filled.dtype)


def _reduce(combine: Callable[[Any, Any], Any]) -> Callable[..., ShapeData]:
    def rule(data: Data, attrs: dict[str, Any]) -> ShapeData:
        keep = bool(attrs.get("keepdims", 1))
        return arithmetic.reduced(need(data, 0), combine, _axes(data, attrs, 1), keep)

    return rule


def _each(f: Callable[[Any], Any]) -> Callable[..., ShapeData]:
    def rule(data: Data, attrs: dict[str, Any]) -> ShapeData:
        x = need(data, 0)
        return ShapeData(each(x.elements, f), x.dtype)

    return rule


def _binary(f: Callable[[Any, Any], Any], dtype: DType | None = None) -> Callable[..., ShapeData]:
    return lambda data, attrs: arithmetic.folded(arithmetic.all_of(data), f, dtype)


def _mod(data: Data, attrs: dict[str, Any]) -> ShapeData | None:
    return (
        None
        if attrs.get("fmod", 0)
        else arithmetic.folded(arithmetic.all_of(data), arithmetic.remainder)
    )


_RULES: dict[str, Callable[..., ShapeData | None]] = {
    "Gather": lambda d, attrs: arithmetic.gather(need(d, 0), need(d, 1), attrs.get("axis", 0)),
    "Slice": _slice,
    "Concat": lambda d, attrs: arithmetic.concat(arithmetic.all_of(d), attrs.get("axis", 0)),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Cast": _cast,
    "Floor": _each(arithmetic.floored),
    "Ceil": _each(arithmetic.ceiled),
    "Identity": lambda d, attrs: need(d, 0),
    "ConstantOfShape": _constant_of_shape,
    "Range": lambda d, attrs: arithmetic.stepped(need(d, 0), need(d, 1), need(d, 2)),
    "Expand": lambda d, attrs: arithmetic.expanded(need(d, 0), ints(need(d, 1)) or ()),
    "Where": lambda d, attrs: arithmetic.chosen(need(d, 0), need(d, 1), need(d, 2)),
    "ReduceProd": _reduce(lambda a, b: a * b),
    "ReduceSum": _reduce(lambda a, b: a + b),
    "ReduceMax": _reduce(arithmetic.larger),
    "ReduceMin": _reduce(arithmetic.smaller),
    "Add": _binary(arithmetic.plus),
    "Sub": _binary(arithmetic.minus),
    "Mul": _binary(arithmetic.times),
    "Div": lambda d, attrs: arithmetic.divided(arithmetic.all_of(d)),
    "Mod": _mod,
    "Min": _binary(arithmetic.smaller),
    "Max": _binary(arithmetic.larger),
    "Equal": _binary(arithmetic.COMPARISONS["eq"], DType.BOOL),
    "Less": _binary(arithmetic.COMPARISONS["lt"], DType.BOOL),
    "Greater": _binary(arithmetic.COMPARISONS["gt"], DType.BOOL),
    "LessOrEqual": _binary(arithmetic.COMPARISONS["le"], DType.BOOL),
    "GreaterOrEqual": _binary(arithmetic.COMPARISONS["ge"], DType.BOOL),
    "And": _binary(arithmetic.both, DType.BOOL),
    "Or": _binary(arithmetic.larger, DType.BOOL),
    "Not": lambda d, attrs: arithmetic.inverted(need(d, 0)),
    "Neg": lambda d, attrs: arithmetic.negated(need(d, 0)),
}
