# SPDX-License-Identifier: Apache-2.0
"""Clusters: pointwise functions of one tensor that several operators compute. One table replaces them.

x * sigmoid(x), or a gelu of eight operators, then rounds only its input and its result. The values in
between need no int8 form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from samara.exporter.ir import Function, Node, Value
from samara.exporter.types import DType, as_dim

_KINDS: Final = (DType.F32, DType.BOOL)
_MOST_NODES: Final = 64


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes that compute functions of `leaf` only, in order, and those of their results that other nodes
    use.
    """

    leaf: Value
    nodes: tuple[Node, ...]
    exits: tuple[Value, ...]


def find_clusters(
    function: Function,
    users: Mapping[Value, list[Node | None]],
    clamps: Mapping[Node, Node],
    allowed: Callable[[Node], bool],
) -> list[Cluster]:
    """The clusters of two or more nodes.

    clamps: for a node, the clamp that is fused into it. Such a clamp belongs to no cluster unless its
    node does. allowed: whether a node may be in a cluster.
    """
    leaves: dict[Value, Value] = {}
    found: dict[Value, list[Node]] = {}
    producers = {c: n for n, c in clamps.items()}
    for node in function.nodes:
        leaf = _leaf_of(node, leaves) if allowed(node) else None
        maker = producers.get(node)
        if leaf is None or (maker is not None and maker.outputs[0] not in leaves):
            continue
        if len(found.setdefault(leaf, [])) < _MOST_NODES:
            leaves[node.outputs[0]] = leaf
            found[leaf].append(node)
    clusters = []
    for leaf, nodes in found.items():
        inside = set(nodes)
        exits = [
            n.outputs[0] for n in nodes if any(u not in inside for u in users.get(n.outputs[0], []))
        ]
        if len(nodes) > 1:
            clusters.append(Cluster(leaf, tuple(nodes), tuple(exits)))
    return clusters


def _leaf_of(node: Node, leaves: Mapping[Value, Value]) -> Value | None:
    """The tensor that the node's result is a pointwise function of; None if there is not exactly one."""
    if not node.op.is_tabular or len(node.outputs) != 1:
        return None
    out = node.outputs[0].type
    found: set[Value] = set()
    for v in node.inputs:
        if v is None:
            continue
        if v.is_constant:
            if any(d != as_dim(1) for d in v.type.shape):
                return None
            continue
        found.add(leaves.get(v, v))
    if len(found) != 1 or out.dtype not in _KINDS:
        return None
    (leaf,) = found
    same = leaf.type.dtype is DType.F32 and leaf.type.shape == out.shape
    return leaf if same else None
