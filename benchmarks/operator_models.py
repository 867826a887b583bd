# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models with drawn data, one per row of the operator benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]

# The newest operator set that the rows need (Attention and RMSNormalization).
OPSET = 23


@dataclass(frozen=True, slots=True)
class Operand:
    """One input of a row's model: how its data is drawn, and whether it is stored in the model."""

    draw: Callable[[np.random.Generator], Array]
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One form of one IR operator: ONNX nodes that read `i0`, `i1`, … and write `o0`, `o1`, …"""

    op: str
    form: str
    operands: tuple[Operand, ...]
    nodes: tuple[onnx.NodeProto, ...]
    outputs: int
    opset: int = OPSET
    slack: float = 1.0  # factor of the tolerance, if the peer's answer is less accurate
    steps: int = 0  # allowed difference of integers that stand for real numbers

    @property
    def name(self) -> str:
        """The row's name in tables and for `--only`."""
        return f"{self.op} {self.form}".strip()

    def build(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The model and the feeds of its inputs; equal on every machine."""
        seed = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "little")
        rng = np.random.default_rng(seed)
        feeds: dict[str, Array] = {}
        inputs, stored = [], []
        for i, operand in enumerate(self.operands):
            name, value = f"i{i}", operand.draw(rng)
            if operand.constant:
                stored.append(numpy_helper.from_array(value, name))
                continue
            feeds[name] = value
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, value.shape))
        outputs = [onnx.ValueInfoProto(name=f"o{i}") for i in range(self.outputs)]
        graph = helper.make_graph(list(self.nodes), "row", inputs, outputs, stored)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return onnx.shape_inference.infer_shapes(model, data_prop=True), feeds


def node(kind: str, reads: str, writes: str, **attrs: Any) -> onnx.NodeProto:
    """A node with inputs and outputs as words; `-` stands for an absent input."""
    domain = "com.microsoft" if kind.startswith("ms.") else ""
    names = ["" if r == "-" else r for r in reads.split()]
    kind = kind.removeprefix("ms.")
    return helper.make_node(kind, names, writes.split(), domain=domain, **attrs)


def row(
    op: str,
    form: str,
    kind: str,
    *operands: Operand | None,
    outputs: int = 1,
    reads: str = "",
    **attrs: Any,
) -> Row:
    """A row of one node that takes the operands in order; None leaves an input out. `reads` names the node's
    inputs if its graphs read the others.
    """
    present = [o for o in operands if o is not None]
    names, count = [], 0
    for operand in operands:
        names.append("-" if operand is None else f"i{count}")
        count += operand is not None
    writes = " ".join(f"o{i}" for i in range(outputs))
    only = node(kind, reads or " ".join(names), writes, **attrs)
    return rows_of(op, form, present, [only], outputs)


def rows_of(
    op: str,
    form: str,
    operands: Sequence[Operand],
    nodes: Sequence[onnx.NodeProto],
    outputs: int = 1,
) -> Row:
    """A row of several nodes."""
    return Row(op, form, tuple(operands), tuple(nodes), outputs)


def normal(*shape: int) -> Operand:
    """Standard normal float32."""
    return Operand(lambda rng: rng.standard_normal(shape, np.float32))


def uniform(low: float, high: float, *shape: int) -> Operand:
    """Uniform float32."""
    return Operand(lambda rng: rng.uniform(low, high, shape).astype(np.float32))


def integers(dtype: str, low: int, high: int, *shape: int) -> Operand:
    """Uniform integers in low..high - 1."""
    return Operand(lambda rng: rng.integers(low, high, shape).astype(dtype))


def booleans(*shape: int) -> Operand:
    """Random bools."""
    return Operand(lambda rng: rng.integers(0, 2, shape).astype(np.bool_))


def permuted(count: int, *tail: int) -> Operand:
    """int64 numbers 0 … count - 1 in random order, each repeated over `tail`: (count, *tail)."""

    def draw(rng: np.random.Generator) -> Array:
        order = rng.permutation(count).reshape(count, *[1] * len(tail))
        return np.ascontiguousarray(np.broadcast_to(order, (count, *tail)), np.int64)

    return Operand(draw)


def given(value: Any, dtype: str = "float32") -> Operand:
    """A stored constant."""
    return Operand(lambda _: np.asarray(value, dtype), constant=True)


def fed(value: Any, dtype: str) -> Operand:
    """A number that is an input of the model."""
    return Operand(lambda _: np.asarray(value, dtype))


def weight(*shape: int) -> Operand:
    """A stored weight that keeps the magnitude of its operand; the first dim counts outputs."""
    scale = np.float32(1.0 / np.sqrt(max(1, int(np.prod(shape[1:])))))
    return stored(Operand(lambda rng: rng.standard_normal(shape, np.float32) * scale))


def stored(operand: Operand) -> Operand:
    """The operand as a constant of the model."""
    return replace(operand, constant=True)


def sizes(*values: int) -> Operand:
    """A stored int64 vector."""
    return given(values, "int64")


# 2^18 elements of float32 are 1 MB.
X = normal(512, 512)
IMAGE = normal(1, 64, 64, 64)
BYTES = integers("uint8", 0, 256, 1024, 1024)
