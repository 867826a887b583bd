# SPDX-License-Identifier: Apache-2.0
"""The view of a TFLite operator for converters, and how they emit IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.common.elements import element
from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.common.naming import module_path
from samara.exporter.importers.common.operand import (
    MAX_SHAPE_ELEMENTS,
    Operand,
    Poison,
    ShapeData,
    as_shape_data,
)
from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.model import NO_TENSOR, Operator, Tensor
from samara.exporter.importers.tflite.state import Handle
from samara.exporter.ir.program import Source, Value
from samara.exporter.types import Dim, DType, ShapeError, TensorType

if TYPE_CHECKING:
    from samara.exporter.importers.tflite.graph import Graph


class OperatorContext(Emitter):
    """One operator being converted. Quantized tensors are seen as the real numbers that they stand for, unless a
    converter asks for their integers.
    """

    def __init__(self, graph: Graph, operator: Operator) -> None:
        self.graph = graph
        self.operator = operator
        self.builder = graph.builder

    # ---- the operator

    @property
    def op_type(self) -> str:
        return self.operator.name

    @property
    def exact(self) -> bool:
        """Whether integer operators keep TFLite's own arithmetic."""
        return self.graph.shared.exact

    @property
    def label(self) -> str:
        made = next((i for i in self.operator.outputs if i != NO_TENSOR), None)
        if made is None:
            return f"{self.op_type}.{self.operator.index}"
        return self.graph.tensor(made).key

    @property
    def source(self) -> Source:
        module = module_path(self.label)
        inside = f" in {module}" if module else ""
        return Source("", 0, f"{self.label} ({self.op_type}){inside}")

    @property
    def output_names(self) -> Sequence[str]:
        """Of tensors that are not quantized; the real numbers behind others have names of their own."""
        names = []
        for i in self.operator.outputs:
            tensor = None if i == NO_TENSOR else self.graph.tensor(i)
            if tensor is None:
                names.append("")
            elif tensors.parameters_of(tensor) is None:
                names.append(tensor.key)
            else:
                names.append(f"{tensor.key}.real")
        return names

    def option(self, name: str, default: Any = 0) -> Any:
        """An option; enums by name. `default` where the file has no options at all."""
        return self.operator.options.get(name, default)

    # ---- inputs

    @property
    def input_count(self) -> int:
        return len(self.operator.inputs)

    def has(self, index: int) -> bool:
        inputs = self.operator.inputs
        return index < len(inputs) and inputs[index] != NO_TENSOR

    def tensor(self, index: int) -> Tensor:
        """Input `index` as the file declares it. ShapeError if it is missing."""
        if not self.has(index):
            raise self.wrong(f"input {index} is missing")
        return self.graph.tensor(self.operator.inputs[index])

    def output(self, index: int) -> Tensor:
        """Output `index` as the file declares it. ShapeError if it is missing."""
        outputs = self.operator.outputs
        if index >= len(outputs) or outputs[index] == NO_TENSOR:
            raise self.wrong(f"output {index} is missing")
        return self.graph.tensor(outputs[index])

    def operand(self, index: int) -> Operand | Handle:
        self.tensor(index)
        return self.graph.lookup(self.operator.inputs[index])

    def stored(self, index: int) -> Value:
        """Input `index` as it is stored: qs8 if it is int8 or uint8 with quantization parameters."""
        if self.is_complex(index):
            raise self.unsupported(
                f"input {index} is complex",
                "only REAL, IMAG, COMPLEX_ABS and what changes shapes take complex numbers",
            )
        return self._made(index)

    def is_complex(self, index: int) -> bool:
        return self.tensor(index).type == "COMPLEX64"

    def pair(self, index: int) -> Value:
        """A complex input [...] as float32 [..., 2], real and imaginary parts."""
        if not self.is_complex(index):
            raise self.wrong(f"input {index} is {self.tensor(index).type.lower()}, not complex")
        return self._made(index)

    def _made(self, index: int) -> Value:
        found = self.operand(index)
        if isinstance(found, Handle):
            raise self.unsupported(
                f"input {index} is a resource", "read it with READ_VARIABLE before"
            )
        assert not isinstance(found, Poison)
        return self.graph.materialise(found, self.tensor(index).key)

    def value(self, index: int) -> Value:
        """Input `index` as real numbers if it is quantized, else as it is."""
        tensor = self.tensor(index)
        known = self.graph.reals.get(tensor.key)
        if known is None:
            known = tensors.real(self.builder, self.stored(index), tensor)
            self.graph.reals[tensor.key] = known
        return known

    def plain(self, index: int) -> Value:
        """Input `index` as the file's integers, whatever they stand for."""
        return tensors.plain(self.builder, self.stored(index), self.tensor(index))

    def optional(self, index: int) -> Value | None:
        return self.value(index) if self.has(index) else None

    def values(self) -> list[Value]:
        return [self.value(i) for i in range(self.input_count)]

    def type(self, index: int) -> TensorType:
        return self.stored(index).type

    def rank(self, index: int = 0) -> int:
        found = self.operand(index)
        return found.elements.ndim if isinstance(found, ShapeData) else self.type(index).rank

    def shape(self, index: int) -> tuple[Dim, ...]:
        return self.type(index).shape

    def constant(self, index: int) -> npt.NDArray[Any] | None:
        """Data of input `index` if it is known at import (of a quantized one its integers), else None."""
        if not self.has(index):
            return None
        found = self.operand(index)
        if isinstance(found, ShapeData):
            return found.array() if found.is_static() else None
        return found.constant if isinstance(found, Value) else None

    def need_constant(self, index: int, what: str) -> npt.NDArray[Any]:
        """The same. UnsupportedError if it is known only at run time."""
        data = self.constant(index)
        if data is None:
            raise self.unsupported(f"{what} must be a constant", "fold it in the source model")
        return data

    def dims(self, index: int, what: str = "shape") -> tuple[Dim, ...]:
        """A vector of integers as dims: constants, expressions, or elements read at run time."""
        found = self.operand(index)
        data = None if isinstance(found, Handle) else as_shape_data(found)
        if data is not None and data.dtype is not DType.F32:
            return data.dims()
        value = self.stored(index)
        if value.type.rank > 1 or not value.type.is_static:
            raise self.unsupported(f"{what} must have a static length, got {value.type}")
        count = value.type.numel().as_int()
        if count > MAX_SHAPE_ELEMENTS:
            raise self.wrong(f"{what} has {count} elements")
        if value.type.dtype not in (DType.I32, DType.I64):
            value = self.emit("cast", value, to=DType.I64)
        return tuple(element(self.builder, value, k) for k in range(count))

    def flat_dims(self, index: int) -> list[Dim]:
        """All elements of an integer tensor that is known only at run time, in row-major order."""
        value = self.stored(index)
        flat = self.emit("reshape", value, shape=(value.type.numel(),))
        count = need_static(self, flat.type.shape, "the number of elements")[0]
        return [element(self.builder, flat, k) for k in range(count)]

    def axis(self, given: Any, rank: int, what: str = "axis") -> int:
        """An axis counted from the front. ShapeError out of range."""
        axis = int(given)
        if not -rank <= axis < rank:
            raise self.wrong(f"{what} {axis} is out of range for rank {rank}")
        return axis % rank

    # ---- results

    def assign(self, index: int, value: Value) -> None:
        """Set the variable tensor that is input `index`, here and for later calls."""
        self.graph.assign(self.operator.inputs[index], value)

    def named(self, names: str | Sequence[str], op: str, *inputs: Any, **attrs: Any) -> Any:
        """Append a node with these names for its results, of which there may be any number."""
        given = [names] if isinstance(names, str) else list(names)
        return self._emit(op, inputs, given, attrs)

    def activated(self, op: str, *inputs: Any, function: str | None = None, **attrs: Any) -> Any:
        """Append a node and the fused activation of the operator (or `function`); the last node has its name."""
        name = self.option("fused_activation_function", "NONE") if function is None else function
        rule = ACTIVATIONS.get(name)
        if rule is None:
            raise self.unsupported(
                f"fused activation {name} is not known", "convert the model with another activation"
            )
        if rule == ():
            return self.final(op, *inputs, **attrs)
        y = self.emit(op, *inputs, **attrs)
        if y.type.dtype.is_float:
            return self.final(rule[0], y, **rule[1])
        bounds = {"relu": (0, None), "clamp": (rule[1].get("lo"), rule[1].get("hi"))}.get(rule[0])
        if bounds is None:
            raise self.unsupported(f"activation {name} of {y.type.dtype.public_name}")
        low, high = bounds
        if not y.type.dtype.is_signed:
            low = max(low, 0)
        if high is not None:
            y = self.emit("min", y, self.const(np.asarray(high, y.type.dtype.numpy)))
        return self.final("max", y, self.const(np.asarray(low, y.type.dtype.numpy)))


# Fused activation -> operator with attributes; () for none.
ACTIVATIONS: dict[str, Any] = {
    "NONE": (),
    "RELU": ("relu", {}),
    "RELU_N1_TO_1": ("clamp", {"lo": -1.0, "hi": 1.0}),
    "RELU6": ("clamp", {"lo": 0.0, "hi": 6.0}),
    "TANH": ("tanh", {}),
}


def need_static(ctx: OperatorContext, dims: Sequence[Dim], what: str) -> list[int]:
    """Dims as ints. UnsupportedError if one is known only at run time."""
    if not all(d.is_static for d in dims):
        raise ctx.unsupported(
            f"{what} must be known at import, got {[str(d) for d in dims]}",
            "give shapes= with sizes, or make it a constant in the source model",
        )
    return [d.as_int() for d in dims]


def require(ctx: OperatorContext, holds: bool, message: str) -> None:
    """ShapeError, with the operator and its place, unless `holds`."""
    if not holds:
        raise ShapeError(message, op=ctx.op_type, node=ctx.label)
