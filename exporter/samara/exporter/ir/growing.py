# SPDX-License-Identifier: Apache-2.0
"""Caches of a decoder as variables that grow: an input with the rows so far, and an output with new ones behind them.

The variable lies in memory as [1, rows, …], whatever axis the rows have in the model. The model's input becomes
its rows in use, and concat(input, new) becomes `write_rows` and the rows in use afterwards. Nothing else of the
graph changes, so it computes what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.infer import attr_dims
from samara.exporter.ir.program import Function, Node, Program, Value, Variable, unused
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.types import (
    Atom,
    Dim,
    DimOp,
    DType,
    Op,
    Read,
    Sym,
    TensorType,
    UnsupportedError,
    as_dim,
)

__all__ = ["Cache", "with_caches"]

_LENGTH = "past_length"


@dataclass(frozen=True, slots=True)
class Cache:
    """input, output: names in the entry; the output is the input with new rows behind its own along `axis`."""

    input: str
    output: str
    axis: int


@dataclass(frozen=True, slots=True)
class _Form:
    """How a tensor of the model lies in a variable.

    to_rows: the permutation with the rows in front, or behind a leading axis of 1. led: there is none, and it is added.
    """

    to_rows: tuple[int, ...]
    led: bool

    @staticmethod
    def of(kind: TensorType, axis: int) -> _Form:
        rest = [a for a in range(kind.rank) if a != axis]
        if axis != 0 and kind.shape[0] == as_dim(1):
            return _Form((0, axis, *rest[1:]), False)
        return _Form((axis, *rest), True)

    @property
    def from_rows(self) -> tuple[int, ...]:
        return tuple(self.to_rows.index(a) for a in range(len(self.to_rows)))

    def stored(self, r: Rewriter, rows: Value, before: Node | None) -> Value:
        """Rows of the model, [1, rows, …]."""
        made: Value = r.op(
            ops.transpose, rows, perm=self.to_rows, before=before, name=f"{rows.name}.rows"
        )
        if self.led:
            shape = (as_dim(1), *made.type.shape)
            made = r.op(ops.reshape, made, shape=shape, before=before, name=f"{rows.name}.led")
        return made

    def taken(self, r: Rewriter, held: Value, rows: Dim, name: str, before: Node | None) -> Value:
        """The first `rows` of a variable, as the model has them."""
        shape = held.type.shape
        end = (shape[0], rows, *shape[2:])
        zeros, ones = (0,) * len(shape), (1,) * len(shape)
        made: Value = r.op(
            ops.slice_, held, begin=zeros, end=end, step=ones, before=before, name=f"{name}.used"
        )
        if self.led:
            made = r.op(ops.reshape, made, shape=end[1:], before=before, name=f"{name}.plain")
        perm = self.from_rows
        back: Value = r.op(ops.transpose, made, perm=perm, before=before, name=f"{name}.model")
        return back


@dataclass(frozen=True, slots=True)
class _Growth:
    """back(concat(past, rows)) is the output of a cache; `back` is a permutation."""

    concat: Node
    rows: Value
    back: tuple[int, ...]

    @property
    def step(self) -> Dim:
        """How many rows are new."""
        axis: int = self.concat.attrs["axis"]
        return self.rows.type.shape[axis % self.rows.type.rank]


def with_caches(program: Program, caches: Sequence[Cache], past: Sym, room: int) -> Program:
    """The program with the caches of its only entry as variables that grow, and a variable that counts their rows.

    past: the symbol that is the size of each cache along its axis; all other sizes are static. room: the most
    rows. The count is the variable `past_length`, or with a suffix if the name is in use; each variable has the name of
    its cache's input.

    Raises UnsupportedError for an output that is not its input with rows behind it.
    """
    f = program.main
    names = {v.name for v in f.values()} | {v.name for v in program.variables}
    length = Value(unused(_LENGTH, names), TensorType.of(DType.I64, ()))
    inputs = {v.name: v for v in f.inputs}
    forms = {c.input: _Form.of(inputs[c.input].type, c.axis) for c in caches}
    held = {
        c.input: Value(f"{c.input}.held", _held_type(inputs[c.input].type, forms[c.input], room))
        for c in caches
    }
    atom = Read(length.name, 0, lower=0, upper=room)
    opened = replace(
        f, inputs=(*f.inputs, length, *held.values()), bounds={**f.bounds, atom: as_dim(room)}
    )
    r = Rewriter(opened, program)
    count = Dim.atom(atom)
    _count_as_data(r, past, length)
    grown = [
        _growth(r, inputs[c.input], r.outputs[f.output_names.index(c.output)], c) for c in caches
    ]
    step = grown[0].step
    limits = _limits(f, (Dim.atom(past), Dim.atom(past) + step), room)
    for c, g in zip(caches, grown, strict=True):
        if g.step.substitute({**limits}) != step:
            raise _refused(c, f"it gains {g.step} rows in a run, and {caches[0].output!r} {step}")
    written = {
        f.output_names.index(c.output): _write(r, g, forms[c.input], held[c.input], length, count)
        for c, g in zip(caches, grown, strict=True)
    }
    added = r.op(ops.dims, values=(step,), scalar=True, name=f"{length.name}.step")
    longer = r.op(ops.add, length, added, name=f"{length.name}.next")
    first = next(r.nodes())
    for c in caches:
        form, value = forms[c.input], inputs[c.input]
        r.replace_value(value, form.taken(r, held[c.input], count, c.input, first))
    r.set_outputs([*(written.get(i, v) for i, v in enumerate(r.outputs)), longer])
    for limit, total in limits.items():
        r.substitute(limit, total)
    r.substitute(past, count)
    closed = r.finish((*f.output_names, f"{length.name}.next"))
    writes = {f.output_names.index(c.output): c.input for c in caches}
    closed = replace(closed, writes={**f.writes, **writes, len(f.outputs): length.name})
    return _bound(program, closed, held, length)


def _held_type(kind: TensorType, form: _Form, room: int) -> TensorType:
    sizes = [kind.shape[a] for a in form.to_rows]
    sizes[0 if form.led else 1] = as_dim(room)
    return TensorType(kind.dtype, ((as_dim(1), *sizes) if form.led else tuple(sizes)), kind.quant)


def _limits(f: Function, counts: Sequence[Dim], room: int) -> dict[Atom, Dim]:
    """min(count, c) in dims, of tables that are as long as the caches or longer: it is the count, of rows before or
    after a run, as writing more than `room` rows is an error.
    """
    dims = [d for v in f.values() for d in v.type.shape]
    dims += [d for n in f.nodes for d in attr_dims(n.op, n.attrs)]
    dims += [d for g in f.guards for d in (g.a, g.b)]
    found: dict[Atom, Dim] = {}
    for atom in {a for d in dims if not d.is_static for a in d.all_atoms()}:
        if isinstance(atom, Op) and atom.kind is DimOp.MIN:
            count = next((a for a in atom.args if a in counts), None)
            rest = [a for a in atom.args if a != count]
            if count is not None and all(a.is_static and a.as_int() >= room for a in rest):
                found[atom] = count
    return found


def _count_as_data(r: Rewriter, past: Sym, length: Value) -> None:
    """Use the variable where the count of rows is data, so that no dim depends on it there."""
    size = Dim.atom(past)
    for node in list(r.nodes()):
        if node.op is ops.iota and past in node.attrs["start"].atoms():
            start = node.attrs["start"] - size
            if past in start.all_atoms() or node.attrs["dtype"] is not DType.I64:
                continue
            plain = r.op(
                ops.iota, length=node.attrs["length"], step=node.attrs["step"], start=start,
                before=node, name=f"{node.name}.new",
            )  # fmt: skip
            r.replace_node(node, ops.add, plain, length)
        elif node.op is ops.dims and node.attrs["values"] == (size,):
            _use_count(r, node, length)


def _use_count(r: Rewriter, node: Node, length: Value) -> None:
    value, dtype = length, node.outputs[0].type.dtype
    if not node.attrs["scalar"]:
        value = r.op(ops.reshape, value, shape=(1,), before=node, name=f"{node.name}.count")
    if dtype is not DType.I64:
        value = r.op(ops.cast, value, to=dtype, before=node, name=f"{node.name}.cast")
    r.replace_value(node.outputs[0], value)


def _turned(r: Rewriter, value: Value) -> tuple[Value, tuple[int, ...]]:
    """(x, perm) where the value is transpose(x, perm)."""
    perm = tuple(range(value.type.rank))
    while (node := r.producer(value)) is not None and node.op is ops.transpose:
        inner, own = node.inputs[0], node.attrs["perm"]
        assert inner is not None
        value, perm = inner, tuple(own[p] for p in perm)
    return value, perm


def _growth(r: Rewriter, past: Value, output: Value, c: Cache) -> _Growth:
    value, back = _turned(r, output)
    node = r.producer(value)
    if node is None:
        made = "is an input or a constant" if value is not past else "is the input itself"
        raise _refused(c, f"it {made}")
    if node.op is not ops.concat or len(node.inputs) != 2:
        raise _refused(c, f"it is made by {node.op.name} '{node.name}'")
    first, rows = node.inputs
    assert first is not None
    assert rows is not None
    origin, there = _turned(r, first)
    whole = tuple(there[p] for p in back) == tuple(range(len(back)))
    if origin is not past or not whole or back[c.axis] != node.attrs["axis"] % len(back):
        raise _refused(c, f"concat '{node.name}' does not put rows behind it along axis {c.axis}")
    return _Growth(node, rows, back)


def _refused(c: Cache, why: str) -> UnsupportedError:
    fix = "leave the pair out of the state: the caller then gives and takes it"
    if " if " in why:
        fix = "freeze the input that decides the branch with consts="
    return UnsupportedError(
        f"state: output {c.output!r} is not input {c.input!r} with new rows: {why}", fix=fix
    )


def _write(
    r: Rewriter, growth: _Growth, form: _Form, held: Value, length: Value, count: Dim
) -> Value:
    """Write the new rows into the variable instead of a copy of all; its next value."""
    node, name = growth.concat, growth.concat.outputs[0].name
    rows = growth.rows
    new = r.op(ops.transpose, rows, perm=growth.back, before=node, name=f"{name}.new")
    stored = form.stored(r, new, node)
    written: Value = r.op(
        ops.write_rows, held, stored, length, before=node, name=f"{name}.write", source=node.source
    )
    used = form.taken(r, written, count + growth.step, name, node)
    ahead = tuple(growth.back.index(a) for a in range(len(growth.back)))
    r.replace_node(node, ops.transpose, used, perm=ahead)
    return written


def _bound(program: Program, f: Function, held: dict[str, Value], length: Value) -> Program:
    """The program with the caches, by name, and their count bound to variables, without the model's inputs for them."""
    reads = {v.name: name for name, v in held.items()}
    function = replace(
        f,
        inputs=tuple(v for v in f.inputs if v.name not in held),
        reads={**f.reads, length.name: length.name, **reads},
    )
    zero = Variable(length.name, length.type, np.zeros((), np.int64))
    grown = [Variable.growing(name, v.type, length.name) for name, v in held.items()]
    made = program.with_function(function)
    return replace(made, variables=(*program.variables, zero, *grown))
