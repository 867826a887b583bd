# SPDX-License-Identifier: Apache-2.0
"""Upper bounds of dims: set them, and find out whether all are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from samara.exporter.ir.program import Function, Program, Value
from samara.exporter.types import Atom, Born, Dim, DimLike, Read, ShapeError, Sym, as_dim


def with_bounds(program: Program, bounds: Mapping[str, int]) -> Program:
    """The Program with upper bounds on symbols (`n`) or on the data-dependent dims and elements of
    tensors (by tensor name).
    """
    left = dict(bounds)
    for function in list(program.functions.values()):
        table: dict[str | Atom, DimLike] = {}
        known = dict(function.bounds)
        for atom in _atoms(function):
            key = atom.name if isinstance(atom, Sym) else str(atom.key)
            if key not in bounds:
                continue
            left.pop(key, None)
            if isinstance(atom, Sym):
                table[atom] = Dim.atom(replace(atom, upper=bounds[key]))
            else:
                known[atom] = as_dim(bounds[key])
        if table or known != dict(function.bounds):
            program = program.with_function(_substituted(function, table, known))
    if left:
        known_names = sorted(
            {
                a.name if isinstance(a, Sym) else str(a.key)
                for f in program.functions.values()
                for a in _atoms(f)
            }
        )
        raise ShapeError(
            f"bounds: there is no symbolic dim {sorted(left)[0]!r}",
            fix=f"symbolic dims are {', '.join(known_names) or 'none'}",
        )
    return program


def _substituted(
    f: Function, table: Mapping[str | Atom, DimLike], bounds: Mapping[Atom, Dim]
) -> Function:
    """The function with other dims and these bounds. A Rewriter would change nothing, because bounds of atoms
    do not count when dims are compared.
    """
    values: dict[Value, Value] = {}

    def value(v: Value) -> Value:
        if v not in values:
            shape = tuple(d.substitute(table) for d in v.type.shape)
            same = all(a is b for a, b in zip(shape, v.type.shape, strict=True))
            values[v] = v if same else replace(v, type=replace(v.type, shape=shape))
        return values[v]

    def attribute(kind: str, held: Any) -> Any:
        if kind == "dim":
            return held.substitute(table)
        return tuple(d.substitute(table) for d in held) if kind == "dims" else held

    nodes = [
        replace(
            n,
            inputs=tuple(None if v is None else value(v) for v in n.inputs),
            outputs=tuple(map(value, n.outputs)),
            attrs={a.name: attribute(a.type, n.attrs[a.name]) for a in n.op.attrs},
        )
        for n in f.nodes
    ]
    return replace(
        f,
        inputs=tuple(map(value, f.inputs)),
        outputs=tuple(map(value, f.outputs)),
        nodes=tuple(nodes),
        guards=tuple(
            replace(g, a=g.a.substitute(table), b=g.b.substitute(table)) for g in f.guards
        ),
        bounds={atom: d.substitute(table) for atom, d in bounds.items()},
    )


def _atoms(function: Function) -> set[Sym | Read | Born]:
    found: set[Sym | Read | Born] = set()

    def add(dims: Sequence[Dim]) -> None:
        for d in dims:
            found.update(a for a in d.all_atoms() if isinstance(a, (Sym, Read, Born)))

    for v in function.values():
        if not v.type.is_static:
            add(v.type.shape)
    for n in function.nodes:
        for a in n.op.attrs:
            if a.type == "dim":
                add((n.attrs[a.name],))
            elif a.type == "dims":
                add(n.attrs[a.name])
    return found


def is_growing(program: Program, name: str) -> bool:
    """Whether some dim of the function or of its callees has no upper bound."""
    f = program.functions[name]
    for atom in _atoms(f):
        if (
            isinstance(atom, (Read, Born))
            and atom not in f.bounds
            and getattr(atom, "upper", None) is None
        ):
            return True
    called = [n.attrs[a.name] for n in f.nodes for a in n.op.attrs if a.type == "function"]
    return any(is_growing(program, c) for c in called)
