# SPDX-License-Identifier: Apache-2.0
"""Renaming inputs and outputs of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from samara.exporter.ir.infer import attr_dims
from samara.exporter.ir.interpret import near
from samara.exporter.ir.program import Function, Program, Value
from samara.exporter.types import Atom, Born, Dim, DimLike, Read, ShapeError, Sym

__all__ = ["rename"]


def rename(program: Program, names: Mapping[str, str]) -> Program:
    """The program with inputs and outputs of its entries renamed, {old: new}, all at once.

    Dims that are named after an input (`image.0`) are renamed with it. Inputs and outputs that are bound to
    variables keep their names, which a user does not see.

    Raises ShapeError for an unknown old name, and for a new one that is empty, given twice or the name of another
    input or output.
    """
    if not names:
        return program
    seen: list[str] = []
    for name in program.entries:
        seen += _visible(program.functions[name])
    for old, new in names.items():
        if old not in seen:
            raise ShapeError(
                f"there is no input or output {old!r} to rename",
                fix=near(old, dict.fromkeys(seen), "inputs and outputs"),
            )
        if not new:
            raise ShapeError(f"{new!r} is no new name for {old!r}", fix="give some text")
    for name in program.entries:
        f = program.functions[name]
        _check(f, names)
        if any(old in _visible(f) for old in names):
            program = program.with_function(_renamed(f, names))
    return program


def _visible(f: Function) -> list[str]:
    """Names of the inputs and outputs that are not bound to variables."""
    inputs = [v.name for v in f.inputs if v.name not in f.reads]
    return inputs + [n for i, n in enumerate(_output_names(f)) if i not in f.writes]


def _output_names(f: Function) -> tuple[str, ...]:
    return f.output_names or tuple(v.name for v in f.outputs)


def _check(f: Function, names: Mapping[str, str]) -> None:
    for what, held in (
        ("input", [v.name for v in f.inputs]),
        ("output", list(_output_names(f))),
    ):
        after = Counter(names.get(n, n) for n in held)
        for old in held:
            new = names.get(old, old)
            if after[new] > 1 and new != old:
                others = [repr(n) for n in held if names.get(n, n) == new and n != old]
                raise ShapeError(
                    f"{new!r} would be the name of the {what}s {old!r} and {' and '.join(others)}",
                    fix="give each its own name",
                )


def _renamed(f: Function, names: Mapping[str, str]) -> Function:
    """Rename in one entry. An inner tensor that already has a new name gets another one."""
    shown = _output_names(f)
    wanted = {v: v.name if v.name in f.reads else names.get(v.name, v.name) for v in f.inputs}
    used = set(wanted.values())
    for i, v in enumerate(f.outputs):
        # An output's tensor takes the output's name if no input has it.
        new = names.get(shown[i], shown[i])
        if i not in f.writes and shown[i] in names and v not in wanted and new not in used:
            wanted[v] = new
            used.add(new)
    others = [v for v in f.values() if v not in wanted]
    taken = used | {v.name for v in others}
    for v in others:
        name, k = v.name, 1
        while name in used:
            k += 1
            name = f"{v.name}.{k}" if f"{v.name}.{k}" not in taken else name
        wanted[v] = name
        taken.add(name)
    table = _table(f, wanted)
    values: dict[Value, Value] = {}

    def of(v: Value) -> Value:
        if v not in values:
            dims = tuple(d.substitute(table) for d in v.type.shape)
            values[v] = replace(v, name=wanted[v], type=v.type.with_shape(dims))
        return values[v]

    def attribute(kind: str, held: Any) -> Any:
        if kind == "dim":
            return held.substitute(table)
        return tuple(d.substitute(table) for d in held) if kind == "dims" else held

    nodes = tuple(
        replace(
            n,
            inputs=tuple(None if v is None else of(v) for v in n.inputs),
            outputs=tuple(map(of, n.outputs)),
            attrs={a.name: attribute(a.type, n.attrs[a.name]) for a in n.op.attrs},
        )
        for n in f.nodes
    )
    bounds: dict[Atom, Dim] = {}
    for atom, d in f.bounds.items():
        moved = Dim.atom(atom).substitute(table).sole_atom()
        bounds[atom if moved is None else moved] = d.substitute(table)
    hidden = {shown[i] for i in f.writes}
    return replace(
        f,
        inputs=tuple(map(of, f.inputs)),
        outputs=tuple(map(of, f.outputs)),
        nodes=nodes,
        output_names=tuple(n if n in hidden else names.get(n, n) for n in shown),
        guards=tuple(
            replace(g, a=g.a.substitute(table), b=g.b.substitute(table)) for g in f.guards
        ),
        bounds=bounds,
    )


def _table(f: Function, wanted: Mapping[Value, str]) -> dict[str | Atom, DimLike]:
    """The replacements of atoms that mention a renamed tensor."""
    moved = {v.name: n for v, n in wanted.items() if n != v.name}
    dims = [d for v in f.values() for d in v.type.shape]
    dims += [d for n in f.nodes for d in attr_dims(n.op, n.attrs)]
    dims += [d for g in f.guards for d in (g.a, g.b)]
    dims += [d for a, b in f.bounds.items() for d in (Dim.atom(a), b)]
    table: dict[str | Atom, DimLike] = {}
    symbols = {a for d in dims for a in d.all_atoms() if isinstance(a, Sym)}
    known = {s.name for s in symbols}
    for d in dims:
        for atom in d.all_atoms():
            if isinstance(atom, Read | Born) and atom.key in moved:
                table[atom] = Dim.atom(replace(atom, key=moved[str(atom.key)]))
    for v in f.inputs:
        if v.name in moved:
            for s in symbols:
                stem, dot, axis = s.name.rpartition(".")
                name = f"{wanted[v]}.{axis}"
                if dot and stem == v.name and axis.isdigit() and name not in known:
                    table[s] = Dim.atom(replace(s, name=name))
    return table
