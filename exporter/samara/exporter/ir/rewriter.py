# SPDX-License-Identifier: Apache-2.0
"""Editing a function: use lists, replacement of values and nodes, one linear pass at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from samara.exporter.ir.infer import (
    Retyper,
    Substitution,
    attr_dims,
    data_atoms,
    function_atoms,
    infer_node,
    is_lawful,
    note_lawful,
    open_guards,
    read_constant,
    signature_of,
)
from samara.exporter.ir.program import Function, Node, Program, Source, Value, constant, reserve
from samara.exporter.ir.reach import Reach, ordered
from samara.exporter.ops import Guard, OpSpec, get_op
from samara.exporter.types import Atom, Born, Dim, DType, Quant, Read, Tri, compare


class _Entry:
    """A node and its position; the node object is replaced when its inputs change."""

    __slots__ = ("alive", "next", "node", "previous", "touched")

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self.alive = True
        self.touched = False
        self.previous: _Entry = self
        self.next: _Entry = self


class Rewriter:
    """A function being edited.

    Nodes obtained from it stay valid handles: `current` gives a node's present form. `finish` updates
    types downstream of an edit and dims that mention a replaced value, and drops dead nodes. The cost
    of an edit is proportional to the uses that it touches.
    """

    def __init__(self, function: Function, program: Program | None = None) -> None:
        self.function = function
        self.changed = False
        self._signature = None if program is None else signature_of(program.functions)
        self._head = _Entry(None)
        self._entries: dict[Node, _Entry] = {}
        self._producers: dict[Value, _Entry] = {}
        self._users: dict[Value, dict[_Entry, int]] = {}
        self._outputs: list[Value] = list(function.outputs)
        self._output_uses: dict[Value, int] = {}
        self._guards: list[Guard] = list(function.guards)
        self._bounds: dict[Atom, Dim] = dict(function.bounds)
        self._owners = {n.name for n in function.nodes}
        self._table = Substitution()
        self._names: set[str] = set()
        self._reads: dict[object, set[Read]] = {}
        self.operators: set[OpSpec] = {n.op for n in function.nodes}
        for v in (*function.inputs, *self._outputs):
            self._names.add(v.name)
        for v in self._outputs:
            self._output_uses[v] = self._output_uses.get(v, 0) + 1
        for n in function.nodes:
            self._link(_Entry(n), self._head)
            self._names.update([v.name for v in n.inputs if v is not None])
            self._names.update([v.name for v in n.outputs])
        self._given_names = len(self._names)
        self._note_reads(function_atoms(function))

    # ---- queries

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.function.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The function's current outputs."""
        return tuple(self._outputs)

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes in order. Edits during the walk are allowed; it continues from its position."""
        entry = self._head.next
        while entry is not self._head:
            if entry.alive and entry.node is not None:
                yield entry.node
            entry = entry.next

    def current(self, node: Node) -> Node | None:
        """The current form of `node`; None if it was removed."""
        entry = self._entries.get(node)
        return entry.node if entry is not None and entry.alive else None

    def producer(self, value: Value | None) -> Node | None:
        """The node that produces the value; None for inputs and constants."""
        entry = self._producers.get(value) if value is not None else None
        return entry.node if entry is not None else None

    def users(self, value: Value) -> list[Node]:
        """The nodes that take the value as an input, each once."""
        return [e.node for e in self._users.get(value, ()) if e.node is not None]

    def is_output(self, value: Value) -> bool:
        return value in self._output_uses

    def is_read(self, value: Value) -> bool:
        """Whether some dim reads an element of the value."""
        return bool(self._reads.get(value.name))

    def only_user(self, value: Value) -> Node | None:
        """The only user of the value, if it uses it once and no output or dim uses it; else None."""
        found = self._users.get(value, {})
        if self.is_output(value) or self.is_read(value) or len(found) != 1:
            return None
        ((entry, count),) = found.items()
        return entry.node if count == 1 else None

    def dead(self) -> list[Node]:
        """The nodes that no output and no dim in use needs, in order."""
        nodes = list(self.nodes())
        live = self._reach(nodes).live
        return [n for n in nodes if n not in live]

    # ---- adding

    def unique(self, name: str) -> str:
        """`name`, with a suffix if the function has it already."""
        return reserve(name, self._names)

    def const(
        self,
        array: Any,
        name: str = "const",
        dtype: DType | None = None,
        quant: Quant | None = None,
    ) -> Value:
        """A constant; `quant` with dtype QS8."""
        return constant(self.unique(name), array, dtype, quant)

    def op(
        self,
        op: OpSpec | str,
        *inputs: Value | None,
        before: Node | None = None,
        name: str | None = None,
        outputs: Sequence[str] | None = None,
        output_count: int | None = None,
        source: Source | None = None,
        absorbed: tuple[str, ...] = (),
        **attrs: Any,
    ) -> Any:
        """Add a node before `before` (None: at the end); its output Value, or a tuple of them.

        Names in use get a suffix.
        """
        spec = get_op(op) if isinstance(op, str) else op
        names = None if outputs is None else [self.unique(n) for n in outputs]
        made = self._make(spec, inputs, names, name, output_count, source, absorbed, attrs)
        place = self._head if before is None else self._entries[before]
        self._link(_Entry(made), place)
        self.changed = True
        return made.outputs[0] if spec.max_outputs == 1 else made.outputs

    # ---- replacing

    def replace_value(self, old: Value, new: Value) -> None:
        """Use `new` wherever `old` is used: by nodes, by dims, as an output of the function."""
        if old is new:
            return
        _check_replaceable(old, new)
        self.changed = True
        for entry in self._users.pop(old, {}):
            self._swap(entry, old, new)
        if old in self._output_uses:
            self._outputs = [new if v is old else v for v in self._outputs]
            self._output_uses[new] = self._output_uses.get(new, 0) + self._output_uses.pop(old)
        self._replace_atoms(old, new)

    def replace_node(
        self,
        node: Node,
        op: OpSpec | str,
        *inputs: Value | None,
        name: str | None = None,
        source: Source | None = None,
        absorbed: Iterable[str] = (),
        **attrs: Any,
    ) -> Any:
        """Replace `node` by another one with the same output names and users.

        Name, source and absorbed names are inherited; `absorbed` adds to them.
        """
        entry = self._entries[node]
        old = self._live(entry)
        spec = get_op(op) if isinstance(op, str) else op
        made = self._make(
            spec,
            inputs,
            [v.name for v in old.outputs],
            old.name if name is None else name,
            None,
            old.source if source is None else source,
            (*old.absorbed, *absorbed),
            attrs,
        )
        self._link(_Entry(made), entry)
        for before, after in zip(old.outputs, made.outputs, strict=True):
            self.replace_value(before, after)
        self.remove(node)
        return made.outputs[0] if spec.max_outputs == 1 else made.outputs

    def set_outputs(self, values: Sequence[Value]) -> None:
        """Make these the function's outputs (as many as before, or `finish` is told new names)."""
        self._outputs = list(values)
        self._output_uses = {}
        for v in values:
            self._output_uses[v] = self._output_uses.get(v, 0) + 1
        self.changed = True

    def remove(self, node: Node) -> None:
        """Remove a node whose outputs have no users."""
        entry = self._entries[node]
        node = self._live(entry)
        for v in node.outputs:
            if self._users.get(v) or self.is_output(v):
                raise ValueError(f"node '{node.name}' cannot go: '{v.name}' is in use")
        for used in node.inputs:
            if used is not None:
                self._unuse(used, entry)
        for v in node.outputs:
            self._producers.pop(v, None)
        entry.alive = False
        # A dead entry keeps its links, so that a walk at this entry can continue.
        entry.previous.next = entry.next
        entry.next.previous = entry.previous
        self.changed = True

    def add_guard(self, guard: Guard) -> None:
        """Add a guard: a relation that must hold at run time."""
        self._guards.append(guard)
        self._note_reads(data_atoms((guard.a, guard.b)))
        self.changed = True

    def substitute(self, atom: Atom, dim: Dim | int) -> None:
        """Replace `atom` by `dim` in all dims."""
        self._table.add(atom, dim)
        if isinstance(dim, Dim):
            self._note_reads(data_atoms((dim,)))
        self.changed = True

    # ---- closing

    def serve_again(self, program: Program) -> bool:
        """Whether it is as new; then it serves another pass, over the same function in `program`."""
        self._signature = signature_of(program.functions)
        return not self.changed and len(self._names) == self._given_names

    def finish(self, output_names: Sequence[str] | None = None) -> Function:
        """The edited function: sorted, without dead nodes, with current types and dims."""
        if not self.changed:
            return self.function
        nodes = ordered(list(self.nodes()), self._table, self.inputs)
        reach = self._reach(nodes)
        retyper = Retyper(self._signature, self._table)
        made = [retyper.node(n, self._entries[n].touched) for n in nodes if n in reach.live]
        self._close()
        outputs = [retyper.value(v) for v in self._outputs]
        everything = [self._table.guard(g) for g in (*reach.guards(), *retyper.guards)]
        names = self.function.output_names if output_names is None else tuple(output_names)
        inputs = [retyper.value(v) for v in self.function.inputs]
        done = replace(
            self.function,
            inputs=tuple(v for v in inputs if v is not None),
            nodes=tuple(made),
            outputs=tuple(v for v in outputs if v is not None),
            output_names=names,
            guards=open_guards(everything, self.function.guards),
            bounds={},
        )
        bounds = {**self._table.bounds(self._bounds), **retyper.bounds}
        return replace(done, bounds=_needed_bounds(done, bounds))

    # ---- internals

    def _live(self, entry: _Entry) -> Node:
        if not entry.alive or entry.node is None:
            raise ValueError("the node was removed")
        return entry.node

    def _link(self, entry: _Entry, place: _Entry) -> None:
        node = entry.node
        assert node is not None
        entry.previous, entry.next = place.previous, place
        place.previous.next = entry
        place.previous = entry
        self._entries[node] = entry
        for v in node.inputs:
            if v is not None:
                users = self._users.setdefault(v, {})
                users[entry] = users.get(entry, 0) + 1
        for v in node.outputs:
            self._producers[v] = entry

    def _unuse(self, value: Value, entry: _Entry) -> None:
        users = self._users.get(value)
        if users is None or entry not in users:
            return
        users[entry] -= 1
        if not users[entry]:
            del users[entry]

    def _swap(self, entry: _Entry, old: Value, new: Value) -> None:
        node = self._live(entry)
        count = sum(v is old for v in node.inputs)
        entry.touched = True
        entry.node = node.with_inputs(tuple([new if v is old else v for v in node.inputs]))
        # A constant may tell the rule more.
        if is_lawful(node) and old.type == new.type and new.constant is None:
            note_lawful(entry.node)
        self._entries[entry.node] = entry
        users = self._users.setdefault(new, {})
        users[entry] = users.get(entry, 0) + count

    def _make(
        self,
        spec: OpSpec,
        inputs: Sequence[Value | None],
        names: list[str] | None,
        name: str | None,
        output_count: int | None,
        source: Source | None,
        absorbed: tuple[str, ...],
        attrs: dict[str, Any],
    ) -> Node:
        args = list(inputs)
        while args and args[-1] is None:
            args.pop()
        full = spec.complete(attrs)
        node_name = name if name is not None else (names[0] if names else spec.name)
        wanted = len(names) if names is not None else output_count
        wanted = spec.max_outputs if wanted is None else wanted
        names = [self.unique(node_name)] if not names else list(names)
        inferred = infer_node(
            spec,
            args,
            full,
            node=node_name,
            first_output=names[0],
            output_count=wanted,
            signature=self._signature,
        )
        types = inferred.types if wanted is None else inferred.types[:wanted]
        while len(names) < len(types):
            names.append(self.unique(f"{names[0]}.{len(names)}"))
        outputs = tuple(Value(n, t) for n, t in zip(names, types, strict=True))
        self._guards += inferred.guards
        self._bounds.update(inferred.bounds)
        self._owners.add(node_name)
        dims = list(attr_dims(spec, full))
        for t in types:
            if not t.is_static:
                dims += t.shape
        dims += [d for g in inferred.guards for d in (g.a, g.b)]
        self._note_reads(data_atoms((*dims, *inferred.bounds.values())))
        node = Node(spec, tuple(args), outputs, full, node_name, source, absorbed)
        return note_lawful(node)

    def _replace_atoms(self, old: Value, new: Value) -> None:
        if self.is_read(old) and old.name != new.name:
            for read in self._reads.pop(old.name):
                if new.constant is not None:
                    self._table.add(read, read_constant(new.constant, read.index))
                    continue
                moved = replace(read, key=new.name)
                self._note_reads((moved,))
                self._table.add(read, Dim.atom(moved))
        for before, after in zip(old.type.shape, new.type.shape, strict=True):
            atom = before.sole_atom()
            if isinstance(atom, Born) and before != after and self._owns(old, atom):
                self._table.add(atom, after)

    def _owns(self, value: Value, atom: Born) -> bool:
        entry = self._producers.get(value)
        if entry is None or entry.node is None:
            return False
        return atom.key == entry.node.outputs[0].name

    def _note_reads(self, atoms: Iterable[Read | Born]) -> None:
        for atom in atoms:
            if isinstance(atom, Read):
                self._reads.setdefault(atom.key, set()).add(atom)

    def _reach(self, nodes: Sequence[Node]) -> Reach:
        reach = Reach(nodes, self.inputs, self._guards, self._owners, self._bounds, self._table)
        reach.need_all(self._outputs)
        return reach

    def _close(self) -> None:
        """Unlink the entries, so that they are freed without a collection of cycles."""
        for entry in self._entries.values():
            entry.previous = entry.next = self._head
        self._head.previous = self._head.next = self._head


class Rewriters:
    """The rewriters of a program's functions, for passes that run one after the other.

    A rewriter that has changed nothing serves the next pass too, so that the index of uses is made once for each
    form of a function.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Rewriter] = {}

    def of(self, function: Function, program: Program) -> Rewriter:
        """A rewriter of the function, a function of this program."""
        kept = self._kept.get(function.name)
        if kept is None or kept.function is not function or not kept.serve_again(program):
            kept = self._kept[function.name] = Rewriter(function, program)
        return kept


def _check_replaceable(old: Value, new: Value) -> None:
    a, b = old.type, new.type
    fits = a.dtype is b.dtype and a.rank == b.rank and a.quant == b.quant
    fits = fits and all(compare(x, y) is not Tri.NO for x, y in zip(a.shape, b.shape, strict=True))
    if not fits:
        raise ValueError(f"'{new.name}' ({b}) cannot stand for '{old.name}' ({a})")


def _needed_bounds(function: Function, bounds: dict[Atom, Dim]) -> dict[Atom, Dim]:
    """The bounds of atoms that still occur, also inside these bounds."""
    if not bounds:
        return {}
    atoms = list(function_atoms(function))
    found: dict[Atom, Dim] = {}
    while atoms:
        atom = atoms.pop()
        if atom in bounds and atom not in found:
            found[atom] = bounds[atom]
            atoms += data_atoms((bounds[atom],))
    return found
