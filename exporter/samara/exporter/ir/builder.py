# SPDX-License-Identifier: Apache-2.0
"""Building programs: one Builder per function, nested Builders for the bodies of control flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.infer import callees, known_scalar, note_lawful
from samara.exporter.ir.program import (
    Function,
    Node,
    Program,
    Source,
    Value,
    Variable,
    constant,
    reserve,
    unused,
)
from samara.exporter.ops import Guard, InferContext, OpSpec, get_op, weak_dtype
from samara.exporter.types import (
    Atom,
    Born,
    Dim,
    DimLike,
    DType,
    Quant,
    Read,
    ShapeError,
    Sym,
    TensorType,
    as_dim,
)

_READABLE = (DType.I32, DType.I64, DType.BOOL, DType.F32)


class ProgramBuilder:
    """A Program under construction: its functions and the names in use."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self._names: set[str] = set()
        self._symbols = 0

    @staticmethod
    def of(program: Program) -> ProgramBuilder:
        """A builder that starts with the functions of `program`."""
        made = ProgramBuilder()
        made.functions = dict(program.functions)
        made._names = set(program.functions)
        made._symbols = max((_suffix(f) for f in program.functions.values()), default=0)
        return made

    def reopen(self, function: Function, name: str | None = None) -> Builder:
        """A builder that appends to `function`, or to a copy of it under another name.

        The caller must bind reads and writes again.
        """
        builder = Builder(self, function.name if name is None else reserve(name, self._names), None)
        builder.inputs = list(function.inputs)
        builder.nodes = list(function.nodes)
        builder.guards = list(function.guards)
        builder.bounds = dict(function.bounds)
        for value in function.values():
            builder._names.add(value.name)
            if not value.is_constant:
                builder._own(value)
        return builder

    def function(self, name: str) -> Builder:
        """A builder of a new function; its name gets a suffix if it is in use."""
        return Builder(self, reserve(name, self._names), None)

    def forget(self, name: str) -> None:
        """Drop a function that is not needed, and its bodies; their names become free."""
        below = f"{name}/"
        self.functions = {
            n: f for n, f in self.functions.items() if n != name and not n.startswith(below)
        }
        self._names = {n for n in self._names if n != name and not n.startswith(below)}

    def fresh_symbol(self, hint: str) -> Dim:
        """A symbol that no function of the program uses yet."""
        self._symbols += 1
        return as_dim_atom(Sym(f"{hint}.{self._symbols}"))

    def signature(self, name: str) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
        """(input types, output types) of a finished function."""
        f = self.functions[name]
        return tuple(v.type for v in f.inputs), tuple(v.type for v in f.outputs)

    def finish(
        self,
        entries: Sequence[str],
        variables: Iterable[Variable] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Program:
        """Return the Program, without functions that no entry reaches."""
        reached: dict[str, Function] = {}

        def visit(name: str) -> None:
            if name in reached:
                return
            reached[name] = self.functions[name]
            for node in self.functions[name].nodes:
                for callee in callees(node):
                    visit(callee)

        for entry in entries:
            visit(entry)
        return Program(reached, tuple(entries), tuple(variables), dict(metadata or {}))


class Builder:
    """Appends nodes to one function.

    A value of an enclosing builder used in a child is captured: it becomes an input of the child, and dims that mention
    its atoms are translated, so that a finished function is closed.
    """

    def __init__(self, program: ProgramBuilder, name: str, parent: Builder | None) -> None:
        self.program = program
        self.name = name
        self.parent = parent
        self.inputs: list[Value] = []
        self.captures: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        self.guards: list[Guard] = []
        self.bounds: dict[Atom, Dim] = {}
        self._values: dict[str, Value] = {}
        self._names: set[str] = set()
        self._definers: dict[Atom, Value] = {}
        self._atoms: dict[Atom, Dim] = {}

    # ---- values

    def unique(self, name: str) -> str:
        """`name`, with a suffix if this function has it already."""
        return reserve(name, self._names)

    def input(
        self,
        name: str,
        dtype: DType | str,
        shape: Sequence[DimLike | str],
        quant: Quant | None = None,
    ) -> Value:
        """Add an input. A string in `shape` names a symbolic dim."""
        dims = tuple(as_dim_atom(Sym(d)) if isinstance(d, str) else as_dim(d) for d in shape)
        value = Value(self.unique(name), TensorType(DType.parse(dtype), dims, quant))
        self.inputs.append(value)
        self._own(value)
        return value

    def formal(self, name: str, like: TensorType) -> Value:
        """Add an input for a value of type `like` of the enclosing builder: a loop's carried value.

        Sizes that depend on data become symbols here.
        """
        shape = [
            dim if isinstance(dim.sole_atom(), Sym) else self._size_of_input(dim, name)
            for dim in like.shape
        ]
        return self.input(name, like.dtype, shape, like.quant)

    def const(
        self,
        array: Any,
        name: str = "const",
        dtype: DType | None = None,
        quant: Quant | None = None,
    ) -> Value:
        """A constant; `quant` with dtype QS8. Every function of the program may use it."""
        return constant(self.unique(name), array, dtype, quant)

    def read(self, value: Value, index: int, bound: DimLike | None = None) -> Dim:
        """Element `index` of a small tensor as a dim: folded for a constant, a Read atom otherwise.

        float32 elements give their bit pattern. Raises ShapeError for other dtypes.
        """
        if value.constant is not None:
            item = value.constant.reshape(-1)[index]
            bits = value.constant.dtype == np.float32
            return as_dim(int(np.float32(item).view(np.uint32)) if bits else int(item))
        if value.type.dtype not in _READABLE:
            raise ShapeError(
                f"{value.name}: a {value.type.dtype.public_name} tensor cannot be read as a dim"
            )
        value = self.resolve(value)
        atom = Read(value.name, index, bits=value.type.dtype is DType.F32)
        if bound is not None:
            self.bounds[atom] = self.translate(as_dim(bound))
        return as_dim_atom(atom)

    def resolve(self, value: Value) -> Value:
        """The value in this function: `value` itself, or the input that captures it."""
        if value.is_constant or self._values.get(value.name) is value:
            return value
        if value in self.captures:
            return self.captures[value]
        if self.parent is None:
            raise ValueError(f"{value.name} does not belong to function {self.name}")
        outer = self.parent.resolve(value)
        if outer in self.captures:
            self.captures[value] = self.captures[outer]
            return self.captures[outer]
        return self._capture(outer)

    def translate(self, dim: Dim) -> Dim:
        """`dim` with atoms of enclosing functions replaced by dims that this function can evaluate."""
        if dim.is_static or self.parent is None:
            return dim
        mapping = {a: d for a in dim.all_atoms() if (d := self._translate_atom(a)) is not None}
        return dim.substitute(mapping) if mapping else dim

    # ---- nodes

    def op(
        self,
        op: OpSpec | str,
        *inputs: Any,
        name: str | None = None,
        outputs: Sequence[str] | None = None,
        source: Source | None = None,
        attributes: Mapping[str, Any] | None = None,
        **attrs: Any,
    ) -> Any:
        """Append a node; return its output Value, or a tuple of them if the operator may have several.

        Inputs are Values, None (an absent optional input), arrays or Python scalars (constants; a scalar takes
        the dtype of the first Value). `attributes` are further attributes, whose names may be those of parameters.
        Raises ShapeError from the operator's rule, TypeError for wrong attributes.
        """
        spec = get_op(op) if isinstance(op, str) else op
        given = {**attrs, **attributes} if attributes else attrs
        return self.append(spec, inputs, spec.complete(given), name, outputs, source)

    def append(
        self,
        spec: OpSpec,
        inputs: Sequence[Any],
        attrs: dict[str, Any],
        name: str | None = None,
        outputs: Sequence[str] | None = None,
        source: Source | None = None,
    ) -> Any:
        """As `op`, with complete attributes (OpSpec.complete)."""
        args = self._arguments(inputs)
        full = self._translate_attrs(spec, attrs)
        node_name = name or (outputs[0] if outputs else spec.name)
        wanted = len(outputs) if outputs is not None else spec.max_outputs
        names = [self.unique(n) for n in outputs] if outputs else [self.unique(node_name)]
        ctx = InferContext(
            spec,
            [None if v is None else v.type for v in args],
            full,
            node=node_name,
            output_count=wanted,
            born=lambda o, a: as_dim_atom(Born(names[0], o, a, upper=ctx.bounds.get((o, a)))),
            functions=self.program.signature,
            scalars=lambda i: known_scalar(args, i),
        )
        types = spec.infer(ctx)
        while len(names) < len(types):
            names.append(self.unique(f"{names[0]}.{len(names)}"))
        made = tuple(Value(n, t) for n, t in zip(names, types, strict=False))
        self.guards += ctx.guards
        for (o, a), bound in ctx.bounds.items():
            self.bounds[Born(names[0], o, a)] = bound
        self.nodes.append(note_lawful(Node(spec, tuple(args), made, full, node_name, source)))
        for value in made:
            self._own(value)
        return made[0] if spec.max_outputs == 1 else made

    def finish(
        self,
        outputs: Sequence[Value],
        output_names: Sequence[str] = (),
        captures: Sequence[Value] | None = None,
    ) -> Function:
        """Close the function and add it to the program. `captures` orders the captured inputs."""
        results = tuple(self.resolve(v) for v in outputs)
        order = list(self.captures) if captures is None else list(captures)
        inner = dict.fromkeys(self.captures[v] for v in order)
        function = Function(
            name=self.name,
            inputs=(*self.inputs, *inner),
            outputs=results,
            nodes=tuple(self.nodes),
            output_names=tuple(output_names) or _distinct(v.name for v in results),
            guards=tuple(self.guards),
            bounds=dict(self.bounds),
        )
        self.program.functions[self.name] = function
        return function

    # ---- control flow

    def child(self, name: str) -> Builder:
        """A builder of a body that may use this builder's values."""
        return Builder(self.program, reserve(f"{self.name}/{name}", self.program._names), self)

    def if_(
        self,
        cond: Value,
        then: tuple[Builder, Sequence[Value]],
        orelse: tuple[Builder, Sequence[Value]],
        **kwargs: Any,
    ) -> tuple[Value, ...]:
        """Close two children with equally many outputs and append an `if` over them."""
        branches = (then, orelse)
        for builder, results in branches:
            for v in results:
                builder.resolve(v)
        captured = _unify([b for b, _ in branches])
        names = [b.finish(results, captures=captured).name for b, results in branches]
        return tuple(self.op(ops.if_, cond, *captured, then=names[0], orelse=names[1], **kwargs))

    def loop(
        self,
        max_trip: Value | None,
        cond: Value | None,
        carried: Sequence[Value],
        body: tuple[Builder, Sequence[Value]],
        **kwargs: Any,
    ) -> tuple[Value, ...]:
        """Close a body, whose first inputs are (iteration, condition, carried…), and append a `loop` over it.

        The body's results are (condition, carried…, stacked…).
        """
        builder, results = body
        for v in results:
            builder.resolve(v)
        captured = _unify([builder])
        name = builder.finish(results, captures=captured).name
        made = self.op(
            ops.loop, max_trip, cond, *carried, *captured, body=name, carried=len(carried), **kwargs
        )
        return tuple(made)

    # ---- internals

    def _own(self, value: Value) -> None:
        self._values[value.name] = value
        if value.type.is_static:
            return
        for dim in value.type.shape:
            atom = dim.sole_atom()
            if atom is not None:
                self._definers.setdefault(atom, value)

    def _arguments(self, inputs: Sequence[Any]) -> list[Value | None]:
        args: list[Value | None] = []
        for v in inputs:
            if isinstance(v, Value):
                args.append(self.resolve(v))
            elif v is None:
                args.append(None)
            else:
                args.append(self._constant(v, inputs))
        while args and args[-1] is None:
            args.pop()
        return args

    def _constant(self, v: Any, inputs: Sequence[Any]) -> Value:
        """A constant operand beside the other `inputs`."""
        like = weak_dtype([x.type.dtype for x in inputs if isinstance(x, Value)])
        if isinstance(v, (bool, int, float)) and like is not None:
            return self.const(np.asarray(v, like.numpy), dtype=like)
        return self.const(v)

    def _translate_attrs(self, spec: OpSpec, attrs: dict[str, Any]) -> dict[str, Any]:
        for attr in spec.dim_attrs:
            if attr.type == "dim":
                attrs[attr.name] = self.translate(attrs[attr.name])
            else:
                attrs[attr.name] = tuple(self.translate(d) for d in attrs[attr.name])
        return attrs

    def _capture(self, outer: Value) -> Value:
        shape = []
        for dim in outer.type.shape:
            atom = dim.sole_atom()
            if atom is None or _is_data(dim):
                shape.append(self._size_of_input(dim, outer.name))
            else:
                # Set before the dim is translated, because this value defines the atom here.
                shape.append(self._atoms.setdefault(atom, dim))
        inner = Value(
            self.unique(outer.name), TensorType(outer.type.dtype, tuple(shape), outer.type.quant)
        )
        self.captures[outer] = inner
        self._own(inner)
        return inner

    def _size_of_input(self, dim: Dim, name: str) -> Dim:
        """A size of an input for a value of an enclosing function. A size that depends on data there is a
        symbol here.
        """
        atom = dim.sole_atom()
        if not _is_data(dim):
            return self.translate(dim)
        outer = set(dim.all_atoms())
        known = dim.substitute({a: self._atoms[a] for a in outer if a in self._atoms})
        if not _is_data(known):
            left = outer & set(known.all_atoms())
            return known.substitute(
                {a: d for a in left if (d := self._translate_atom(a)) is not None}
            )
        hint = str(atom.key) if isinstance(atom, (Born, Read)) else name
        symbol = self.program.fresh_symbol(hint)
        if atom is not None:
            self._atoms[atom] = symbol
        return symbol

    def _translate_atom(self, atom: Atom) -> Dim | None:
        """The dim that replaces `atom` here; None for this function's own atoms and for composite ones."""
        if atom in self._atoms:
            return self._atoms[atom]
        if atom in self._definers or self.parent is None:
            return None
        if not isinstance(atom, (Sym, Read, Born)):
            return None  # its arguments are visited separately
        if isinstance(atom, (Read, Born)) and atom.key in self._values:
            return None
        definer = self._outer_definer(atom)
        if definer is not None:
            self.resolve(definer)
            return self._atoms.get(atom)
        if isinstance(atom, Read):
            inner = self.resolve(self._outer_value(str(atom.key)))
            self._atoms[atom] = as_dim_atom(
                Read(inner.name, atom.index, bits=atom.bits, upper=atom.upper)
            )
            return self._atoms[atom]
        raise ShapeError(f"dim {atom} is not known in function {self.name}")

    def _outer_definer(self, atom: Atom) -> Value | None:
        builder = self.parent
        while builder is not None:
            if atom in builder._definers:
                return builder._definers[atom]
            builder = builder.parent
        return None

    def _outer_value(self, name: str) -> Value:
        builder = self.parent
        while builder is not None:
            if name in builder._values:
                return builder._values[name]
            builder = builder.parent
        raise ShapeError(f"tensor {name} is not known in function {self.name}")


def _is_data(dim: Dim) -> bool:
    """Whether the size depends on data."""
    return any(isinstance(a, (Born, Read)) for a in dim.all_atoms())


def _suffix(function: Function) -> int:
    """The highest number that a symbol's name ends with."""
    ends = [s.rpartition(".")[2] for v in function.values() for s in v.type.symbols()]
    return max((int(e) for e in ends if e.isdecimal()), default=0)


def as_dim_atom(atom: Atom) -> Dim:
    """The dim that consists of `atom` alone."""
    return Dim.atom(atom)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """The names; one that occurs again gets a suffix."""
    taken: dict[str, None] = {}
    for name in names:
        taken[unused(name, taken)] = None
    return tuple(taken)


def _unify(builders: Sequence[Builder]) -> list[Value]:
    """Make all builders capture the same outer values, in one order; return the parent's values."""
    parent = builders[0].parent
    assert parent is not None
    while True:
        union: dict[Value, None] = {}
        for b in builders:
            for outer in b.captures:
                union[parent.resolve(outer)] = None
        before = len(union)
        for b in builders:
            for outer in list(union):
                b.resolve(outer)
        if all(len({parent.resolve(o) for o in b.captures}) == before for b in builders):
            return list(union)
