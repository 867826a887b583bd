# SPDX-License-Identifier: Apache-2.0
"""Plan which nodes become integer ones, which tensors int8, and which tensors share parameters.

Products (convolutions, matrix products) are quantized because that pays. Other operators follow if an
input is int8 already, so that a chain between products stays int8. The results of the last products
are not rounded, and everything behind them stays float: it costs little there, and rounding would
lose most accuracy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from samara.exporter import ops
from samara.exporter.ir import Function, Node, Value
from samara.exporter.ir.program import users_of
from samara.exporter.quantize._clusters import Cluster, find_clusters
from samara.exporter.quantize.recipe import LayerRecipe, Recipe, nearest
from samara.exporter.quantize.scheme import (
    INT8,
    Role,
    given_quant,
    is_product,
    joins,
    role_of,
    stays_late,
    takes_clamp,
)
from samara.exporter.types import DType, QuantizationError

_TAIL: Final = "no product follows: float costs little here and keeps the accuracy"
_UNSEEN: Final = "calibration saw no finite value there"


@dataclass(slots=True)
class Plan:
    """The choice for one function.

    `layers`: the recipe of each node. `roles`: nodes that become integer ones. `clamps`: for a node, the
    clamp behind it that is fused into it. `carried`: tensors that get int8 values; `made_int8` are those
    of them without a float form. `float_results`: products with int32 sums and a float result, because
    no int8 operator follows. `clustered`: results of nodes with role "inner" or "table", with the
    tensor each is a function of. `reasons`: why a node stays float although the recipe says int8.
    """

    function: Function
    layers: dict[Node, LayerRecipe]
    roles: dict[Node, Role] = field(default_factory=dict)
    clamps: dict[Node, Node] = field(default_factory=dict)
    carried: dict[Value, None] = field(default_factory=dict)
    made_int8: set[Value] = field(default_factory=set)
    float_results: set[Node] = field(default_factory=set)
    clustered: dict[Value, Value] = field(default_factory=dict)
    reasons: dict[Node, str] = field(default_factory=dict)
    seen: Callable[[Value], bool] = lambda _v: True
    _parent: dict[Value, Value] = field(default_factory=dict)

    def result_of(self, node: Node) -> Value:
        """The tensor at which the node's result is observed."""
        return self.clamps.get(node, node).outputs[0]

    def group(self, value: Value) -> Value:
        """The representative of all tensors that share parameters with `value`."""
        while value in self._parent:
            value = self._parent[value]
        return value

    def tie(self, a: Value, b: Value) -> None:
        """Make two tensors share parameters."""
        a, b = self.group(a), self.group(b)
        if a is not b:
            self._parent[b] = a


def layer_names(functions: Iterable[Function]) -> dict[Node, str]:
    """The names of nodes in recipes and reports: the node's name, or that of its result if several nodes
    have the same name.
    """
    nodes = [n for f in functions for n in f.nodes]
    counts = Counter(n.name for n in nodes)
    unnamed = [n for n in nodes if counts[n.name] > 1 and n.outputs]
    return {n: n.name for n in nodes} | {n: _plain(n.outputs[0].name) for n in unnamed}


def _plain(name: str) -> str:
    """A tensor's name before its channels were equalized."""
    return name.removesuffix(".equalized")


def resolve_layers(functions: Iterable[Function], recipe: Recipe) -> dict[str, LayerRecipe]:
    """The recipe's layers by the names of layer_names. A recipe may also use names of tensors that nodes
    make or have absorbed; what a clamp makes belongs to the layer that the clamp can be fused into.
    QuantizationError for an unknown name.
    """
    functions = tuple(functions)
    names = layer_names(functions)
    fused: dict[Node, Node] = {}
    for function in functions:
        users = users_of(function)
        fused |= {clamp: n for n in function.nodes if (clamp := _clamp_of(n, users)) is not None}
    known: dict[str, str] = {}
    for node in names:
        made = [v.name for v in node.outputs]
        for alias in (*made, *map(_plain, made), *node.absorbed):
            known.setdefault(alias, names[fused.get(node, node)])
    known.update({name: name for name in names.values()})
    found: dict[str, LayerRecipe] = {}
    for given, layer in recipe.layers.items():
        if given not in known:
            raise QuantizationError(
                f"recipe: there is no layer {given!r}", fix=nearest(given, known, "layers")
            )
        if known[given] in found:
            raise QuantizationError(
                f"recipe: {given!r} and another name both mean layer {known[given]!r}",
                fix="keep one of them",
            )
        found[known[given]] = layer
    return found


def make_plan(
    function: Function,
    recipe: Recipe,
    names: Mapping[Node, str],
    seen: Callable[[Value], bool],
) -> Plan:
    """Plan a function. `recipe` has its layers by the names of resolve_layers.

    seen: whether calibration observed a tensor.
    """
    plan = Plan(function, {n: recipe.of(names[n]) for n in function.nodes})
    users = users_of(function)
    own = recipe.layers
    forced = {n for n in function.nodes if names[n] in own and own[names[n]].scheme == INT8}
    _find_clamps(plan, users)
    clusters = _find_clusters(plan, users)
    if recipe.inputs == "int8":
        for v in function.inputs:
            if v.type.dtype is DType.F32 and v.name not in function.reads and seen(v):
                plan.made_int8.add(v)
    plan.seen = seen
    ahead = _before_products(plan, users, recipe.outputs == "int8")
    inner = set(plan.clamps.values())
    for node in function.nodes:
        role = role_of(node)
        if plan.layers[node].scheme != INT8 or node in inner:
            continue
        if node in clusters:
            _decide_cluster(plan, clusters[node], ahead, forced)
            continue
        if role is None:
            continue
        reason = _refusal(plan, node, role, node in ahead, node in forced)
        if reason is None:
            last = role.kind == "product" and node not in ahead and recipe.outputs == "float"
            _accept(plan, node, role, stays_float=last and not _used_by(forced, node, users))
        elif reason:
            plan.reasons[node] = reason
    _prune(plan, users, forced, recipe.outputs == "int8")
    _pull_moves(plan, users)
    _carry(plan)
    _tie_moves(plan)
    return plan


def _used_by(forced: set[Node], node: Node, users: Mapping[Value, list[Node | None]]) -> bool:
    """Whether a node that the recipe names uses the result, with or without a clamp."""
    after = [u for u in users.get(node.outputs[0], []) if u is not None]
    behind = [u for c in after if c.op.clamps is not None for u in users.get(c.outputs[0], [])]
    return any(u in forced for u in (*after, *behind))


def _find_clamps(plan: Plan, users: Mapping[Value, list[Node | None]]) -> None:
    for node in plan.function.nodes:
        clamp = _clamp_of(node, users) if plan.layers[node].scheme == INT8 else None
        if clamp is not None:
            plan.clamps[node] = clamp


def _clamp_of(node: Node, users: Mapping[Value, list[Node | None]]) -> Node | None:
    """The clamp that can be fused into the node, because nothing else reads its result."""
    if not takes_clamp(node):
        return None
    after = users.get(node.outputs[0], [])
    return (
        after[0]
        if len(after) == 1 and after[0] is not None and after[0].op.clamps is not None
        else None
    )


def _find_clusters(plan: Plan, users: Mapping[Value, list[Node | None]]) -> dict[Node, Cluster]:
    """The cluster of each node that is in one. Clamps stay in their cluster."""
    found = find_clusters(
        plan.function, users, plan.clamps, lambda n: plan.layers[n].scheme == INT8
    )
    clusters = {n: c for c in found for n in c.nodes}
    for node in clusters:
        plan.clamps.pop(node, None)
    return clusters


def _decide_cluster(plan: Plan, cluster: Cluster, ahead: set[Node], forced: set[Node]) -> None:
    """Make tables of a cluster over an int8 tensor, for those of its results that int8 nodes use."""
    makers = {n.outputs[0]: n for n in cluster.nodes}
    if cluster.leaf not in plan.made_int8 or cluster.nodes[0] in plan.roles:
        return
    wanted = []
    for v in cluster.exits:
        node = makers[v]
        if node not in ahead and node not in forced:
            plan.reasons[node] = _TAIL
        elif v.type.dtype is not DType.F32 or _is_steep(node):
            plan.reasons[node] = "its result is too steep, or no number, for a table"
        elif not plan.seen(v):
            plan.reasons[node] = _UNSEEN
        else:
            wanted.append(v)
    if not wanted:
        return
    needed = _needed(wanted, makers)
    for node in cluster.nodes:
        if node in needed:
            plan.roles[node] = Role("table" if node.outputs[0] in wanted else "inner", ())
            plan.clustered[node.outputs[0]] = cluster.leaf
    plan.made_int8.update(wanted)


def _is_steep(node: Node) -> bool:
    return node.op.integer is not None and node.op.integer.steep


def _needed(values: Iterable[Value], makers: Mapping[Value, Node]) -> set[Node]:
    """Those of `makers` that the values need."""
    found: set[Node] = set()
    stack = [makers[v] for v in values]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [makers[v] for v in node.inputs if v is not None and v in makers]
    return found


def _before_products(
    plan: Plan, users: Mapping[Value, list[Node | None]], borders: bool
) -> set[Node]:
    """Nodes from which an int8 product (or an int8 output) can be reached through nodes that may be int8."""
    found: set[Node] = set()
    for node in reversed(plan.function.nodes):
        for after in (u for v in node.outputs for u in users.get(v, [])):
            if after is None:
                reached = borders
            elif is_product(after.op) and plan.layers[after].scheme == INT8:
                reached = True
            else:
                passes = role_of(after) is not None or after.op.is_tabular
                reached = after in found and passes
            if reached:
                found.add(node)
                break
    return found


def _refusal(plan: Plan, node: Node, role: Role, ahead: bool, forced: bool) -> str | None:
    """Why the node stays float ("" if that needs no remark); None if it becomes int8."""
    data = [node.inputs[i] for i in role.inputs]
    moving = [v for v in data if v is not None and not v.is_constant]
    if not moving:
        return ""
    if any(v.type.dtype is not DType.F32 for v in moving):
        return "its operands are not float32"
    reached = role.kind == "product" or any(v in plan.made_int8 for v in moving)
    if not reached and not forced:
        return ""
    if not all(plan.seen(v) for v in (*moving, plan.result_of(node))):
        return _UNSEEN
    if role.kind == "product":
        return _product_refusal(node)
    if not reached:
        return _only_forced(role)
    if stays_late(node.op) and not ahead and not forced:
        return _TAIL
    if joins(node.op) and not ahead and not forced:
        return None if all(v in plan.made_int8 for v in moving) else "some operands are float"
    return None


def _only_forced(role: Role) -> str | None:
    return None if role.kind != "moving" else "its operands are float"


def _product_refusal(node: Node) -> str | None:
    w = node.inputs[1]
    assert w is not None
    if node.op is not ops.matmul and not w.is_constant:
        return "its weights are computed"
    return None


def _accept(plan: Plan, node: Node, role: Role, stays_float: bool = False) -> None:
    plan.roles[node] = role
    if stays_float:
        plan.clamps.pop(node, None)
        plan.float_results.add(node)
    elif role.kind == "moving":
        plan.made_int8.update(node.outputs)
    else:
        plan.made_int8.add(plan.result_of(node))


def _prune(
    plan: Plan, users: Mapping[Value, list[Node | None]], forced: set[Node], borders: bool
) -> None:
    """Let results that only float operators use stay float: rounding them would save nothing."""
    for node in reversed(plan.function.nodes):
        role = plan.roles.get(node)
        if role is None or role.kind == "inner" or node in plan.float_results or node in forced:
            continue
        values = node.outputs if role.kind == "moving" else (plan.result_of(node),)
        after = [(v, u) for v in values for u in users.get(v, [])]
        if any(u is not None and _takes(plan, u, v) for v, u in after):
            continue
        if borders and any(u is None for _, u in after):
            continue
        if role.kind == "moving" and _is_shared(plan, node, users):
            continue
        plan.made_int8.difference_update(values)
        if role.kind == "product":
            plan.clamps.pop(node, None)
            plan.float_results.add(node)
            continue
        del plan.roles[node]
        plan.reasons[node] = "only float operators use its result"
        leaf = plan.clustered.pop(node.outputs[0], None)
        if leaf is not None:
            _shrink(plan, leaf)


def _is_shared(plan: Plan, node: Node, users: Mapping[Value, list[Node | None]]) -> bool:
    """Whether the operands of a moving node are int8 for other nodes anyway."""
    return all(
        any(u is not None and u is not node and _takes(plan, u, v) for u in users.get(v, []))
        for v in node.inputs[:1]
        if v is not None
    )


def _shrink(plan: Plan, leaf: Value) -> None:
    """Remove nodes of a cluster that none of its remaining tables needs."""
    nodes = [n for n in plan.roles if plan.clustered.get(n.outputs[0]) is leaf]
    makers = {n.outputs[0]: n for n in nodes}
    needed = _needed([n.outputs[0] for n in nodes if plan.roles[n].kind == "table"], makers)
    for node in nodes:
        if node not in needed:
            del plan.roles[node]
            del plan.clustered[node.outputs[0]]


def _pull_moves(plan: Plan, users: Mapping[Value, list[Node | None]]) -> None:
    """Round values before they move instead of afterwards, if only integer nodes use them."""
    for node in reversed(plan.function.nodes):
        role = role_of(node)
        if node in plan.roles or role is None or role.kind != "moving" or len(role.inputs) > 1:
            continue
        x = node.inputs[0]
        if x is None or plan.layers[node].scheme != INT8 or x.type.dtype is not DType.F32:
            continue
        if x.is_constant or not plan.seen(x):
            continue
        after = [(v, u) for v in node.outputs for u in users.get(v, [])]
        if after and all(u is not None and _takes(plan, u, v) for v, u in after):
            _accept(plan, node, role)


def _takes(plan: Plan, node: Node, value: Value) -> bool:
    """Whether `node` is an integer one that reads `value` as int8."""
    role = plan.roles.get(node)
    if role is None:
        return False
    if plan.clustered.get(node.outputs[0]) is value:
        return True
    at = [i for i, v in enumerate(node.inputs) if v is value]
    return bool(at) and all(i in role.inputs for i in at)


def _carry(plan: Plan) -> None:
    plan.carried.update((v, None) for v in plan.function.inputs if v in plan.made_int8)
    for node, role in plan.roles.items():
        for v in (node.inputs[i] for i in role.inputs):
            if v is not None and not v.is_constant:
                plan.carried[v] = None
        if node in plan.float_results or role.kind == "inner":
            continue
        outputs = node.outputs if role.kind == "moving" else (plan.result_of(node),)
        plan.carried.update(dict.fromkeys(outputs))


def _tie_moves(plan: Plan) -> None:
    """Make tensors that only move share parameters with their source, and the parts of a concat with each
    other. A softmax has fixed parameters, so it is not joined with other parts.
    """
    given = {n.outputs[0] for n in plan.roles if given_quant(n.op) is not None}
    joined = [n for n, role in plan.roles.items() if role.kind == "moving"]
    for node in joined:
        if not joins(node.op):
            x = node.inputs[0]
            assert x is not None
            for v in node.outputs:
                plan.tie(x, v)
    for node in joined:
        if joins(node.op):
            parts = [u for u in node.inputs if u is not None and not u.is_constant]
            fixed = {plan.group(u) for u in given}
            free = [u for u in parts if plan.group(u) not in fixed]
            if not free and len({plan.group(u) for u in parts}) == 1:
                free = parts
            for u in free:
                plan.tie(u, node.outputs[0])
