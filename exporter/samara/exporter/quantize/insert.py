# SPDX-License-Identifier: Apache-2.0
"""Insertion: put quantize and dequantize around the int8 parts of a float function.

Every operator in the result is still a float one, so it runs anywhere, and it rounds exactly where the
integer operators would. The pass `fuse_quantized` then turns each cluster into an integer operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir import Array, Function, Node, Value, constant, infer_node
from samara.exporter.ir.program import reserve
from samara.exporter.ops import OpSpec
from samara.exporter.quantize import _weights, bias
from samara.exporter.quantize._layers import (
    PLAIN,
    LayerRecord,
    RangeRecord,
    TensorStats,
    WeightRecord,
)
from samara.exporter.quantize._low_bits import rewritten
from samara.exporter.quantize._plan import Plan, make_plan
from samara.exporter.quantize._shapes import channel_axis
from samara.exporter.quantize.observers import (
    choose_parameters,
)
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.quantize.scheme import (
    FLOAT,
    INT8,
    given_quant,
    is_product,
    is_recurrent,
    joins,
    role_of,
)
from samara.exporter.types import DType, Quant

# Result of a softmax: 256 steps of 1/256 from 0.
_SOFTMAX = Quant.per_tensor(1 / 256, -128)
# |bias| in steps of s_x * s_w stays below this, which leaves half of int32 for the sum of products.
_MAX_BIAS = float(1 << 29)


_IN_TABLE = "one table with the pointwise operators behind it"


@dataclass(slots=True)
class Inserted:
    """The function with quantize and dequantize pairs, and a record per layer."""

    function: Function
    layers: list[LayerRecord] = field(default_factory=list)


def insert(
    function: Function,
    recipe: Recipe,
    stats: Mapping[str, TensorStats],
    names: Mapping[Node, str],
) -> Inserted:
    """Carry out a recipe (its layers by `names`) on a function whose tensors were observed.

    Tensors without statistics stay float, and so does everything that depends on them.
    """
    return _Inserter(function, recipe, stats, names).run()


class _Inserter:
    def __init__(
        self,
        function: Function,
        recipe: Recipe,
        stats: Mapping[str, TensorStats],
        layers: Mapping[Node, str],
    ) -> None:
        recipe = recipe.settled(PLAIN)
        self.function, self.recipe, self.stats, self.layers = function, recipe, stats, layers
        self.plan: Plan = make_plan(function, recipe, layers, lambda v: _is_seen(stats, v.name))
        self.tables = {n.inputs[0] for n in function.nodes if n.op is ops.gather}
        self.names = {v.name for v in function.values()}
        self.nodes: list[Node] = []
        self.current: dict[Value, Value] = {}  # value -> its replacement for all users
        self.rounded: dict[Value, Value] = {}  # float value -> its replacement for integer nodes
        self.eight: dict[Value, Value] = {}  # value -> its int8 form
        self.ranges = self._ranges()
        self.records: list[LayerRecord] = []
        self.results: list[Value] = []  # the result of each record's layer

    def run(self) -> Inserted:
        inputs = [self._input(v) for v in self.function.inputs]
        inner = {c: n for n, c in self.plan.clamps.items() if n in self.plan.roles}
        for node in self.function.nodes:
            if node in self.plan.roles:
                self._integer(node)
            elif node in inner:
                self._emit(node, [self._use(v) for v in node.inputs])
            else:
                self._other(node)
            for v in node.outputs:
                if v in self.plan.carried:
                    self._pair(v)
        layers = [
            replace(r, quantized=self.eight[v].name) if r.scheme == INT8 and v in self.eight else r
            for r, v in zip(self.records, self.results, strict=True)
        ]
        outputs = tuple(self._output(v) for v in self.function.outputs)
        done = replace(
            self.function, inputs=tuple(inputs), nodes=tuple(self.nodes), outputs=outputs
        )
        return Inserted(done, layers)

    # ---- parameters

    def _ranges(self) -> dict[Value, RangeRecord]:
        """Range and parameters of every group of tensors, by the group's representative."""
        plan = self.plan
        members: dict[Value, list[Value]] = {}
        for v in plan.carried:
            members.setdefault(plan.group(v), []).append(v)
        makers = {v: n for n in plan.roles for v in n.outputs}
        owners = self._owners()
        found = {}
        for root, group in members.items():
            if any(v in makers and given_quant(makers[v].op) is not None for v in group):
                found[root] = RangeRecord(
                    root.name, "fixed", 0.0, 255 / 256, _SOFTMAX, _others(root, group)
                )
                continue
            # Moving values adds nothing to the range of their source.
            sources = [
                v for v in group if v not in makers or plan.roles[makers[v]].kind != "moving"
            ]
            chosen = [
                self.stats[v.name].range_by(self._observer(owners.get(v))) for v in sources or group
            ]
            moves = [makers[v] for v in group if v in makers]
            values = [c for n in moves for c in _moved_constants(n)]
            lo = min([r[0] for r in chosen] + [float(c.min()) for c in values])
            hi = max([r[1] for r in chosen] + [float(c.max()) for c in values])
            observer = self._observer(owners.get(sources[0] if sources else root))
            found[root] = RangeRecord(
                root.name, observer, lo, hi, choose_parameters(lo, hi), _others(root, group)
            )
        return found

    def _owners(self) -> dict[Value, Node]:
        """The layer whose recipe applies to a tensor: the one that makes it, else the first that uses it."""
        owners: dict[Value, Node] = {}
        for node in self.plan.roles:
            owners[self.plan.result_of(node)] = node
        for node, role in self.plan.roles.items():
            for i in role.inputs:
                v = node.inputs[i]
                if v is not None:
                    owners.setdefault(v, node)
        return owners

    def _observer(self, node: Node | None) -> str:
        chosen = None if node is None else self.plan.layers[node].observer
        return self.recipe.observer if chosen is None else chosen

    def _range(self, v: Value) -> RangeRecord:
        return self.ranges[self.plan.group(v)]

    def _quant(self, v: Value) -> Quant:
        return self._range(v).quant

    # ---- writing

    def _unique(self, name: str) -> str:
        return reserve(name, self.names)

    def _node(self, spec: OpSpec, inputs: Sequence[Value], name: str, **attrs: Any) -> Value:
        """Append a node of one output."""
        unique = self._unique(name)
        full = spec.complete(attrs)
        types = infer_node(
            spec, inputs, full, node=unique, first_output=unique, output_count=1
        ).types
        made = Value(unique, types[0])
        self.nodes.append(Node(spec, tuple(inputs), (made,), full, unique))
        return made

    def _emit(self, node: Node, inputs: Sequence[Value | None]) -> None:
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        self.nodes.append(node if same else replace(node, inputs=tuple(inputs)))

    def _use(self, v: Value | None) -> Value | None:
        return None if v is None else self.current.get(v, v)

    def _input(self, v: Value) -> Value:
        if v not in self.plan.carried:
            return v
        self._pair(v)
        return v

    def _pair(self, v: Value) -> None:
        """Insert quantize and dequantize behind a value."""
        quant = self._quant(v)
        eight = self._node(
            ops.quantize,
            [v],
            f"{v.name}.q8",
            scales=quant.scales,
            zero_points=quant.zero_points,
        )
        back = self._node(ops.dequantize, [eight], f"{v.name}.f32")
        self.eight[v] = eight
        (self.current if v in self.plan.made_int8 else self.rounded)[v] = back

    def _output(self, v: Value) -> Value:
        return self.current.get(v, v)

    # ---- integer nodes

    def _integer(self, node: Node) -> None:
        role = self.plan.roles[node]
        # Values within a cluster are not rounded, only its results are.
        inside = node.outputs[0] in self.plan.clustered
        inputs = [v if inside and v in self.plan.clustered else self._use(v) for v in node.inputs]
        weights: list[WeightRecord] = []
        for i in role.inputs:
            v = node.inputs[i]
            if v is None:
                continue
            if v.is_constant:
                inputs[i] = self._constant(node, v)
            else:
                inputs[i] = self.rounded.get(v, self.current.get(v, v))
        w = node.inputs[1] if role.kind == "product" else None
        if w is not None and w.is_constant:
            weights.append(self._weight(node, w, inputs))
        self._emit(node, inputs)
        self._record(node, INT8, _IN_TABLE if role.kind == "inner" else "", weights)

    def _constant(self, node: Node, v: Value) -> Value:
        """A constant operand of a sum, product or concat, as int8 and back."""
        assert v.constant is not None
        role = self.plan.roles[node]
        if role.kind == "product":
            return v
        if role.kind == "moving":
            quant = self._quant(node.outputs[0])
        else:
            values = v.constant
            quant = choose_parameters(float(values.min()), float(values.max()))
        eight = _weights.constant_operand(v, self._unique(f"{v.name}.q8"), quant)
        return self._node(ops.dequantize, [eight], f"{v.name}.f32")

    def _weight(self, node: Node, w: Value, inputs: list[Value | None]) -> WeightRecord:
        """Put int8 weights into `inputs`, and a bias that compensates their errors."""
        layer = self.plan.layers[node]
        axis = channel_axis(node) if layer.granularity == "per-channel" else None
        x = node.inputs[0]
        assert x is not None
        old = node.inputs[2] if len(node.inputs) > 2 else None
        offset = None if old is None or old.constant is None else np.abs(old.constant)
        least = None
        if offset is not None:
            least = offset.astype(np.float64) / (self._quant(x).scale * _MAX_BIAS)
            least = least if len(least) == _size(w, channel_axis(node)) else None
        made = _weights.int8_weights(w, self._unique(f"{w.name}.q8"), axis, least)
        inputs[1] = self._node(ops.dequantize, [made.value], f"{w.name}.f32")
        if self.recipe.bias_correction:
            fixed = bias.corrected(node, made.back, self.stats.get(x.name))
            if fixed is not None:
                inputs[2:] = [fixed.renamed(self._unique(fixed.name)), *inputs[3:]]
        if node in self.plan.float_results:
            self._round_bias(inputs, self._quant(x), made.value.type.quant)
        return made.record

    def _round_bias(self, inputs: list[Value | None], x: Quant, w: Quant | None) -> None:
        """Round the bias to whole steps, so that the int32 sums can start with it."""
        old = inputs[2] if len(inputs) > 2 else None
        if old is None or old.constant is None or w is None:
            return
        steps = x.scale * w.scale_array().astype(np.float64)
        if len(steps) not in (1, len(old.constant)):
            return
        whole = np.rint(old.constant.astype(np.float64) / steps) * steps
        inputs[2] = constant(self._unique(f"{old.name}.rounded"), whole.astype(np.float32))

    # ---- the others

    def _other(self, node: Node) -> None:
        """A node of another scheme than int8, or one that stays float."""
        layer = self.plan.layers[node]
        inputs = [self._use(v) for v in node.inputs]
        x = node.inputs[0] if node.inputs else None
        known = None if x is None else self.stats.get(x.name)
        done = None
        if layer.scheme != FLOAT and (layer.scheme != INT8 or is_recurrent(node.op)):
            done = rewritten(
                replace(node, inputs=tuple(inputs)),
                layer,
                self._unique,
                known if self.recipe.bias_correction else None,
                self.tables,
            )
        elif layer.scheme == INT8 and node.op is ops.gather:
            done = rewritten(replace(node, inputs=tuple(inputs)), layer, self._unique, None)
        if done is None:
            self._emit(node, inputs)
            self._record(node, FLOAT, self._why_float(node), [])
            return
        self.nodes += done.nodes
        self._record(node, done.scheme, done.reason, done.weights)

    def _why_float(self, node: Node) -> str:
        layer = self.plan.layers[node]
        if layer.scheme == FLOAT:
            return "the recipe says so"
        if layer.scheme != INT8:
            takes = is_product(node.op) or is_recurrent(node.op)
            return f"{layer.scheme} has no form of it with these operands" if takes else ""
        if node in self.plan.reasons:
            return self.plan.reasons[node]
        if role_of(node) is None:
            return "it has no int8 form here"
        return "its operands are float"

    def _record(
        self, node: Node, scheme: str, reason: str, weights: Sequence[WeightRecord]
    ) -> None:
        plan = self.plan
        result = plan.result_of(node) if node in plan.roles else node.outputs[0]
        if not (node in plan.roles or weights or result.type.dtype in (DType.F32, DType.F16)):
            return
        tensors = [v for v in (*node.inputs, result) if v is not None and v in plan.carried]
        ranges = {plan.group(v): self._range(v) for v in tensors}
        self.results.append(result)
        self.records.append(
            LayerRecord(
                self.layers[node],
                node.op.name,
                scheme,
                tuple(v.name for v in node.inputs if v is not None and not v.is_constant),
                result.name,
                None,
                reason,
                tuple(ranges.values()),
                tuple(weights),
            )
        )


def _size(w: Value, axis: int) -> int:
    assert w.constant is not None
    return int(w.constant.shape[axis])


def _others(root: Value, group: Sequence[Value]) -> tuple[str, ...]:
    return tuple(v.name for v in group if v is not root)


def _moved_constants(node: Node) -> list[Array]:
    """Add constants that a moving node combines with its operands."""
    rule = node.op.integer
    if rule is not None and rule.fill is not None:
        value = node.inputs[rule.fill] if len(node.inputs) > rule.fill else None
        return [] if value is None or value.constant is None else [value.constant]
    if joins(node.op):
        return [v.constant for v in node.inputs if v is not None and v.constant is not None]
    return []


def _is_seen(stats: Mapping[str, TensorStats], name: str) -> bool:
    return name in stats and stats[name].histogram.total > 0
