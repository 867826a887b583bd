# SPDX-License-Identifier: Apache-2.0
"""Cut a part out of a program: from any tensors to any tensors of its default entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from samara.exporter.ir.arguments import as_names
from samara.exporter.ir.infer import attr_dims, callees, data_atoms
from samara.exporter.ir.interpret import near
from samara.exporter.ir.program import Function, Program, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import Guard
from samara.exporter.types import Atom, Dim, ShapeError, Sym, TensorType, UnknownNameError


def cut(
    program: Program, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
) -> Program:
    """The part of the default entry that computes `outputs` (tensors, output names) from `inputs`.

    Any tensor can become an input. Original inputs that are still needed stay, all others are removed.
    ShapeError lists names like an unknown one.
    """
    inputs, outputs = as_names(inputs, "inputs"), as_names(outputs, "outputs")
    f = program.main
    values = {v.name: v for v in f.values() if not v.is_constant}
    fresh, table, guards = _new_inputs(f, values, inputs or ())
    rewriter = Rewriter(replace(f, inputs=(*f.inputs, *fresh.values())), program)
    for old, new in fresh.items():
        rewriter.replace_value(old, new)
    for atom, dim in table.items():
        rewriter.substitute(atom, dim)
    names = f.output_names
    if outputs is not None:
        chosen = [_output(f, values, name) for name in outputs]
        rewriter.set_outputs([fresh.get(v, v) for v in chosen])
        names = tuple(outputs)
    done = _named_apart(rewriter.finish(names))
    # Added last: these guards contain the dims that the table has just replaced.
    done = replace(done, guards=(*done.guards, *guards))
    done = _pruned(done, set(inputs or ()))
    if outputs is not None:
        done = replace(done, writes={})
    return only_reached(replace(program.with_function(done), entries=(f.name,)))


def only_reached(program: Program) -> Program:
    """The program without functions and variables that no entry reaches."""
    reached: dict[str, Function] = {}
    stack = list(reversed(program.entries))
    while stack:
        name = stack.pop()
        if name not in reached:
            reached[name] = program.functions[name]
            stack += [c for n in reached[name].nodes for c in callees(n)]
    bound = {v for f in reached.values() for v in (*f.reads.values(), *f.writes.values())}
    return replace(
        program,
        functions=reached,
        variables=tuple(v for v in program.variables if v.name in bound),
    )


def _output(f: Function, values: Mapping[str, Value], name: str) -> Value:
    if name in f.output_names:
        return f.outputs[f.output_names.index(name)]
    return _tensor(values, name, f.output_names)


def _tensor(values: Mapping[str, Value], name: str, outputs: Sequence[str] = ()) -> Value:
    if name not in values:
        raise UnknownNameError(
            f"there is no tensor '{name}'", fix=near(name, [*outputs, *values], "tensors")
        )
    return values[name]


def _new_inputs(
    f: Function, values: Mapping[str, Value], names: Iterable[str]
) -> tuple[dict[Value, Value], dict[Atom, Dim], list[Guard]]:
    """The new inputs by the value that they replace, the dims that replace atoms, and guards between them."""
    fresh: dict[Value, Value] = {}
    table: dict[Atom, Dim] = {}
    guards: list[Guard] = []
    for name in names:
        v = _tensor(values, name)
        if v in f.inputs:
            continue
        shape = []
        for axis, d in enumerate(v.type.shape):
            if d.is_static or isinstance(d.sole_atom(), Sym):
                shape.append(d)
                continue
            symbol = Dim.atom(Sym(f"{name}.{axis}"))
            shape.append(symbol)
            solved = _solve(d, symbol)
            if solved is not None and solved[0] not in table:
                table[solved[0]] = solved[1]
            if not data_atoms((d,)):
                guards.append(Guard("eq", symbol, d, f"input '{name}', axis {axis}"))
        fresh[v] = Value(v.name, TensorType(v.type.dtype, tuple(shape), v.type.quant))
    return fresh, table, guards


def _solve(dim: Dim, value: Dim) -> tuple[Atom, Dim] | None:
    """(atom, its dim) if `dim == value` determines it: dim is ± one opaque atom plus a constant.

    Symbols are not solved for: other inputs may define them.
    """
    rest = [(factors, c) for factors, c in dim.terms() if factors]
    if len(rest) != 1 or abs(rest[0][1]) != 1 or len(rest[0][0]) != 1 or rest[0][0][0][1] != 1:
        return None
    atom = rest[0][0][0][0]
    sign = rest[0][1]
    return atom, sign * (value - (dim - sign * Dim.atom(atom)))


def _named_apart(f: Function) -> Function:
    """Rename unused outputs of nodes that have the name of an input."""
    taken = {v.name for v in f.values()}
    inputs = {v.name for v in f.inputs}
    nodes = []
    for n in f.nodes:
        outputs = []
        for v in n.outputs:
            name = v.name
            while name in inputs or (name != v.name and name in taken):
                name += ".cut"
            outputs.append(v if name == v.name else replace(v, name=name))
        same = all(a is b for a, b in zip(outputs, n.outputs, strict=True))
        nodes.append(n if same else replace(n, outputs=tuple(outputs)))
    return replace(f, nodes=tuple(nodes))


def _pruned(f: Function, given: set[str]) -> Function:
    """Remove unused inputs; ShapeError if a dim would have no source."""
    used = {v for n in f.nodes for v in n.inputs} | set(f.outputs)
    dims = [d for n in f.nodes for d in attr_dims(n.op, n.attrs)]
    dims += [d for n in f.nodes for v in n.outputs for d in v.type.shape]
    read = {a.key for a in data_atoms((*dims, *(d for v in f.outputs for d in v.type.shape)))}
    kept = tuple(v for v in f.inputs if v in used or v.name in given or v.name in read)
    defined = {
        atom.name for v in kept for d in v.type.shape if isinstance(atom := d.sole_atom(), Sym)
    }
    for d in (*dims, *(d for v in (*kept, *f.outputs) for d in v.type.shape)):
        missing = d.symbols() - defined
        if missing:
            name = sorted(missing)[0]
            source = next((v.name for v in f.inputs if name in v.type.symbols()), "")
            raise ShapeError(
                f"the part needs the dim {name}, which none of its inputs has",
                fix=f"make '{source}' an input too, or give the model static shapes",
            )
    return replace(
        f,
        inputs=kept,
        guards=tuple(g for g in f.guards if not (g.a.symbols() | g.b.symbols()) - defined),
        bounds={a: b for a, b in f.bounds.items() if not b.symbols() - defined},
        reads={name: v for name, v in f.reads.items() if name in {k.name for k in kept}},
    )
