# SPDX-License-Identifier: Apache-2.0
"""Running the operators' type rules: for one node, or for a whole function after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from samara.exporter.ir.program import Function, Known, Node, Value
from samara.exporter.ops import Guard, InferContext, OpSpec
from samara.exporter.types import (
    Atom,
    Born,
    Dim,
    DimLike,
    Read,
    SamaraError,
    ShapeError,
    Sym,
    TensorType,
    Tri,
    compare,
    provably_ge,
)

Types = tuple[TensorType, ...]
Signature = Callable[[str], tuple[Types, Types]]


@dataclass(frozen=True, slots=True)
class Inferred:
    """The result of an operator's type rule for one node."""

    types: Types
    guards: tuple[Guard, ...]
    bounds: Mapping[Atom, Dim]


def signature_of(functions: Mapping[str, Function]) -> Signature:
    """(input types, output types) of a function by name; ShapeError for an unknown one."""

    def signature(name: str) -> tuple[Types, Types]:
        if name not in functions:
            raise ShapeError(f"there is no function '{name}'")
        f = functions[name]
        return tuple(v.type for v in f.inputs), tuple(v.type for v in f.outputs)

    return signature


def infer_node(
    op: OpSpec,
    inputs: Sequence[Value | None],
    attrs: Mapping[str, Any],
    *,
    node: str,
    first_output: str,
    output_count: int | None,
    signature: Signature | None = None,
) -> Inferred:
    """Apply the rule of `op`; `first_output` is the key of the node's Born atoms."""
    ctx: InferContext = InferContext(
        op,
        [None if v is None else v.type for v in inputs],
        attrs,
        node=node,
        output_count=output_count,
        born=lambda o, a: Dim.atom(Born(first_output, o, a, upper=ctx.bounds.get((o, a)))),
        functions=signature,
        scalars=lambda i: known_scalar(inputs, i),
    )
    try:
        types = tuple(op.infer(ctx))
    except (ZeroDivisionError, OverflowError) as error:
        raise ShapeError(str(error), op=op.name, node=node) from error
    bounds: dict[Atom, Dim] = {Born(first_output, o, a): b for (o, a), b in ctx.bounds.items()}
    return Inferred(types, tuple(ctx.guards), bounds)


def callees(node: Node) -> list[str]:
    """The functions that a node calls."""
    return [node.attrs[a.name] for a in node.op.function_attrs]


def note_lawful(node: Node) -> Node:
    """Note that the rule of the node's operator gave it these outputs; returns the node.

    The rules of nodes that call functions depend on these functions, so that `note_calls` notes them.
    """
    if not node.op.function_attrs:
        object.__setattr__(node, "known", Known.LAWFUL)
    return node


# The signatures of the functions that a node calls, for which its rule gave it its outputs.
_calls: WeakKeyDictionary[Node, list[tuple[Types, Types]]] = WeakKeyDictionary()


def note_calls(node: Node, signature: Signature) -> None:
    """Note that the rule gave the node these outputs while the functions that it calls had these signatures."""
    _calls[node] = [signature(name) for name in callees(node)]


def calls_as_noted(node: Node, signature: Signature) -> bool:
    """Whether `note_calls` was called for this node, and the functions that it calls have the same signatures."""
    noted = _calls.get(node)
    return noted is not None and noted == [signature(name) for name in callees(node)]


def is_lawful(node: Node) -> bool:
    """Whether `note_lawful` was called for this node."""
    return node.known is not Known.NOTHING


def known_scalar(inputs: Sequence[Value | None], index: int) -> Dim | None:
    """The value of integer input `index` if it is a constant with one element."""
    v = inputs[index] if index < len(inputs) else None
    if v is None or v.constant is None or v.constant.size != 1 or v.type.dtype.is_float:
        return None
    return Dim.const(read_constant(v.constant, 0))


def substitute_attrs(
    op: OpSpec, attrs: Mapping[str, Any], table: Substitution
) -> Mapping[str, Any]:
    """The attributes with `table` applied to every dim; the same mapping if nothing changes."""
    changed: dict[str, Any] = {}
    for attr in op.dim_attrs:
        value = attrs[attr.name]
        if attr.type == "dim":
            new: Any = table.dim(value)
            if new is not value:
                changed[attr.name] = new
        else:
            dims = tuple(table.dim(d) for d in value)
            if any(a is not b for a, b in zip(dims, value, strict=True)):
                changed[attr.name] = dims
    return {**attrs, **changed} if changed else attrs


def attr_dims(op: OpSpec, attrs: Mapping[str, Any]) -> list[Dim]:
    """Every dim among the attributes."""
    found: list[Dim] = []
    for attr in op.dim_attrs:
        if attr.type == "dim":
            found.append(attrs[attr.name])
        else:
            found += attrs[attr.name]
    return found


def data_atoms(dims: Iterable[Dim]) -> set[Read | Born]:
    """The Read and Born atoms that dims depend on."""
    return {a for d in dims if d.value is None for a in d.all_atoms() if isinstance(a, Read | Born)}


class Substitution:
    """Replacements of atoms, applied to dims, guards and types of a whole function."""

    def __init__(self, table: Mapping[Atom, DimLike] | None = None) -> None:
        self.table: dict[Atom, DimLike] = dict(table or {})
        self._done: dict[Dim, Dim] = {}

    def __bool__(self) -> bool:
        return bool(self.table)

    def add(self, atom: Atom, dim: DimLike) -> None:
        """Replace `atom` by `dim`, also inside earlier replacements."""
        dim = self.dim(dim if isinstance(dim, Dim) else Dim.const(dim))
        if dim == Dim.atom(atom):
            return
        one: dict[str | Atom, DimLike] = {atom: dim}
        for known, stands in self.table.items():
            if isinstance(stands, Dim):
                self.table[known] = stands.substitute(one)
        self.table[atom] = dim
        self._done.clear()

    def dim(self, dim: Dim) -> Dim:
        """The dim after substitution; the same object if nothing changes."""
        if not self.table or dim.is_static:
            return dim
        found = self._done.get(dim)
        if found is None:
            try:
                found = dim.substitute(dict(self.table))
            except (ZeroDivisionError, OverflowError) as error:
                raise ShapeError(f"{error} in the dim {dim}") from error
            if found == dim and not any(isinstance(a, Born) for a in dim.all_atoms()):
                found = dim
            self._done[dim] = found
        return found

    def type(self, t: TensorType) -> TensorType:
        """The type after substitution; the same object if nothing changes."""
        if not self.table:
            return t
        dims = tuple(self.dim(d) for d in t.shape)
        same = all(a is b for a, b in zip(dims, t.shape, strict=True))
        return t if same else t.with_shape(dims)

    def guard(self, g: Guard) -> Guard:
        a, b = self.dim(g.a), self.dim(g.b)
        return g if a is g.a and b is g.b else replace(g, a=a, b=b)

    def bounds(self, bounds: Mapping[Atom, Dim]) -> dict[Atom, Dim]:
        """Bounds of the atoms that remain, or that are the whole replacement of others."""
        found: dict[Atom, Dim] = {}
        for atom, bound in bounds.items():
            now: Atom | None = atom
            if atom in self.table:
                stands = self.table[atom]
                now = stands.sole_atom() if isinstance(stands, Dim) else None
            if isinstance(now, Read | Born):
                found.setdefault(now, self.dim(bound))
        return found


def open_guards(guards: Iterable[Guard], known: Iterable[Guard] = ()) -> tuple[Guard, ...]:
    """The unproven guards without duplicates; ShapeError for one that can never hold. Proofs of `known` ones have
    failed before.
    """
    kept: dict[tuple[str, Dim, Dim], Guard] = {}
    tried = {id(g) for g in known}
    for g in guards:
        verdict = Tri.UNKNOWN if id(g) in tried else _verdict(g)
        if verdict is Tri.NO:
            raise ShapeError(f"{g.message} (got {g.a} and {g.b})", node=g.node or None)
        if verdict is Tri.UNKNOWN:
            kept.setdefault((g.relation, g.a, g.b), g)
    return tuple(kept.values())


def _verdict(g: Guard) -> Tri:
    if g.relation == "eq":
        return compare(g.a, g.b)
    slack = 0 if g.relation == "le" else 1
    if provably_ge(g.b, g.a + slack):
        return Tri.YES
    return Tri.NO if provably_ge(g.a, g.b + (1 - slack)) else Tri.UNKNOWN


def read_constant(array: Any, index: int) -> int:
    """The value of a Read of element `index` of a constant: an integer, or a float32's bits."""
    item = np.asarray(array).reshape(-1)[index]
    if isinstance(item, np.float32):
        return int(item.view(np.uint32))
    return int(item)


class Retyper:
    """Rebuilds nodes, in order, whose input types, attributes or dims have changed.

    If a node's rule now determines a Born dim, that dim replaces the atom in all later nodes.
    """

    def __init__(self, signature: Signature | None, table: Substitution) -> None:
        self.signature = signature
        self.table = table
        self.values: dict[Value, Value] = {}
        self.guards: list[Guard] = []
        self.bounds: dict[Atom, Dim] = {}

    def value(self, v: Value | None) -> Value | None:
        """The value that replaces `v`."""
        if v is None:
            return None
        found = self.values.get(v)
        if found is None:
            t = self.table.type(v.type)
            found = v if t is v.type else replace(v, type=t)
            self.values[v] = found
        return found

    def node(self, node: Node, force: bool = False) -> Node:
        """The node over the new values; its rule runs again if an input or dim of it has changed."""
        if not force and not self.table and self._keeps(node):
            return node
        inputs = tuple(self.value(v) for v in node.inputs)
        if self._is_settled(node, inputs):
            for v in node.outputs:
                self.values[v] = v
            return note_lawful(node.with_inputs(inputs))
        attrs = substitute_attrs(node.op, node.attrs, self.table)
        seen = [None if v is None else v.type for v in node.inputs]
        sees = [None if v is None else v.type for v in inputs]
        same = not force and _same_types(seen, sees) and _same_attrs(node, attrs)
        if same:
            outputs = tuple(self.value(v) for v in node.outputs)
            if inputs == node.inputs and outputs == node.outputs:
                return node
            return replace(node, inputs=inputs, outputs=_all(outputs), attrs=attrs)
        inferred = infer_node(
            node.op,
            inputs,
            attrs,
            node=node.name,
            first_output=node.outputs[0].name if node.outputs else node.name,
            output_count=len(node.outputs),
            signature=self.signature,
        )
        self.guards += inferred.guards
        self.bounds.update(inferred.bounds)
        types = inferred.types[: len(node.outputs)]
        for old, new in zip(node.outputs, types, strict=True):
            self._learn(node, old, new)
            self.values[old] = old if old.type == new else replace(old, type=new)
        outputs = tuple(self.values[v] for v in node.outputs)
        return note_lawful(replace(node, inputs=inputs, outputs=_all(outputs), attrs=attrs))

    def _keeps(self, node: Node) -> bool:
        """Whether the node's inputs have not changed while no dim is replaced; then its outputs stay too."""
        values = self.values
        for v in node.inputs:
            if v is not None and values.setdefault(v, v) is not v:
                return False
        for v in node.outputs:
            values[v] = v
        return True

    def _is_settled(self, node: Node, inputs: tuple[Value | None, ...]) -> bool:
        """Whether the rule would give the node the outputs that it has: it sees the same types, no replacement
        changes its outputs, and no constant can tell it more.
        """
        static = all(v.type.is_static for v in node.outputs)
        if not is_lawful(node):
            return False
        for v, before in zip(inputs, node.inputs, strict=True):
            if v is before:
                continue
            if v is None or before is None or v.type != before.type:
                return False
            if not static and v.constant is not before.constant:
                return False
        if not static and any(self.table.type(v.type) is not v.type for v in node.outputs):
            return False
        return substitute_attrs(node.op, node.attrs, self.table) is node.attrs

    def _learn(self, node: Node, old: Value, new: TensorType) -> None:
        if old.type.rank != new.rank:
            return
        for before, after in zip(old.type.shape, new.shape, strict=True):
            atom = before.sole_atom()
            if isinstance(atom, Born) and atom.key == node.outputs[0].name and before != after:
                self.table.add(atom, after)


def _all(values: tuple[Value | None, ...]) -> tuple[Value, ...]:
    return tuple(v for v in values if v is not None)


def _same_types(a: Sequence[TensorType | None], b: Sequence[TensorType | None]) -> bool:
    return all(x is y or x == y for x, y in zip(a, b, strict=True))


def _same_attrs(node: Node, attrs: Mapping[str, Any]) -> bool:
    before, after = attr_dims(node.op, node.attrs), attr_dims(node.op, attrs)
    return all(x is y or x == y for x, y in zip(before, after, strict=True))


def re_infer(
    function: Function,
    signature: Signature | None,
    inputs: Mapping[str, TensorType] | None = None,
    constants: Mapping[str, Any] | None = None,
    substitute: Mapping[Atom, DimLike] | None = None,
) -> Function:
    """`function` with all types derived again from new types of some inputs, by name.

    If an input's dim was a bare symbol, the dim of the new type replaces the symbol everywhere. constants: inputs,
    by name, that become constants. substitute: replacements of further atoms. Raises ShapeError if a rule or a
    guard refuses.
    """
    table = Substitution(substitute)
    given = dict(inputs or {})
    fixed = {name: np.asarray(array) for name, array in (constants or {}).items()}
    known = {v.name for v in function.inputs}
    for name in (*given, *fixed):
        if name not in known:
            raise ShapeError(f"function '{function.name}' has no input '{name}'")
    retyper = Retyper(signature, table)
    new_inputs: list[Value] = []
    for v in function.inputs:
        t = given.get(v.name, v.type)
        if v.name in fixed:
            t = TensorType.of(v.type.dtype, fixed[v.name].shape, v.type.quant)
        _bind(v, t, table)
    for v in function.inputs:
        wanted = given.get(v.name, table.type(v.type))
        if v.name in fixed:
            data = fixed[v.name]
            made = Value(v.name, TensorType.of(v.type.dtype, data.shape, v.type.quant), data)
            _fold_reads(function, v.name, data, table)
        else:
            made = replace(v, type=table.type(wanted))
            new_inputs.append(made)
        retyper.values[v] = made
    nodes = tuple(retyper.node(n, force=True) for n in function.nodes)
    outputs = tuple(retyper.value(v) for v in function.outputs)
    guards = [table.guard(g) for g in (*function.guards, *retyper.guards)]
    bounds = {**table.bounds(function.bounds), **retyper.bounds}
    return replace(
        function,
        inputs=tuple(new_inputs),
        nodes=nodes,
        outputs=_all(outputs),
        guards=open_guards(guards),
        bounds=bounds,
        reads={k: n for k, n in function.reads.items() if k not in fixed},
    )


def _bind(old: Value, new: TensorType, table: Substitution) -> None:
    if old.type.rank != new.rank or old.type.dtype is not new.dtype:
        raise ShapeError(f"input '{old.name}' cannot change from {old.type} to {new}")
    for axis, (before, after) in enumerate(zip(old.type.shape, new.shape, strict=True)):
        atom = before.sole_atom()
        if isinstance(atom, Sym):
            now = table.dim(before)
            if now is before or now == before:
                table.add(atom, after)
            elif compare(now, after) is Tri.NO:
                raise ShapeError(
                    f"input '{old.name}', axis {axis}: {atom} cannot be both {now} and {after}"
                )
        elif before.is_static and compare(before, after) is Tri.NO:
            raise ShapeError(f"input '{old.name}', axis {axis} is {before}, it cannot be {after}")


def _fold_reads(function: Function, name: str, data: Any, table: Substitution) -> None:
    for atom in function_atoms(function):
        if isinstance(atom, Read) and atom.key == name:
            table.add(atom, read_constant(data, atom.index))


def function_atoms(function: Function) -> set[Read | Born]:
    """Every Read and Born atom that occurs anywhere in the function."""
    dims: list[Dim] = list(function.bounds.values())
    for v in function.inputs:
        dims += v.type.shape
    for n in function.nodes:
        for v in n.outputs:
            if not v.type.is_static:
                dims += v.type.shape
        if n.op.dim_attrs:
            dims += attr_dims(n.op, n.attrs)
    for g in function.guards:
        dims += (g.a, g.b)
    return data_atoms(dims).union(a for a in function.bounds if isinstance(a, Read | Born))


def locate(error: SamaraError, node: Node) -> SamaraError:
    """The error, with the node's name if it had none."""
    error.op = node.op.name if error.op is None else error.op
    error.node = (node.name or None) if error.node is None else error.node
    return error
