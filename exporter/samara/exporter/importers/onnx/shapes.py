# SPDX-License-Identifier: Apache-2.0
"""Shape arithmetic: nodes over small integer tensors with dims as elements become expressions.

Without it, `Shape → Gather → Concat → Reshape` would compute at run time what is known as an integer
expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx

from samara.exporter.importers.onnx.context import element_code, tensor_data
from samara.exporter.importers.onnx.operand import (
    MAX_SHAPE_ELEMENTS,
    Ratio,
    Scaled,
    ShapeData,
    as_shape_data,
    shape_data,
)
from samara.exporter.ir.program import Value
from samara.exporter.types import (
    Dim,
    DType,
    as_dim,
    bits_f32,
    ceildiv,
    deq,
    dlt,
    dmax,
    dmin,
    f32_bits,
    floordiv,
    mod,
    provably_ge,
    select,
)

if TYPE_CHECKING:
    from samara.exporter.importers.onnx.scope import Scope

Elements = npt.NDArray[Any]


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
    data = []
    for o in operands:
        seen = None if o is None else _as_data(o)
        if o is not None and seen is None:
            return None
        data.append(seen)
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    try:
        result = rule(scope, data, attrs)
    except (_NotArithmetic, ArithmeticError, LookupError, ValueError):
        return None  # not expressible, or an error that the operator's converter explains better
    if result is None or result.elements.size > MAX_SHAPE_ELEMENTS:
        return None
    known = np.empty(result.elements.shape, dtype=object)
    known.reshape(-1)[:] = [scope.known(d) if isinstance(d, Dim) else d for d in result.dims()]
    return ShapeData(known, result.dtype)


class _NotArithmetic(Exception):
    """Raised inside a rule if the result cannot be expressed."""


def _as_data(operand: Any) -> ShapeData | None:
    data = as_shape_data(operand)
    if data is not None or not isinstance(operand, Value) or operand.constant is None:
        return data
    if operand.type.dtype is not DType.F32 or operand.constant.size > MAX_SHAPE_ELEMENTS:
        return None
    elements = np.empty(operand.constant.shape, dtype=object)
    elements.reshape(-1)[:] = [float(v) for v in operand.constant.reshape(-1)]
    return ShapeData(elements, DType.F32)


def _shape_of(scope: Scope, node: onnx.NodeProto) -> ShapeData | None:
    operand = scope.lookup(node.input[0])
    if isinstance(operand, ShapeData):
        dims: tuple[Any, ...] = tuple(as_dim(n) for n in operand.elements.shape)
    elif isinstance(operand, Value):
        dims = operand.type.shape
    else:
        return None
    if node.op_type == "Size":
        total = as_dim(1)
        for d in dims:
            total = total * d
        return shape_data(np.array(total, dtype=object))
    attrs = {a.name: a.i for a in node.attribute}
    start, end, _ = slice(attrs.get("start"), attrs.get("end")).indices(len(dims))
    return shape_data([scope.known(d) for d in dims[start:end]])


def _ints(data: ShapeData | None) -> list[int] | None:
    if data is None:
        return None
    if not data.is_static():
        raise _NotArithmetic
    return [int(d.as_int()) for d in data.dims()]


def _axes(data: list[ShapeData | None], attrs: dict[str, Any], index: int) -> list[int] | None:
    if "axes" in attrs:
        return [int(a) for a in attrs["axes"]]
    return _ints(data[index]) if len(data) > index else None


def _need(data: list[ShapeData | None], index: int) -> ShapeData:
    d = data[index]
    if d is None:
        raise _NotArithmetic
    return d


def _gather(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x, indices = _need(data, 0), _need(data, 1)
    picked = np.array(_ints(indices), dtype=np.int64).reshape(indices.elements.shape)
    axis = attrs.get("axis", 0)
    size = x.elements.shape[axis]
    if picked.size and (picked.min() < -size or picked.max() >= size):
        raise _NotArithmetic
    taken = np.take(x.elements, picked, axis=axis)
    return ShapeData(np.array(taken, dtype=object).reshape(np.shape(taken)), x.dtype)


def _slice(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x = _need(data, 0)
    if "starts" in attrs:
        starts, ends, axes, steps = (
            list(attrs["starts"]),
            list(attrs["ends"]),
            attrs.get("axes"),
            None,
        )
    else:
        got = [_ints(data[i]) if i < len(data) else None for i in range(1, 5)]
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


def _concat(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    parts = [_need(data, i) for i in range(len(data))]
    if any(p.dtype is not parts[0].dtype for p in parts):
        raise _NotArithmetic
    return ShapeData(
        np.concatenate([p.elements for p in parts], axis=attrs.get("axis", 0)), parts[0].dtype
    )


def _unsqueeze(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x, axes = _need(data, 0), _axes(data, attrs, 1)
    if axes is None:
        raise _NotArithmetic
    return ShapeData(np.expand_dims(x.elements, tuple(axes)), x.dtype)


def _squeeze(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x, axes = _need(data, 0), _axes(data, attrs, 1)
    return ShapeData(np.squeeze(x.elements, None if axes is None else tuple(axes)), x.dtype)


def _reshape(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x = _need(data, 0)
    target = _ints(_need(data, 1)) or []
    if not attrs.get("allowzero", 0):
        target = [x.elements.shape[i] if n == 0 else n for i, n in enumerate(target)]
    return ShapeData(x.elements.reshape(target), x.dtype)


def _cast(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x = _need(data, 0)
    to = attrs["to"]
    if isinstance(to, bytes):  # by name, before opset 6
        to = element_code(to.decode("utf-8", "replace"))
    if to in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
        dtype = DType.I64 if to == onnx.TensorProto.INT64 else DType.I32
        return ShapeData(_each(x.elements, _truncate), dtype)
    if to == onnx.TensorProto.BOOL:
        return ShapeData(_each(x.elements, lambda d: 1 - deq(_dim(d), 0)), DType.BOOL)
    if to == onnx.TensorProto.FLOAT:
        return ShapeData(x.elements, DType.F32)
    raise _NotArithmetic


def _truncate(d: Any) -> Dim:
    if isinstance(d, float):
        return as_dim(int(d))
    return _floored(d) if _not_negative(d) else _unknown()


def _floored(d: Any) -> Dim:
    if isinstance(d, float):
        return as_dim(math.floor(d))
    return d.floor() if isinstance(d, Scaled | Ratio) else _dim(d)


def _not_negative(d: Any) -> bool:
    """Whether rounding down and rounding towards zero give the same result."""
    if isinstance(d, Scaled):
        return provably_ge(d.dim, 0) and float(bits_f32(d.bits.as_int())) >= 0.0
    return not isinstance(d, Ratio) or (provably_ge(d.dim, 0) and provably_ge(d.divisor, 1))


def _floor(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x = _need(data, 0)
    return ShapeData(_each(x.elements, _floored), x.dtype)


def _ceil(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x = _need(data, 0)
    return ShapeData(_each(x.elements, _ceiled), x.dtype)


def _ceiled(d: Any) -> Dim:
    if isinstance(d, float):
        return as_dim(math.ceil(d))
    return ceildiv(d.dim, d.divisor) if isinstance(d, Ratio) else _dim(d)


def _identity(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    return _need(data, 0)


def _constant_of_shape(
    _: Scope, data: list[ShapeData | None], attrs: dict[str, Any]
) -> ShapeData | None:
    shape = _ints(_need(data, 0)) or []
    if "value" not in attrs or int(np.prod(shape)) > MAX_SHAPE_ELEMENTS:
        return None
    value = tensor_data(attrs["value"], "attribute 'value'").reshape(-1)[0]
    if value.dtype not in (np.int64, np.int32):
        return None
    return shape_data(np.full(shape, int(value), dtype=object), DType.from_numpy(value.dtype))


def _range(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    bounds = [_scalar(_need(data, i)) for i in range(3)]
    if bounds[2] == 0:
        raise _NotArithmetic
    span = range(*bounds)
    if len(span) > MAX_SHAPE_ELEMENTS:
        raise _NotArithmetic
    return shape_data(list(span), _need(data, 0).dtype)


def _scalar(data: ShapeData) -> int:
    values = _ints(data)
    if values is None or len(values) != 1:
        raise _NotArithmetic
    return values[0]


def _expand(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    x = _need(data, 0)
    shape = np.broadcast_shapes(x.elements.shape, tuple(_ints(_need(data, 1)) or ()))
    return ShapeData(np.broadcast_to(x.elements, shape), x.dtype)


def _where(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    c, a, b = (_need(data, i) for i in range(3))
    if a.dtype is not b.dtype:
        raise _NotArithmetic
    arrays = np.broadcast_arrays(c.elements, a.elements, b.elements)
    out = np.empty(arrays[0].shape, dtype=object)
    triples = zip(*(x.reshape(-1) for x in arrays), strict=True)
    out.reshape(-1)[:] = [select(_dim(p), _dim(q), _dim(r)) for p, q, r in triples]
    return ShapeData(out, a.dtype)


def _reduce(combine: Callable[[Any, Any], Any]) -> Callable[..., ShapeData]:
    def rule(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
        x, axes = _need(data, 0), _axes(data, attrs, 1)
        if (
            x.elements.ndim != 1
            or x.elements.size == 0
            or (axes is not None and axes not in ([0], [-1]))
        ):
            raise _NotArithmetic
        total = _dim(x.elements[0])
        for d in x.elements[1:]:
            total = combine(total, _dim(d))
        shape = (1,) if attrs.get("keepdims", 1) else ()
        out = np.empty(shape, dtype=object)
        out.reshape(-1)[:] = [total]
        return ShapeData(out, x.dtype)

    return rule


def _dim(d: Any) -> Dim:
    if isinstance(d, Dim):
        return d
    if isinstance(d, float) and d.is_integer():
        return as_dim(int(d))
    raise _NotArithmetic


def _each(elements: Elements, f: Callable[[Any], Any]) -> Elements:
    out = np.empty(elements.shape, dtype=object)
    out.reshape(-1)[:] = [f(d) for d in elements.reshape(-1)]
    return out


def _binary(f: Callable[[Any, Any], Any], dtype: DType | None = None) -> Callable[..., ShapeData]:
    def rule(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
        result = _need(data, 0)
        for i in range(1, len(data)):
            other = _need(data, i)
            if other.dtype is not result.dtype:
                raise _NotArithmetic  # the operator's converter reports the error
            a, b = np.broadcast_arrays(result.elements, other.elements)
            out = np.empty(a.shape, dtype=object)
            out.reshape(-1)[:] = [
                f(p, q) for p, q in zip(a.reshape(-1), b.reshape(-1), strict=True)
            ]
            result = ShapeData(out, result.dtype)
        return ShapeData(result.elements, result.dtype if dtype is None else dtype)

    return rule


def _unknown() -> Dim:
    raise _NotArithmetic


def _mul(a: Any, b: Any) -> Any:
    for p, q in ((a, b), (b, a)):
        if isinstance(p, float) and not p.is_integer() and isinstance(q, Dim):
            return Scaled(q, as_dim(f32_bits(p)))
    return _dim(a) * _dim(b)


def _div(_: Scope, data: list[ShapeData | None], attrs: dict[str, Any]) -> ShapeData:
    kind = _need(data, 0).dtype
    return _binary(_quotient if kind is DType.F32 else _truncated)(_, data, attrs)


def _quotient(a: Any, b: Any) -> Any:
    divisor = _dim(b)
    if divisor == 0:
        raise _NotArithmetic
    return a if divisor == 1 else Ratio(_dim(a), divisor)


def _truncated(a: Any, b: Any) -> Dim:
    """Integer division towards zero, as in ONNX."""
    x, y = _dim(a), _dim(b)
    if y == 0:
        raise _NotArithmetic
    if y.is_static and y.as_int() < 0:
        x, y = -x, -y
    if not provably_ge(y, 1) and not (y.bounds()[0] == 0):
        raise _NotArithmetic  # a divisor of unknown sign
    if provably_ge(x, 0):
        return floordiv(x, y)
    return select(dlt(x, 0), -floordiv(-x, y), floordiv(x, y))


def _mod(a: Any, b: Any) -> Dim:
    if _dim(b) == 0:
        raise _NotArithmetic
    return mod(_dim(a), _dim(b))


_RULES: dict[str, Callable[..., ShapeData | None]] = {
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Cast": _cast,
    "Floor": _floor,
    "Identity": _identity,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Expand": _expand,
    "Where": _where,
    "ReduceProd": _reduce(lambda a, b: a * b),
    "ReduceSum": _reduce(lambda a, b: a + b),
    "ReduceMax": _reduce(dmax),
    "ReduceMin": _reduce(dmin),
    "Add": _binary(lambda a, b: _dim(a) + _dim(b)),
    "Sub": _binary(lambda a, b: _dim(a) - _dim(b)),
    "Mul": _binary(_mul),
    "Div": _div,
    "Ceil": _ceil,
    "Mod": lambda s, data, attrs: None if attrs.get("fmod", 0) else _binary(_mod)(s, data, attrs),
    "Min": _binary(lambda a, b: dmin(_dim(a), _dim(b))),
    "Max": _binary(lambda a, b: dmax(_dim(a), _dim(b))),
    "Equal": _binary(lambda a, b: deq(_dim(a), _dim(b)), DType.BOOL),
    "Less": _binary(lambda a, b: dlt(_dim(a), _dim(b)), DType.BOOL),
    "Greater": _binary(lambda a, b: dlt(_dim(b), _dim(a)), DType.BOOL),
    "LessOrEqual": _binary(lambda a, b: 1 - dlt(_dim(b), _dim(a)), DType.BOOL),
    "GreaterOrEqual": _binary(lambda a, b: 1 - dlt(_dim(a), _dim(b)), DType.BOOL),
    "And": _binary(lambda a, b: _dim(a) * _dim(b), DType.BOOL),
    "Or": _binary(lambda a, b: dmax(_dim(a), _dim(b)), DType.BOOL),
    "Not": lambda _, data, attrs: ShapeData(
        _each(_need(data, 0).elements, lambda d: 1 - _dim(d)), DType.BOOL
    ),
    "Neg": lambda _, data, attrs: ShapeData(
        _each(_need(data, 0).elements, lambda d: -_dim(d)), _need(data, 0).dtype
    ),
}
