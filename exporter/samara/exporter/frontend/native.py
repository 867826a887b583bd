# SPDX-License-Identifier: Apache-2.0
"""Operators of the eager engine on the C kernels: prepared once per shape, then cached."""

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
_KEPT_TYPED: Final = 512  # of quantized ones, whose parameters move while they are being learned

fallbacks: Final[Counter[str]] = Counter()
"""Heavy operators that ran in numpy because of a dtype, by name."""


class _Ready:
    """A prepared operator and what its results are."""

    __slots__ = ("outputs", "prepared")

    def __init__(self, prepared: bridge.Prepared, outputs: list[tuple[Any, Any]]) -> None:
        self.prepared = prepared
        self.outputs = outputs


_cache: dict[Any, _Ready] = {}
_typed: dict[Any, tuple[_Ready, list[Quant | None]]] = {}


def run(op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]) -> Any:
    """The results of an operator: an array, or a tuple where it may have several.

    Arrays may be strided; results are row-major.
    """
    key = (
        op,
        *[None if a is None else (a.dtype, a.shape, a.strides) for a in arrays],
        *attrs.items(),
    )
    ready = _cache.get(key)
    if ready is None:
        ready = _prepare(op, arrays, attrs)
        if len(_cache) >= _KEPT:
            _cache.clear()
        _cache[key] = ready
    outputs = [memory.empty(shape, dtype) for shape, dtype in ready.outputs]
    ready.prepared(arrays, outputs)
    return outputs[0] if op.max_outputs == 1 else tuple(outputs)


def prepare(
    op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]
) -> tuple[bridge.Prepared, list[tuple[Any, Any]]]:
    """The operator for arrays like these, and (shape, dtype) of each result."""
    ready = _prepare(op, arrays, attrs)
    return ready.prepared, ready.outputs


def results_of(
    op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """(shape, dtype) of each result, by the operator's shape rule; `attrs` are complete."""
    types = [
        None if a is None else TensorType(ir_dtype(a.dtype), tuple(map(as_dim, a.shape)))
        for a in arrays
    ]
    context = InferContext(op, types, attrs, output_count=op.max_outputs)
    return [(t.static_shape(), t.dtype.numpy) for t in op.infer(context)]


def _prepare(op: OpSpec, arrays: Sequence[Array | None], attrs: Mapping[str, Any]) -> _Ready:
    full = complete(op, attrs)
    outputs = results_of(op, arrays, full)
    given = {a.name: _plain(a.type, full[a.name]) for a in op.attrs}
    operands = [None if a is None else (a.dtype, a.shape, a.strides) for a in arrays]
    prepared = bridge.prepare(op.code, given, operands, [(d, s) for s, d in outputs])
    return _Ready(prepared, outputs)


def run_typed(
    op: OpSpec,
    arrays: Sequence[Array | None],
    quants: Sequence[Quant | None],
    attrs: Mapping[str, Any],
) -> list[tuple[Array, Quant | None]]:
    """Each result of an operator on int8 arrays that are quantized by `quants` (None: an array of
    plain numbers), and its parameters where it is quantized."""
    key = (
        op,
        *[None if a is None else (a.dtype, a.shape, a.strides) for a in arrays],
        *quants,
        *attrs.items(),
    )
    known = _typed.get(key)
    if known is None:
        known = _prepare_typed(op, arrays, quants, attrs)
        if len(_typed) >= _KEPT_TYPED:
            _typed.clear()
        _typed[key] = known
    ready, found = known
    outputs = [memory.empty(shape, dtype) for shape, dtype in ready.outputs]
    ready.prepared(arrays, outputs)
    return list(zip(outputs, found, strict=True))


def _prepare_typed(
    op: OpSpec,
    arrays: Sequence[Array | None],
    quants: Sequence[Quant | None],
    attrs: Mapping[str, Any],
) -> tuple[_Ready, list[Quant | None]]:
    full = complete(op, attrs)
    types = [
        None
        if a is None
        else TensorType(
            ir_dtype(a.dtype) if q is None else DType.QS8, tuple(map(as_dim, a.shape)), q
        )
        for a, q in zip(arrays, quants, strict=True)
    ]
    made = op.infer(InferContext(op, types, full, output_count=op.max_outputs))
    operands = [
        None if a is None else (a.dtype if q is None else "qint8", a.shape, a.strides, q)
        for a, q in zip(arrays, quants, strict=True)
    ]
    results = [
        (t.dtype.numpy if t.quant is None else "qint8", t.static_shape(), None, t.quant)
        for t in made
    ]
    given = {a.name: _plain(a.type, full[a.name]) for a in op.attrs}
    prepared = bridge.prepare(op.code, given, operands, results)
    outputs = [(t.static_shape(), t.dtype.numpy) for t in made]
    return _Ready(prepared, outputs), [t.quant for t in made]


def _plain(kind: str, value: Any) -> Any:
    """An attribute with sizes as numbers."""
    if kind == "dim":
        return as_dim(value).as_int()
    if kind == "dims":
        return tuple(v.as_int() if isinstance(v, Dim) else int(v) for v in value)
    if kind == "dtype":
        return value.code  # int8 and its quantized form have one name
    return value


def run_elementwise(op: OpSpec, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """An operator of one result that works element by element, in the memory order of an operand.

    That is the first of the result's shape that is spread over memory; the result is laid out
    alike (channels last, say).
    """
    first = arrays[0]
    if first.flags.c_contiguous or any(a.shape != first.shape for a in arrays[1:]):
        return run(op, arrays, attrs)
    lead = next((a for a in arrays if 0 not in a.strides), first)
    order, back = _orders(lead.strides)
    return run(op, [a.transpose(order) for a in arrays], attrs).transpose(back)


@functools.lru_cache(maxsize=1024)
def _orders(strides: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The axes from the farthest apart in memory to the nearest, and the way back."""
    order = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    return order, sorted(range(len(order)), key=order.__getitem__)
