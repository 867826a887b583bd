# SPDX-License-Identifier: Apache-2.0
"""Compute operators in a wider element type if they lack a narrow one, and convert the result back.

bfloat16 and float16 are computed in float32 and rounded once per node. Narrow integers are computed in
wider ones, with the same result in the low bits: sums, products and bit operations wrap alike, and
comparisons, minima and quotients see the same values. Operators that only move int4 and uint4 move
bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ir.builder import Builder
from samara.exporter.ir.infer import known_scalar
from samara.exporter.ir.program import Value
from samara.exporter.ops import InferContext, OpSpec, weak_dtype
from samara.exporter.types import (
    Born,
    Dim,
    DType,
    SamaraError,
    TensorType,
    UnsupportedError,
)

__all__ = ["Widening", "refused_dtype", "widening_of"]

WIDER: Final = {
    DType.BF16: DType.F32,
    DType.F16: DType.F32,
    DType.I8: DType.I32,
    DType.U8: DType.I32,
    DType.I16: DType.I32,
    DType.U16: DType.I32,
    DType.U32: DType.I64,
    DType.I4: DType.I8,
    DType.U4: DType.U8,
}
_NEW: Final = frozenset({DType.BF16, DType.I16, DType.U16, DType.U32, DType.I4, DType.U4})
# Substitutes for dtypes without an exact wider type, tried to find out whether the dtype is at fault.
_STAND_INS: Final = {DType.F64: DType.F32, DType.U64: DType.I64}

# Outputs that are indices, and stay so if the input is widened to their dtype.
_POSITIONS: Final = {"argmax": (0,), "argmin": (0,), "nonzero": (0,), "top_k": (1,)}


@dataclass(frozen=True, slots=True)
class Widening:
    """dtypes: input dtype -> wider dtype. outputs: per output the dtype to convert it back to, None to leave
    it.
    """

    dtypes: Mapping[DType, DType]
    outputs: tuple[DType | None, ...]


def widening_of(
    builder: Builder, spec: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]
) -> Widening | None:
    """How to compute the node if the operator lacks the dtypes of its inputs; None if it has them, or widening
    does not help.
    """
    found = {v.type.dtype for v in inputs if isinstance(v, Value)}
    narrow = {d: WIDER[d] for d in found if d in WIDER}
    if not narrow or not spec.dtypes or "control" in spec.flags or _are_mixed(spec, found):
        return None
    first = next((v for v in inputs if isinstance(v, Value)), None)
    assert first is not None
    old = not found & _NEW
    if old and (inputs[0] is not first or first.type.dtype.short in spec.dtypes):
        return None
    if _infer(builder, spec, inputs, attrs, {}) is not None:
        return None
    wide = _infer(builder, spec, inputs, attrs, narrow)
    if wide is None:
        return None
    # If several narrow dtypes share a wide one, the result has that of the first input.
    kinds = [v.type.dtype for v in inputs if isinstance(v, Value)]
    back = {narrow[d]: d for d in reversed(kinds) if d in narrow}
    positions = _POSITIONS.get(spec.name, ())
    return Widening(
        narrow,
        tuple(None if i in positions else back.get(t.dtype) for i, t in enumerate(wide)),
    )


def refused_dtype(
    builder: Builder, spec: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]
) -> UnsupportedError | None:
    """The error for a node whose dtype the operator lacks and nothing wider replaces; None if something else is
    wrong.
    """
    found = {v.type.dtype for v in inputs if isinstance(v, Value)}
    swap = {d: _STAND_INS[d] for d in found if d in _STAND_INS}
    if not swap or not spec.dtypes or _are_mixed(spec, found):
        return None
    if _infer(builder, spec, inputs, attrs, {}) is not None:
        return None
    if _infer(builder, spec, inputs, attrs, swap) is None:
        return None
    names = " and ".join(sorted(d.public_name for d in swap))
    instead = " or ".join(sorted({d.public_name for d in swap.values()}))
    return UnsupportedError(
        f"{spec.name} is not computed in {names}",
        fix=f"convert the model, or this part, to {instead}",
    )


def _are_mixed(spec: OpSpec, found: set[DType]) -> bool:
    """Whether an elementwise operator has operands of several dtypes, which no dtype corrects."""
    return spec.permute == "any" and len(found - {DType.BOOL}) > 1


def _infer(
    builder: Builder,
    spec: OpSpec,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    swap: Mapping[DType, DType],
) -> tuple[TensorType, ...] | None:
    """The output types with some input dtypes replaced by others; None if the rule refuses them."""
    like = weak_dtype([v.type.dtype for v in inputs if isinstance(v, Value)])
    types: list[TensorType | None] = []
    for v in inputs:
        if v is None:
            types.append(None)
        elif isinstance(v, Value):
            types.append(v.type.with_dtype(swap.get(v.type.dtype, v.type.dtype), v.type.quant))
        elif isinstance(v, (bool, int, float)) and like is not None:
            types.append(TensorType(swap.get(like, like), ()))
        else:
            array = np.asarray(v)
            types.append(TensorType.of(DType.from_numpy(array.dtype), array.shape))
    while types and types[-1] is None:
        types.pop()
    known = [v if isinstance(v, Value) else None for v in inputs]
    ctx = InferContext(
        spec,
        types,
        spec.complete(attrs),
        node=spec.name,
        output_count=spec.max_outputs,
        born=lambda output, axis: Dim.atom(Born(spec.name, output, axis)),
        functions=builder.program.signature,
        scalars=lambda i: known_scalar(known, i),
    )
    try:
        return spec.infer(ctx)
    except SamaraError:
        return None
