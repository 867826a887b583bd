# SPDX-License-Identifier: Apache-2.0
"""Channels-last inputs and outputs, and the transposes that remain in a program."""

from __future__ import annotations

from dataclasses import dataclass, replace

from samara.exporter import ops
from samara.exporter.ir.program import Node, Program, Value, place_of
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.types import ShapeError, TensorType


@dataclass(frozen=True, slots=True)
class TransposeLeft:
    """A transpose that the layout pass could not remove, and why. interior: false at an input or output of the
    function. place: the author's line and the module of a node beside it, if the model has them.
    """

    function: str
    name: str
    interior: bool
    reason: str
    place: str = ""


def with_layout(program: Program, name: str, order: str) -> Program:
    """The Program with a channels-first input or output of the default entry made channels-last."""
    f = program.main
    ranks = {"NWC": 3, "NHWC": 4, "NDHWC": 5}
    rank = ranks.get(str(order).upper())
    found = next((v for v in f.inputs if v.name == name), None)
    if found is None and name not in f.output_names:
        raise ShapeError(
            f"layout: the program has no input or output {name!r}",
            fix=f"it has {', '.join([v.name for v in f.inputs] + list(f.output_names))}",
        )
    value = found if found is not None else f.outputs[f.output_names.index(name)]
    if rank != value.type.rank:
        raise ShapeError(
            f"layout {order!r} does not fit {name!r}, which is {value.type}",
            fix="NWC, NHWC or NDHWC",
        )
    assert rank is not None
    if found is None:
        r = Rewriter(f, program)
        moved = r.op(
            ops.transpose, value, name=f"{name}.{order.lower()}", perm=(0, *range(2, rank), 1)
        )
        outputs = [
            moved if n == name else v for n, v in zip(f.output_names, f.outputs, strict=True)
        ]
        r.set_outputs(outputs)
        return program.with_function(r.finish(f.output_names))
    shape = value.type.shape
    fresh = Value(
        name, TensorType(value.type.dtype, (shape[0], *shape[2:], shape[1]), value.type.quant)
    )
    renamed = Value(f"{name}.nchw", value.type)
    inputs = tuple(fresh if v is value else v for v in f.inputs)
    r = Rewriter(replace(f, inputs=(*inputs, renamed)), program)
    r.replace_value(value, renamed)
    first = next(iter(r.nodes()), None)
    made = r.op(
        ops.transpose,
        fresh,
        before=first,
        name=f"{name}.moved",
        perm=(0, rank - 1, *range(1, rank - 1)),
    )
    r.replace_value(renamed, made)
    done = r.finish(f.output_names)
    return program.with_function(
        replace(done, inputs=tuple(v for v in done.inputs if v.name != renamed.name))
    )


def transposes_left(program: Program) -> tuple[TransposeLeft, ...]:
    """The remaining transposes, and the reason for each."""
    rows = []
    for f in program.functions.values():
        makers = f.producer()
        users: dict[Value, list[Node]] = {}
        for n in f.nodes:
            for v in n.inputs:
                if v is not None:
                    users.setdefault(v, []).append(n)
        for n in f.nodes:
            if n.op is not ops.transpose:
                continue
            x = n.inputs[0]
            before = None if x is None else makers.get(x)
            after = users.get(n.outputs[0], [])
            at_input = before is None
            at_output = n.outputs[0] in f.outputs and not after
            if at_input or at_output:
                reason = (
                    "an input keeps the author's layout"
                    if at_input
                    else "an output keeps the author's layout"
                )
            else:
                ends = ", ".join(sorted({u.op.name for u in after})) or "an output"
                reason = f"between {before.op.name if before else 'an input'} and {ends}, which do not move with it"
            places = (place_of(m) for m in (n, *after, before))
            place = next((p for p in places if p), "")
            interior = not (at_input or at_output)
            rows.append(TransposeLeft(f.name, n.outputs[0].name, interior, reason, place))
    return tuple(rows)
