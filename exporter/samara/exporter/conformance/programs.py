# SPDX-License-Identifier: Apache-2.0
"""Programs of one node, made from the cases of the op table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from samara.exporter import ops
from samara.exporter.ir import Program
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.program import Value
from samara.exporter.ops import Case, OpSpec
from samara.exporter.testing import Array, case_inputs, case_types, with_symbols
from samara.exporter.types import TensorType

# static: every input is fed, sizes are numbers. symbols: sizes are symbols. weights: weights and biases
# are constants, as in most files; if there are none, all inputs but the first. constants: every input is
# a constant. inside: the operator reads and writes tensors of the arena. views: it reads a slice of a
# concatenation and, if possible, writes into one, so that pixels are strided.
Form = Literal["static", "symbols", "weights", "constants", "inside", "views"]
FORMS: tuple[Form, ...] = ("static", "symbols", "weights", "constants", "inside", "views")

_WEIGHTS = {
    ops.conv.name: (1, 2),
    ops.conv_transpose.name: (1, 2),
    ops.matmul.name: (1, 2),
    ops.qconv.name: (1, 2),
    ops.qconv_transpose.name: (1, 2),
    ops.qmatmul.name: (1, 2),
    ops.lstm.name: (1, 2, 3, 7),
    ops.gru.name: (1, 2, 3),
}
# Axes of recurrent operators that may be symbolic (time and batch), by input; sizes of weights follow
# `hidden`. For fold all axes but the window, whose elements its gradient reads one by one.
_FREE: dict[str, dict[int, tuple[int, ...]]] = {
    ops.fold.name: {0: (0, 1)},
    ops.lstm.name: {0: (0, 1), 4: (0,), 5: (1,), 6: (1,)},
    ops.gru.name: {0: (0, 1), 4: (0,), 5: (1,)},
}
# The input whose last size determines a rank.
_RANKED = {ops.gather_nd.name: 1, ops.scatter_nd.name: 1}


@dataclass(frozen=True)
class OneNode:
    """A program, its feeds, and which outputs are those of the operator."""

    program: Program
    feeds: Mapping[str, Array]


def one_node(op: OpSpec, case: Case, form: Form) -> OneNode | None:
    """The case as a program in that form; None if the form tests nothing new for the case.

    Outputs are named y0, y1 ...
    """
    arrays, types = case_inputs(op, case), case_types(case)
    present = [i for i, a in enumerate(arrays) if a is not None]
    fixed = _fixed(op, form, present, types)
    if fixed is None:
        return None
    if form == "symbols":
        types = _symbolic(op, types)
        if all(t is None or t.is_static for t in types):
            return None
    builder = ProgramBuilder().function("main")
    feeds: dict[str, Array] = {}
    values: list[Value | None] = []
    for i, (array, t) in enumerate(zip(arrays, types, strict=True)):
        if array is None or t is None:
            values.append(None)
        elif i in fixed:
            values.append(constant_of(builder, f"x{i}", array, t))
        else:
            values.append(builder.input(f"x{i}", t.dtype, t.shape, t.quant))
            feeds[f"x{i}"] = array
    if form == "inside":
        values = [v if v is None else copied(builder, v) for v in values]
    if form == "views":
        values[0] = _strided(builder, values[0])
    got = builder.op(op, *values, name="node", **case.attrs)
    outputs: Sequence[Value] = got if isinstance(got, tuple) else (got,)
    if form == "inside":
        outputs = [copied(builder, v) for v in outputs]
    if form == "views" and "strided_out" in op.flags:
        # The node again, writing directly before the first one's output, which it must not touch.
        more = builder.op(op, *values, name="again", **case.attrs)
        lefts: Sequence[Value] = more if isinstance(more, tuple) else (more,)
        both = [
            builder.op(ops.concat, left, y, axis=-1, name="both")
            for left, y in zip(lefts, outputs, strict=True)
        ]
        outputs = [_half(builder, _value(b)) for b in both]
    main = builder.finish(outputs, output_names=[f"y{i}" for i in range(len(outputs))])
    return OneNode(builder.program.finish([main.name]), feeds)


def _fixed(
    op: OpSpec, form: Form, present: Sequence[int], types: Sequence[TensorType | None]
) -> set[int] | None:
    """The inputs that are constants; None if the form does not apply."""
    if form == "weights":
        wanted = set(_WEIGHTS.get(op.name, present[1:])) & set(present)
        return wanted or None
    if form == "constants":
        return set(present) or None
    if form == "views":
        x = types[0] if types else None
        if "strided_in" not in op.flags or x is None or x.rank == 0:
            return None
        return None if x.quant is not None and x.quant.axis is not None else set()
    if form == "inside":
        return set() if present else None
    return set()


def _symbolic(op: OpSpec, types: Sequence[TensorType | None]) -> list[TensorType | None]:
    """The types with symbols for sizes, except for sizes that determine how many numbers a node has."""
    made, _ = with_symbols(types)
    for i, (given, t) in enumerate(zip(types, made, strict=True)):
        if given is None or t is None:
            continue
        shape = list(t.shape)
        for a in range(t.rank):
            if op.name in _FREE and a not in _FREE[op.name].get(i, ()):
                shape[a] = given.shape[a]
        if given.quant is not None and given.quant.axis is not None:
            shape[given.quant.axis] = given.shape[given.quant.axis]
        if _RANKED.get(op.name) == i and shape:
            shape[-1] = given.shape[-1]
        made[i] = TensorType(t.dtype, tuple(shape), t.quant)
    return made


def constant_of(builder: Builder, name: str, array: Array, t: TensorType) -> Value:
    """A constant of exactly that type, including quantization."""
    plain = builder.const(array, name, t.dtype)
    return Value(plain.name, t, plain.constant)


def copied(builder: Builder, x: Value) -> Value:
    """x in a separate tensor, made by a node that no plan may skip."""
    if x.type.quant is not None:
        rank = x.type.rank
        return _value(builder.op(ops.transpose, x, perm=tuple(range(rank)), name="copied"))
    yes = builder.const(np.array(True), "yes")
    if x.type.dtype.is_packed:  # `where` does not take types that share a byte
        wide = _value(builder.op(ops.cast, x, to="i8", name="widened"))
        return _value(builder.op(ops.cast, wide, to=x.type.dtype, name="copied"))
    return _value(builder.op(ops.where, yes, x, x, name="copied"))


def _strided(builder: Builder, x: Value | None) -> Value:
    assert x is not None
    return _half(builder, _value(builder.op(ops.concat, x, x, axis=-1, name="wide")))


def _half(builder: Builder, x: Value) -> Value:
    n = x.type.shape[-1].as_int() // 2
    begin = (*(0 for _ in x.type.shape[:-1]), n)
    return _value(
        builder.op(
            ops.slice_, x, begin=begin, end=x.type.shape, step=(1,) * x.type.rank, name="half"
        )
    )


def _value(made: Any) -> Value:
    assert isinstance(made, Value)
    return made
