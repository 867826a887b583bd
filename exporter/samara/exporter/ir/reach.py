# SPDX-License-Identifier: Apache-2.0
"""The order of a function's nodes, and those of them that outputs and dims need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from samara.exporter.ir.infer import Substitution, attr_dims, data_atoms
from samara.exporter.ir.program import Node, Value
from samara.exporter.ops import Guard
from samara.exporter.types import Atom, Born, Dim, Read


class Reach:
    """The nodes that outputs and their dims need: `live`. Dims are seen after the substitution `table`.

    nodes: in topological order. owners: names of nodes; a guard of any other name is needed in any case.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        inputs: Sequence[Value],
        guards: Sequence[Guard],
        owners: Collection[str],
        bounds: Mapping[Atom, Dim],
        table: Substitution,
    ) -> None:
        self.live: set[Node] = set()
        self._inputs = inputs
        self._guards = guards
        self._bounds = bounds
        self._table = table
        self._producers = {v: n for n in nodes for v in n.outputs}
        self._makers = _Makers(nodes, inputs)
        self._owned: dict[str, list[Guard]] = {}
        self._loose: list[Guard] = []
        for g in guards:
            (self._owned.setdefault(g.node, []) if g.node in owners else self._loose).append(g)
        self._stack: list[Node] = []
        self._seen: set[Atom] = set()

    def need_all(self, outputs: Sequence[Value]) -> None:
        """Find the nodes that these outputs, the function's inputs and its loose guards need."""
        for v in outputs:
            self._need(self._producers.get(v))
        self._need_dims(d for v in (*self._inputs, *outputs) for d in v.type.shape)
        for g in self._loose:
            self._need_dims((g.a, g.b))
        while self._stack:
            self._visit(self._stack.pop())

    def guards(self) -> list[Guard]:
        """The guards of live nodes, and those about tensors that live nodes make."""
        if not self._guards:
            return []
        names = {n.name for n in self.live}
        values: set[object] = {v.name for n in self.live for v in n.outputs}
        values |= {v.name for v in self._inputs}
        return [
            g
            for g in self._guards
            if g.node in names
            or all(a.key in values for a in data_atoms(map(self._table.dim, (g.a, g.b))))
        ]

    def _visit(self, node: Node) -> None:
        for v in node.inputs:
            if v in self._producers:
                self._need(self._producers[v])
        if node.op.dim_attrs:
            self._need_dims(attr_dims(node.op, node.attrs))
        for v in node.outputs:
            if not v.type.is_static:
                self._need_dims(v.type.shape)
        for g in self._owned.get(node.name, ()):
            self._need_dims((g.a, g.b))

    def _need(self, node: Node | None) -> None:
        if node is not None and node not in self.live:
            self.live.add(node)
            self._stack.append(node)

    def _need_dims(self, dims: Iterable[Dim]) -> None:
        for atom in data_atoms(self._table.dim(d) for d in dims):
            if atom in self._seen:
                continue
            self._seen.add(atom)
            self._need(self._makers.of(atom))
            if atom in self._bounds:
                self._need_dims((self._bounds[atom],))


class _Makers:
    """The node that makes a tensor, by the tensor's name. Inputs are made by none."""

    def __init__(self, nodes: Sequence[Node], inputs: Iterable[Value]) -> None:
        self._nodes = nodes
        self._inputs = inputs
        self._found: dict[object, Node] | None = None

    def of(self, atom: Read | Born) -> Node | None:
        """The node that makes the tensor of an atom."""
        if self._found is None:
            self._found = {v.name: n for n in self._nodes for v in n.outputs}
            for v in self._inputs:
                self._found.pop(v.name, None)
        return self._found.get(atom.key)


def _is_sorted(nodes: list[Node]) -> bool:
    """Whether the nodes are in order, if none has symbolic dims among its attributes; else False."""
    last = {v: i for i, n in enumerate(nodes) for v in n.outputs}
    for i, n in enumerate(nodes):
        if n.op.dim_attrs and not all(d.is_static for d in attr_dims(n.op, n.attrs)):
            return False
        for v in n.inputs:
            if v is not None and last.get(v, -1) >= i:
                return False
    return True


def ordered(nodes: list[Node], table: Substitution, inputs: Sequence[Value]) -> list[Node]:
    """The nodes in topological order, otherwise in the given order. Dims are seen after the substitution `table`.

    ValueError for a node that needs its own result.
    """
    if _is_sorted(nodes):
        return nodes
    makers = _Makers(nodes, inputs)
    producers = {v: n for n in nodes for v in n.outputs}

    def needs(node: Node) -> list[Node]:
        found = [producers[v] for v in node.inputs if v in producers]
        if node.op.dim_attrs:
            for atom in data_atoms(table.dim(d) for d in attr_dims(node.op, node.attrs)):
                maker = makers.of(atom)
                if maker is not None:
                    found.append(maker)
        return found

    done: set[Node] = set()
    opened: set[Node] = set()
    result: list[Node] = []
    for root in nodes:
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            if ready:
                done.add(node)
                result.append(node)
                continue
            if node in opened:
                raise ValueError(f"node '{node.name}' needs its own result")
            opened.add(node)
            stack.append((node, True))
            stack += [(n, False) for n in reversed(needs(node)) if n not in done]
    return result
