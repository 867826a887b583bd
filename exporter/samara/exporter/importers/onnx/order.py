# SPDX-License-Identifier: Apache-2.0
"""Sort the nodes of models that list them out of order, and refuse cycles."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import onnx

from samara.exporter.types import ModelFormatError

# Types of attributes that hold no graph.
_PLAIN = frozenset(
    {
        onnx.AttributeProto.INT,
        onnx.AttributeProto.INTS,
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.FLOATS,
        onnx.AttributeProto.STRING,
        onnx.AttributeProto.STRINGS,
        onnx.AttributeProto.TENSOR,
    }
)
# Number of nodes of a cycle that an error names.
_NAMED = 8


def sorted_model(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with each node after those whose results it uses, also in subgraphs and functions.

    The given order is kept where possible; a sorted model is returned as the same object. ModelFormatError
    for nodes that use each other in a cycle, with their names.
    """
    if _is_sorted(model):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _sort(copy.graph.node, _given(copy.graph), "")
    for f in copy.functions:
        _sort(f.node, set(f.input), f" of function {f.domain}::{f.name}")
    return copy


def names_read(node: onnx.NodeProto) -> set[str]:
    """Names that a node reads, including those that its subgraphs capture."""
    names = set(node.input)
    names.discard("")
    for sub in _subgraphs(node):
        inner = (
            {o for n in sub.node for o in n.output}
            | {i.name for i in sub.input}
            | {t.name for t in sub.initializer}
        )
        for n in sub.node:
            names |= names_read(n) - inner
        names |= {o.name for o in sub.output} - inner
    return names


def _subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    found = []
    for a in node.attribute:
        if a.type in _PLAIN:
            continue
        if a.HasField("g"):
            found.append(a.g)
        found += a.graphs
    return found


def _is_sorted(model: onnx.ModelProto) -> bool:
    stack: list[tuple[Sequence[onnx.NodeProto], set[str]]] = [
        (model.graph.node, _given(model.graph)),
        *((f.node, set(f.input)) for f in model.functions),
    ]
    while stack:
        nodes, given = stack.pop()
        if any(k >= i for i, used in enumerate(_needs(nodes, given)) for k in used):
            return False
        stack += [(g.node, _given(g)) for n in nodes for g in _subgraphs(n)]
    return True


def _sort(nodes: Any, given: set[str], where: str) -> None:
    """Sort nodes in place, and those of their subgraphs."""
    order = _order(nodes, given)
    if len(order) < len(nodes):
        raise _cyclic(nodes, given, set(range(len(nodes))).difference(order), where)
    if order != list(range(len(nodes))):
        moved = [onnx.NodeProto.FromString(nodes[i].SerializeToString()) for i in order]
        del nodes[:]
        nodes.extend(moved)
    for node in nodes:
        for a in node.attribute:
            for graph in [a.g] if a.HasField("g") else a.graphs:
                inside = f" in {a.name!r} of {_named(node)}{where}"
                _sort(graph.node, _given(graph), inside)


def _given(graph: onnx.GraphProto) -> set[str]:
    return {i.name for i in graph.input} | {t.name for t in graph.initializer}


def _needs(nodes: Sequence[onnx.NodeProto], given: set[str]) -> list[set[int]]:
    """For each node the indices of the nodes whose results it uses, including captures of its subgraphs."""
    makers: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            if name and name not in given:
                makers.setdefault(name, i)
    return [{makers[n] for n in names_read(node) if n in makers} for node in nodes]


def _order(nodes: Sequence[onnx.NodeProto], given: set[str]) -> list[int]:
    """Indices of the nodes in order, the first ready one first. Nodes of a cycle, and those that need them, are
    missing.
    """
    needs = _needs(nodes, given)
    users: list[list[int]] = [[] for _ in needs]
    for i, used in enumerate(needs):
        for k in used:
            users[k].append(i)
    left = [len(used) for used in needs]
    ready = [i for i, n in enumerate(left) if n == 0]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for user in users[i]:
            left[user] -= 1
            if left[user] == 0:
                heapq.heappush(ready, user)
    return order


def _cyclic(
    nodes: Sequence[onnx.NodeProto], given: set[str], stuck: set[int], where: str
) -> ModelFormatError:
    """The error for nodes that wait for each other. Following the inputs of any of them ends in a cycle."""
    needs = _needs(nodes, given)
    path: list[int] = []
    at = min(stuck)
    while at not in path:
        path.append(at)
        at = min(needs[at] & stuck)
    # The walk went from users to makers, and data flows the other way.
    cycle = path[path.index(at) :][::-1]
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    names = [_named(nodes[i]) for i in cycle]
    if len(names) == 1:
        said = f"{names[0]} uses its own result"
    else:
        shown = names[:_NAMED]
        if len(names) > _NAMED:
            shown.append(f"{len(names) - _NAMED} more")
        said = f"the nodes {' -> '.join([*shown, names[0]])} use each other's results in a cycle"
    return ModelFormatError(
        f"{said}{where}, so no order runs them",
        op=nodes[cycle[0]].op_type,
        node=nodes[cycle[0]].name or None,
        fix="break the cycle: make a value of the previous run an input of the model, and write a"
        " recurrence within a run as a Loop or a Scan",
    )


def _named(node: onnx.NodeProto) -> str:
    name = node.name or next((o for o in node.output if o), "")
    return f"{name!r} ({node.op_type})"
