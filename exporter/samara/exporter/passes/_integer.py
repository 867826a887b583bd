# SPDX-License-Identifier: Apache-2.0
"""What the rules of fuse_quantized share: the wanted form of a tensor, int8 forms of real ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from samara.exporter.ir.fold import fold_node
from samara.exporter.ir.program import Array, Node, Source, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops._numeric import quantized
from samara.exporter.types import DType, Quant, SamaraError

__all__ = ["DEEPEST", "MOVES", "Integers", "Row", "Target", "data_inputs", "parameters"]


@dataclass(frozen=True, slots=True)
class Target:
    """The form a tensor is wanted in: qs8 with these parameters, clamped to lo..hi."""

    quant: Quant
    lo: int = -128
    hi: int = 127

    @property
    def is_whole(self) -> bool:
        return (self.lo, self.hi) == (-128, 127)

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of a row that makes such a tensor."""
        form = {"scale": self.quant.scale, "zero_point": self.quant.zero_point}
        return {**form, "lo": self.lo, "hi": self.hi}

    def of(self, x: Array) -> Array:
        """Numbers in this form, as the row `quantize` and the clamp make it."""
        with np.errstate(over="ignore", invalid="ignore"):
            p = np.asarray(x, np.float32) / np.float32(self.quant.scale)
        return np.clip(quantized(p, np.asarray(self.quant.zero_point)), self.lo, self.hi).astype(
            np.int8
        )

    def clamped(self, lo: float, hi: float) -> Target:
        """The form in which a tensor has to be, whose real clamp to lo..hi is wanted in this one.

        Rounding keeps order, so that clamping what was rounded gives what rounding does to what was
        clamped.
        """
        low, high = (int(q) for q in self.of(np.array([lo, hi])))
        return Target(self.quant, low, high)


@dataclass(frozen=True, slots=True)
class Row:
    """A node to be made: in the place of the `quantize`, or before it."""

    op: str
    inputs: tuple[Value | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    source: Source | None = None
    absorbed: tuple[str, ...] = ()

    @staticmethod
    def of(node: Node, op: str, *inputs: Value | None, **attrs: Any) -> Row:
        """The integer form of `node`."""
        return Row(op, inputs, attrs, node.name, node.source, node.absorbed)


# Operators that move or choose elements, and the inputs they do so with; None: all of them.
MOVES: Mapping[str, tuple[int, ...] | None] = {
    "identity": (0,),
    "reshape": (0,),
    "transpose": (0,),
    "slice": (0,),
    "split": (0,),
    "pad": (0,),
    "expand": (0,),
    "tile": (0,),
    "concat": None,
    "gather": (0,),
    "gather_elements": (0,),
    "gather_nd": (0,),
    "scatter_elements": (0, 2),
    "scatter_nd": (0, 2),
    "where": (1, 2),
    "max_pool": (0,),
    "reduce_max": (0,),
    "reduce_min": (0,),
    "resize": (0,),
}


_BYTES = (DType.I8, DType.U8)

# Through so many operators in a row a question is passed on.
DEEPEST = 100


def data_inputs(node: Node) -> tuple[int, ...] | None:
    """Places of the inputs whose elements a node moves; None where it computes."""
    if node.op.name not in MOVES:
        return None
    attrs = node.attrs
    if attrs.get("reduction", "none") != "none":
        return None
    if node.op.name == "resize" and (
        attrs["mode"] != "nearest" or attrs["coordinate"] == "tf_crop_and_resize"
    ):
        return None
    if node.op.name == "pad" and len(node.inputs) > 1:
        value = node.inputs[1]
        if value is not None and (value.constant is None or value.type.rank):
            return None
    found = MOVES[node.op.name]
    return tuple(range(len(node.inputs))) if found is None else found


def parameters(quant: Quant) -> dict[str, Any]:
    """Attributes of quantize, requantize and reinterpret."""
    axis = -1 if quant.axis is None else quant.axis
    return {"scales": quant.scales, "zero_points": quant.zero_points, "axis": axis}


class Integers:
    """int8 forms of the real tensors of a function that is being edited.

    imported: it came quantized from a file, so ties fall as they do in the engine of that file.
    """

    def __init__(self, r: Rewriter, imported: bool = False) -> None:
        self.r = r
        self.imported = imported
        self._quants: dict[Value, Quant | None] = {}
        self._sources: dict[Value, Value] = {}
        self._depths: dict[Value, int] = {}  # how many moves lie behind a value

    # ---- tensors that are int8 already, seen through what moves them

    def quant_of(self, value: Value | None) -> Quant | None:
        """The parameters of a real tensor that is a dequantized one, moved or not; None of others."""
        return self._known_quant(value) if value is None or value.type.dtype is DType.F32 else None

    def quant_of_bytes(self, value: Value | None) -> Quant | None:
        """The same of an int8 or uint8 tensor whose bytes are those of a quantized one."""
        return self._known_quant(value) if value is None or value.type.dtype in _BYTES else None

    def _known_quant(self, value: Value | None) -> Quant | None:
        if value is None:
            return None
        if value not in self._quants:
            self._quants[value] = self._found(value)
        return self._quants[value]

    def look(self) -> None:
        """Find all parameters now, in order: then nothing has to look far back."""
        for node in self.r.nodes():
            for v in node.outputs:
                if v.type.dtype is DType.F32 or v.type.dtype in _BYTES:
                    self._known_quant(v)

    def _found(self, value: Value) -> Quant | None:
        node = self.r.producer(value)
        if node is None:
            return None
        if node.op.name in ("dequantize", "reinterpret"):
            assert node.inputs[0] is not None
            return node.inputs[0].type.quant
        places = data_inputs(node)
        if places is None or (node.op.name == "pad" and value.type.dtype in _BYTES):
            return None  # bytes are padded by what is no zero point
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
        if not quant.is_per_tensor and node.op.name not in ("transpose", "identity"):
            return None
        if quant.axis is not None and node.op.name == "transpose":
            quant = quant.with_axis(node.attrs["perm"].index(quant.axis))
        return quant

    def whole(self, value: Value | None) -> Quant | None:
        """The same, where there is one scale for the tensor."""
        quant = self.quant_of(value)
        return quant if quant is not None and quant.is_per_tensor else None

    def source(self, value: Value, before: Node) -> Value:
        """The int8 tensor of which `value`, whose parameters are known, is another form."""
        if value in self._sources:
            return self._sources[value]
        node = self.r.producer(value)
        assert node is not None
        if node.op.name in ("dequantize", "reinterpret"):
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
        """`node`, which moves elements, over int8 tensors of the wanted form."""
        if node.op.name in ("reduce_max", "reduce_min"):
            plain = self.place(Row("reinterpret", (inputs[0],), {"to": DType.I8}), before)
            best = self.place(Row.of(node, node.op.name, plain, **node.attrs), before)
            return Row("reinterpret", (best,), {"to": DType.QS8, **parameters(target.quant)})
        if node.op.name == "pad":
            fill = inputs[1] if len(inputs) > 1 else None
            number = 0.0 if fill is None or fill.constant is None else float(fill.constant)
            q = target.of(np.array(number))
            plain = int(q) == target.quant.zero_point
            inputs = [inputs[0], None if plain else self.constant(q, target.quant, node)]
        # Named after the tensor: node names say nothing of what was done to their results.
        made = Row.of(node, node.op.name, *inputs, **node.attrs)
        return replace(made, name=f"{node.outputs[0].name.removesuffix('.q8')}.q8")

    # ---- constants

    def known(self, value: Value | None) -> Array | None:
        """The numbers of a constant, dequantized where it is a dequantized one."""
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        node = self.r.producer(value)
        if node is None or node.op.name != "dequantize":
            return None
        arrays = fold_node(node)
        return None if arrays is None else arrays[0]

    def constant(self, q: Array, quant: Quant, node: Node) -> Value:
        """An int8 constant."""
        return self.r.const(q, f"{node.name}.q8", DType.QS8, quant)

    # ---- use

    def is_consumed(self, value: Value) -> bool:
        """Whether nothing but quantization, or one node that is being replaced, uses the value."""
        r = self.r
        if r.is_output(value) or r.is_read(value):
            return False
        users = r.users(value)
        return len(users) == 1 or all(u.op.name == "quantize" for u in users)

    def place(self, row: Row, before: Node, outputs: int = 1) -> Any:
        """Make the node now; its value, or values."""
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
        """Put a row where `node` is; whether the operator's rule let it."""
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
