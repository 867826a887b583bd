# SPDX-License-Identifier: Apache-2.0
"""Shared by the rules of fuse_quantized: the target form of a tensor, and int8 forms of real tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.fold import fold_node
from samara.exporter.ir.program import Array, Node, Source, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.ops.integer import Given
from samara.exporter.ops.numeric import quantized
from samara.exporter.types import DType, Quant, SamaraError

__all__ = ["DEEPEST", "Integers", "Row", "Target", "data_inputs", "given_of", "parameters"]


@dataclass(frozen=True, slots=True)
class Target:
    """The target form of a tensor: qs8 with these parameters, clamped to lo..hi."""

    quant: Quant
    lo: int = -128
    hi: int = 127

    @property
    def is_whole(self) -> bool:
        return (self.lo, self.hi) == (-128, 127)

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of an operator that makes such a tensor."""
        form = {"scale": self.quant.scale, "zero_point": self.quant.zero_point}
        return {**form, "lo": self.lo, "hi": self.hi}

    def of(self, x: Array) -> Array:
        """Values in this form, as the operator `quantize` and the clamp compute them."""
        with np.errstate(over="ignore", invalid="ignore"):
            p = np.asarray(x, np.float32) / np.float32(self.quant.scale)
        return np.clip(quantized(p, np.asarray(self.quant.zero_point)), self.lo, self.hi).astype(
            np.int8
        )

    def clamped(self, lo: float, hi: float) -> Target:
        """The form for a tensor whose real clamp to lo..hi follows, if the clamp's result has this form.

        Rounding preserves order, so clamping rounded values equals rounding clamped values.
        """
        low, high = (int(q) for q in self.of(np.array([lo, hi])))
        return Target(self.quant, low, high)


@dataclass(frozen=True, slots=True)
class Row:
    """A node to be made in place of the `quantize`, or before it."""

    op: OpSpec
    inputs: tuple[Value | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    source: Source | None = None
    absorbed: tuple[str, ...] = ()

    @staticmethod
    def of(node: Node, op: OpSpec, *inputs: Value | None, **attrs: Any) -> Row:
        """The integer form of `node`."""
        return Row(op, inputs, attrs, node.name, node.source, node.absorbed)


_BYTES = (DType.I8, DType.U8)

# Operators that keep the int8 tensor recognisable.
_SEEN_THROUGH = frozenset({ops.dequantize, ops.reinterpret})
# A question is passed on through at most this many operators in a row.
DEEPEST = 100


def data_inputs(node: Node) -> tuple[int, ...] | None:
    """Positions of the inputs whose elements a node moves; None if it computes."""
    rule = node.op.integer
    return None if rule is None or rule.moves is None else rule.moves(given_of(node))


def given_of(node: Node) -> Given:
    """The node as the rules of integer forms see it, with dequantized constants as plain constants."""

    def known(index: int) -> Array | None:
        value = node.inputs[index] if index < len(node.inputs) else None
        return None if value is None else value.constant

    return Given(node.attrs, tuple(None if v is None else v.type for v in node.inputs), known)


def _fills(node: Node) -> bool:
    """Whether a node that moves elements also inserts a value, such as padding."""
    return node.op.integer is not None and node.op.integer.fill is not None


def parameters(quant: Quant) -> dict[str, Any]:
    """Attributes of quantize, requantize and reinterpret."""
    axis = -1 if quant.axis is None else quant.axis
    return {"scales": quant.scales, "zero_points": quant.zero_points, "axis": axis}


class Integers:
    """int8 forms of the real tensors of a function that is being edited.

    imported: the model was quantized before its import, so ties round as in the engine it was made for.
    """

    def __init__(self, r: Rewriter, imported: bool = False) -> None:
        self.r = r
        self.imported = imported
        self._quants: dict[Value, Quant | None] = {}
        self._sources: dict[Value, Value] = {}
        self._depths: dict[Value, int] = {}  # number of moves between a value and its source

    # ---- tensors that are int8 already, seen through what moves them

    def quant_of(self, value: Value | None) -> Quant | None:
        """The parameters of a real tensor that is a dequantized one, possibly moved; None for others."""
        return self._known_quant(value) if value is None or value.type.dtype is DType.F32 else None

    def quant_of_bytes(self, value: Value | None) -> Quant | None:
        """The same for an int8 or uint8 tensor whose bytes are those of a quantized one."""
        return self._known_quant(value) if value is None or value.type.dtype in _BYTES else None

    def _known_quant(self, value: Value | None) -> Quant | None:
        if value is None:
            return None
        if value not in self._quants:
            self._quants[value] = self._found(value)
        return self._quants[value]

    def look(self) -> None:
        """Compute all parameters now, in order, so that later look-ups are short."""
        for node in self.r.nodes():
            for v in node.outputs:
                if v.type.dtype is DType.F32 or v.type.dtype in _BYTES:
                    self._known_quant(v)

    def _found(self, value: Value) -> Quant | None:
        node = self.r.producer(value)
        if node is None:
            return None
        if node.op in _SEEN_THROUGH:
            assert node.inputs[0] is not None
            return node.inputs[0].type.quant
        places = data_inputs(node)
        if places is None or (_fills(node) and value.type.dtype in _BYTES):
            return None  # padding of bytes with another value than the zero point
        moved = [v for v in (node.inputs[i] for i in places) if v is not None]
        self._depths[value] = 1 + max((self._depths.get(v, 0) for v in moved), default=0)
        if self._depths[value] > DEEPEST:
            return None
        found = {self._known_quant(v) for v in moved}
        if len(found) != 1:
            return None
        (quant,) = found
        if quant is None:
            return None
        if not quant.is_per_tensor and node.op not in (ops.transpose, ops.identity):
            return None
        if quant.axis is not None and node.op is ops.transpose:
            quant = quant.with_axis(node.attrs["perm"].index(quant.axis))
        return quant

    def whole(self, value: Value | None) -> Quant | None:
        """The same, if the tensor has a single scale."""
        quant = self.quant_of(value)
        return quant if quant is not None and quant.is_per_tensor else None

    def source(self, value: Value, before: Node) -> Value:
        """The int8 tensor from which `value`, whose parameters are known, was made."""
        if value in self._sources:
            return self._sources[value]
        node = self.r.producer(value)
        assert node is not None
        if node.op in _SEEN_THROUGH:
            found = node.inputs[0]
            assert found is not None
        else:
            quant = self._known_quant(value)
            assert quant is not None
            places = data_inputs(node)
            assert places is not None
            inputs = list(node.inputs)
            for i in places:
                moved = node.inputs[i]
                assert moved is not None
                inputs[i] = self.source(moved, before)
            self._move_all(node, inputs, Target(quant), before)
            found = self._sources[value]
        self._sources[value] = found
        return found

    def _move_all(
        self, node: Node, inputs: list[Value | None], target: Target, before: Node
    ) -> None:
        made = self.place(self.moved(node, inputs, target, before), before, len(node.outputs))
        results = made if isinstance(made, tuple) else (made,)
        for real, integer in zip(node.outputs, results, strict=True):
            self._sources[real] = integer

    def moved(self, node: Node, inputs: list[Value | None], target: Target, before: Node) -> Row:
        """`node`, which moves elements, applied to int8 tensors of the target form."""
        rule = node.op.integer
        if rule is not None and rule.on_bytes:
            plain = self.place(Row(ops.reinterpret, (inputs[0],), {"to": DType.I8}), before)
            best = self.place(Row.of(node, node.op, plain, **node.attrs), before)
            return Row(ops.reinterpret, (best,), {"to": DType.QS8, **parameters(target.quant)})
        if rule is not None and rule.fill is not None:
            fill = inputs[rule.fill] if len(inputs) > rule.fill else None
            number = 0.0 if fill is None or fill.constant is None else float(fill.constant)
            q = target.of(np.array(number))
            plain = int(q) == target.quant.zero_point
            inputs = [inputs[0], None if plain else self.constant(q, target.quant, node)]
        # Named after the tensor, because node names do not tell what was done to the results.
        made = Row.of(node, node.op, *inputs, **node.attrs)
        return replace(made, name=f"{node.outputs[0].name.removesuffix('.q8')}.q8")

    # ---- constants

    def known(self, value: Value | None) -> Array | None:
        """The values of a constant, dequantized if it is a dequantized one."""
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        node = self.r.producer(value)
        if node is None or node.op is not ops.dequantize:
            return None
        arrays = fold_node(node)
        return None if arrays is None else arrays[0]

    def constant(self, q: Array, quant: Quant, node: Node) -> Value:
        """An int8 constant."""
        return self.r.const(q, f"{node.name}.q8", DType.QS8, quant)

    def given(self, node: Node) -> Given:
        """The node as the rules of integer forms see it, constants dequantized."""

        def known(index: int) -> Array | None:
            return self.known(node.inputs[index] if index < len(node.inputs) else None)

        types = tuple(None if v is None else v.type for v in node.inputs)
        return Given(node.attrs, types, known, self.imported)

    # ---- use

    def is_consumed(self, value: Value) -> bool:
        """Whether only quantization, or one node that is being replaced, uses the value."""
        r = self.r
        if r.is_output(value) or r.is_read(value):
            return False
        users = r.users(value)
        return len(users) == 1 or all(u.op is ops.quantize for u in users)

    def place(self, row: Row, before: Node, outputs: int = 1) -> Any:
        """Make the node now; returns its value or values."""
        return self.r.op(
            row.op,
            *row.inputs,
            before=before,
            name=row.name if row.name else None,
            output_count=outputs,
            source=row.source,
            absorbed=row.absorbed,
            **row.attrs,
        )

    def replace(self, node: Node, row: Row) -> bool:
        """Put a row in place of `node`; returns whether the operator's rule accepted it."""
        try:
            self.r.replace_node(
                node,
                row.op,
                *row.inputs,
                name=row.name if row.name else None,
                source=row.source,
                absorbed=row.absorbed,
                **row.attrs,
            )
        except SamaraError:
            return False
        return True
