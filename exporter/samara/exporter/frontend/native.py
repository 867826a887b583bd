# SPDX-License-Identifier: Apache-2.0
"""Runs operators of the eager engine on the C kernels. They are prepared once per shape and cached."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.frontend import memory
from samara.exporter.frontend.tape import complete, ir_dtype
from samara.exporter.ops import InferContext, OpSpec
from samara.exporter.types import Dim, DType, Quant, TensorType, as_dim
from samara.pybridge import op as bridge

Array = np.ndarray[Any, Any]

_KEPT: Final = 4096  # prepared operators kept; 1-2 KB each
_KEPT_TYPED: Final = 512  # of quantized ones, whose parameters change during training

fallbacks: Final[Counter[str]] = Counter()
"""Heavy operators that ran in numpy because of a dtype, by name."""


class _Ready:
    """A prepared operator, and (shape, dtype) and quantization of each result."""

    __slots__ = ("outputs", "prepared", "quants")

    def __init__(self, prepared: bridge.Prepared, results: Sequence[TensorType]) -> None:
        self.prepared = prepared
        self.outputs = _shapes(results)
        self.quants = [t.quant for t in results]


_cache: dict[Any, _Ready] = {}
_typed: dict[Any, _Ready] = {}


def run(op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]) -> Any:
    """The result of an operator: an array, or a tuple if the operator may have several.

    Operands may be strided; results are row-major.
    """
    key = (
        op,
        *[None if a is None else (a.dtype, a.shape, a.strides) for a in arrays],
        *attrs.items(),
    )
    ready = _cache.get(key)
    if ready is None:
        ready = _prepare(op, arrays, [None] * len(arrays), attrs)
        if len(_cache) >= _KEPT:
            _cache.clear()
        _cache[key] = ready
    outputs = [memory.empty(shape, dtype) for shape, dtype in ready.outputs]
    ready.prepared(arrays, outputs)
    return outputs[0] if op.max_outputs == 1 else tuple(outputs)


def prepare(
    op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]
) -> tuple[bridge.Prepared, list[tuple[Any, Any]]]:
    """The operator, prepared for arrays like these, and (shape, dtype) of each result."""
    ready = _prepare(op, arrays, [None] * len(arrays), attrs)
    return ready.prepared, ready.outputs


def results_of(
    op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """(shape, dtype) of each result, by the operator's shape rule; `attrs` are complete."""
    return _shapes(_infer(op, arrays, [None] * len(arrays), attrs))


def _shapes(types: Sequence[TensorType]) -> list[tuple[Any, Any]]:
    return [(t.static_shape(), t.dtype.numpy) for t in types]


def run_typed(
    op: OpSpec,
    arrays: Sequence[Array | None],
    quants: Sequence[Quant | None],
    attrs: Mapping[str, Any],
) -> list[tuple[Array, Quant | None]]:
    """(array, quantization) of each result of an operator on int8 arrays.

    `quants` has the quantization of each operand, None for an array of plain numbers.
    """
    key = (
        op,
        *[None if a is None else (a.dtype, a.shape, a.strides) for a in arrays],
        *quants,
        *attrs.items(),
    )
    ready = _typed.get(key)
    if ready is None:
        ready = _prepare(op, arrays, quants, attrs)
        if len(_typed) >= _KEPT_TYPED:
            _typed.clear()
        _typed[key] = ready
    outputs = [memory.empty(shape, dtype) for shape, dtype in ready.outputs]
    ready.prepared(arrays, outputs)
    return list(zip(outputs, ready.quants, strict=True))


def _infer(
    op: OpSpec,
    arrays: Sequence[Array | None],
    quants: Sequence[Quant | None],
    attrs: Mapping[str, Any],
) -> Sequence[TensorType]:
    types: list[TensorType | None] = []
    for a, q in zip(arrays, quants, strict=True):
        if a is None:
            types.append(None)
        else:
            dtype = ir_dtype(a.dtype) if q is None else DType.QS8
            types.append(TensorType(dtype, tuple(map(as_dim, a.shape)), q))
    return op.infer(InferContext(op, types, attrs, output_count=op.max_outputs))


def _prepare(
    op: OpSpec,
    arrays: Sequence[Array | None],
    quants: Sequence[Quant | None],
    attrs: Mapping[str, Any],
) -> _Ready:
    full = complete(op, attrs)
    made = _infer(op, arrays, quants, full)
    operands = [
        None if a is None else (a.dtype if q is None else "qint8", a.shape, a.strides, q)
        for a, q in zip(arrays, quants, strict=True)
    ]
    results = [
        (t.dtype.numpy if t.quant is None else "qint8", t.static_shape(), None, t.quant)
        for t in made
    ]
    given = {a.name: _plain(a.type, full[a.name]) for a in op.attrs}
    return _Ready(bridge.prepare(op.code, given, operands, results), made)


def _plain(kind: str, value: Any) -> Any:
    """An attribute with sizes as ints and dtypes as codes."""
    if kind == "dim":
        return as_dim(value).as_int()
    if kind == "dims":
        return tuple(v.as_int() if isinstance(v, Dim) else int(v) for v in value)
    if kind == "dtype":
        return value.code  # int8 and its quantized form have the same name
    return value


def run_elementwise(op: OpSpec, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """An elementwise operator with one result. If every operand has the result's shape or one element, the
    result gets the axis order in memory (channels last, for example) of the first that is not expanded.
    """
    lead = arrays[0]
    for a in arrays:
        if (
            a.ndim > lead.ndim
            or a.size > lead.size
            or (0 in lead.strides and a.shape == lead.shape)
        ):
            lead = a
    if lead.flags.c_contiguous or any(a.shape != lead.shape and a.size != 1 for a in arrays):
        return run(op, arrays, attrs)
    order, back = _orders(lead.strides)
    dense = [a.transpose(order) if a.shape == lead.shape else a.reshape(()) for a in arrays]
    return run(op, dense, attrs).transpose(back)


@functools.lru_cache(maxsize=1024)
def _orders(strides: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The axes by decreasing stride, and the inverse permutation."""
    order = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    return order, sorted(range(len(order)), key=order.__getitem__)
