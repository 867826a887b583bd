# SPDX-License-Identifier: Apache-2.0
"""The view of an ONNX node for converters, and how they emit IR."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from samara.exporter.importers.onnx.element_types import REFUSED_DTYPES as REFUSED_DTYPES
from samara.exporter.importers.onnx.element_types import import_dtype as import_dtype
from samara.exporter.importers.onnx.elements import element
from samara.exporter.importers.onnx.operand import (
    MAX_SHAPE_ELEMENTS,
    Operand,
    Poison,
    ShapeData,
    as_shape_data,
)
from samara.exporter.importers.onnx.origin import module_of, origin_of
from samara.exporter.importers.onnx.widening import Widening, refused_dtype, widening_of
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Source, Value
from samara.exporter.ops import get_op
from samara.exporter.types import (
    Dim,
    DType,
    ModelFormatError,
    Quant,
    ShapeError,
    TensorType,
    UnsupportedError,
    as_dim,
)

if TYPE_CHECKING:
    from samara.exporter.importers.onnx.scope import Scope

# Nodes over constants are computed during import if the result has at most this many elements; larger
# ones are left to the folding pass.
_FOLD_ELEMENTS = 1 << 16


def element_code(to: int | str) -> int:
    """The code of an element type. Before opset 6 it was given by name; 0 for an unknown name."""
    if not isinstance(to, str):
        return int(to)
    known = onnx.TensorProto.DataType
    return int(known.Value(to.upper())) if to.upper() in known.keys() else 0  # noqa: SIM118


def tensor_data(
    tensor: onnx.TensorProto, what: str, directory: str | None = None
) -> npt.NDArray[Any]:
    """The data of a tensor. ModelFormatError if it does not match the declaration.

    directory: the folder of external data; None if it is unknown.
    """
    if tensor.data_location == onnx.TensorProto.EXTERNAL and directory is None:
        raise ModelFormatError(
            f"{what} keeps its data in another file, and where that lies is not known",
            fix="import the model by its path, or load the data first (onnx.load does)",
        )
    try:
        return numpy_helper.to_array(tensor, directory or "")
    except (OSError, LookupError, TypeError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelFormatError(f"the data of {what} cannot be read: {error}") from None


class NodeContext:
    """One ONNX node being converted in a scope."""

    def __init__(self, scope: Scope, node: onnx.NodeProto) -> None:
        self.scope = scope
        self.node = node
        self.builder: Builder = scope.builder
        self._attributes = {a.name: a for a in node.attribute}
        self._is_inner = False

    # ---- the node

    @property
    def op_type(self) -> str:
        return self.node.op_type

    @property
    def opset(self) -> int:
        """Version of the node's domain that the model imports."""
        return self.scope.opset(self.node.domain)

    @property
    def label(self) -> str:
        return self.node.name or (self.node.output[0] if self.node.output else self.op_type)

    @property
    def source(self) -> Source:
        """The source location for nodes made from this one."""
        origin = origin_of(self.node)
        module = module_of(self.node)
        inside = f" in {module}" if module else ""
        return Source(origin.file, origin.line, f"{self.label} ({self.op_type}){inside}")

    def has_attr(self, name: str) -> bool:
        return name in self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute as Python data: str for strings, list for repeated ones, ndarray for
        tensors, GraphProto for graphs.
        """
        a = self._attributes.get(name)
        if a is None:
            return default
        value = onnx.helper.get_attribute_value(a)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, onnx.TensorProto):
            return tensor_data(value, f"attribute {name!r}")
        if a.type == onnx.AttributeProto.STRINGS:
            return [v.decode("utf-8", "replace") for v in value]
        if a.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
            return list(value)
        return value

    # ---- inputs

    @property
    def input_count(self) -> int:
        return len(self.node.input)

    def has(self, index: int) -> bool:
        return index < len(self.node.input) and self.node.input[index] != ""

    def operand(self, index: int) -> Operand:
        if not self.has(index):
            raise ShapeError(f"input {index} is missing", op=self.op_type, node=self.label)
        return self.scope.lookup(self.node.input[index])

    def value(self, index: int) -> Value:
        """Input `index` as a tensor. Dims known as expressions are turned into one."""
        operand = self.operand(index)
        assert not isinstance(operand, Poison)
        return self.scope.materialise(operand, self.node.input[index])

    def optional(self, index: int) -> Value | None:
        return self.value(index) if self.has(index) else None

    def values(self) -> list[Value]:
        """All inputs."""
        return [self.value(i) for i in range(self.input_count)]

    def type(self, index: int) -> TensorType:
        return self.value(index).type

    def shape(self, index: int, rank: int) -> tuple[Dim, ...]:
        """The shape of an input. ShapeError if it has another rank."""
        found = self.type(index)
        if found.rank != rank:
            raise self.wrong(f"input {index} is {found}, expected rank {rank}")
        return found.shape

    def rank(self, index: int = 0) -> int:
        operand = self.operand(index)
        return (
            operand.elements.ndim if isinstance(operand, ShapeData) else self.value(index).type.rank
        )

    def constant(self, index: int) -> npt.NDArray[Any] | None:
        """Data of input `index` if it is known at import, else None."""
        if not self.has(index):
            return None
        operand = self.operand(index)
        if isinstance(operand, ShapeData):
            return operand.array() if operand.is_static() else None
        return operand.constant if isinstance(operand, Value) else None

    def need_constant(self, index: int, what: str) -> npt.NDArray[Any]:
        """Data of input `index`. UnsupportedError if it is known only at run time."""
        data = self.constant(index)
        if data is None:
            raise self.unsupported(
                f"{what} must be a constant", "make it an initializer, or fold the model first"
            )
        return data

    def dims(self, index: int, what: str = "shape") -> tuple[Dim, ...]:
        """A shape operand as dims: constants, expressions, or elements read from the tensor at run time. A float32
        operand gives bit patterns.
        """
        operand = self.operand(index)
        data = as_shape_data(operand)
        if data is not None and data.dtype is not DType.F32:
            return data.dims()
        value = self.value(index)
        if value.type.is_static and value.type.numel().as_int() > MAX_SHAPE_ELEMENTS:
            raise self.wrong(f"{what} has {value.type.numel()} elements")
        if value.type.rank > 1 or not value.type.is_static:
            raise self.unsupported(f"{what} must have a static length, got {value.type}")
        return tuple(element(self.builder, value, k) for k in range(value.type.numel().as_int()))

    def scalar_dim(self, index: int, what: str) -> Dim:
        """A one-element operand as a dim."""
        dims = self.dims(index, what)
        if len(dims) != 1:
            raise ShapeError(
                f"{what} must have one element, got {len(dims)}", op=self.op_type, node=self.label
            )
        return dims[0]

    def axes(self, index: int, attribute: str = "axes") -> list[Dim] | None:
        """Axes from the attribute (older opsets) or the input (newer ones), which may be known only at run time;
        None if they are not given.
        """
        if self.has_attr(attribute):
            return [as_dim(int(a)) for a in self.attr(attribute)]
        return list(self.dims(index, attribute)) if self.has(index) else None

    def axis(self, default: int, rank: int, attribute: str = "axis") -> int:
        """An axis attribute, counted from the front. ShapeError out of range."""
        axis = int(self.attr(attribute, default))
        if not -rank <= axis < rank:
            raise self.wrong(f"{attribute} {axis} is out of range for rank {rank}")
        return axis % rank

    def static_axes(self, axes: Sequence[Dim], rank: int) -> list[int] | None:
        """Axes counted from the front, in the given order; None if one is known only at run time. ShapeError
        out of range.
        """
        out = []
        for d in axes:
            if not d.is_static:
                return None
            a = d.as_int()
            if not -rank <= a < rank:
                raise self.wrong(f"axis {a} is out of range for rank {rank}")
            out.append(a % rank)
        return out

    # ---- results

    def emit(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """Append an IR node for an intermediate value."""
        return self._emit(op, inputs, None, attrs)

    def final(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """Append the IR node whose results carry the ONNX node's output names."""
        if self._is_inner:
            return self.emit(op, *inputs, **attrs)
        names = [n or f"{self.label}.{i}" for i, n in enumerate(self.node.output)]
        spec = get_op(op)
        if spec.max_outputs is not None:
            names = names[: spec.max_outputs]
        return self._emit(op, inputs, names, attrs)

    @property
    def inner(self) -> NodeContext:
        """The same node for a converter whose result is an intermediate value of this one."""
        made = copy.copy(self)
        made._is_inner = True
        return made

    def const(self, array: Any, dtype: DType | None = None, quant: Quant | None = None) -> Value:
        return self.builder.const(array, f"{self.label}.const", dtype, quant)

    def unsupported(self, message: str, fix: str | None = None) -> UnsupportedError:
        return UnsupportedError(message, op=self.op_type, node=self.label, fix=fix)

    def wrong(self, message: str) -> ShapeError:
        return ShapeError(message, op=self.op_type, node=self.label)

    def _emit(
        self, op: str, inputs: Sequence[Any], names: list[str] | None, attrs: dict[str, Any]
    ) -> Any:
        try:
            get_op(op).complete(attrs)
        except TypeError as error:  # a value that is not in the enumeration
            raise self.unsupported(str(error)) from None
        widening = widening_of(self.builder, get_op(op), inputs, attrs)
        if widening is not None:
            return self._widened(widening, op, inputs, names, attrs)
        refused = refused_dtype(self.builder, get_op(op), inputs, attrs)
        if refused is not None:
            raise self.unsupported(refused.message, refused.fix)
        folded = self._fold(op, inputs, names, attrs)
        if folded is not None:
            return folded
        return self.builder.op(
            op,
            *inputs,
            name=f"{self.label}.{op}" if names is None else None,
            outputs=names,
            source=self.source,
            **attrs,
        )

    def _widened(
        self,
        widening: Widening,
        op: str,
        inputs: Sequence[Any],
        names: list[str] | None,
        attrs: dict[str, Any],
    ) -> Any:
        """The node, with casts to and from dtypes that its operator supports."""
        to = widening.dtypes
        wide = [
            self.emit("cast", v, to=to[v.type.dtype])
            if isinstance(v, Value) and v.type.dtype in to
            else v
            for v in inputs
        ]
        back = widening.outputs
        inner = names
        if names is not None:
            inner = [n if d is None else f"{n}.wide" for n, d in zip(names, back, strict=False)]
        made = self._emit(op, wide, inner, attrs)
        results = [
            v if d is None else self._emit("cast", [v], names and [names[i]], {"to": d})
            for i, (v, d) in enumerate(
                zip(made if isinstance(made, tuple) else (made,), back, strict=False)
            )
        ]
        return tuple(results) if isinstance(made, tuple) else results[0]

    def _fold(
        self, op: str, inputs: Sequence[Any], names: list[str] | None, attrs: dict[str, Any]
    ) -> Value | None:
        """The constant result of a node over constants, if it is small and its attributes are static."""
        spec = get_op(op)
        if not inputs or spec.max_outputs != 1 or "control" in spec.flags or spec.measured:
            return None
        if not all(v is None or (isinstance(v, Value) and v.constant is not None) for v in inputs):
            return None
        full = spec.complete(attrs)
        for a in spec.attrs:
            value = full[a.name]
            if a.type == "dim" and not value.is_static:
                return None
            if a.type == "dims" and not all(d.is_static for d in value):
                return None
        scratch = Builder(self.builder.program, "fold", None)
        result_type = scratch.op(spec, *inputs, **attrs).type
        if op != "transpose" and any(v is not None and v.type.quant is not None for v in inputs):
            return None  # dequantized constants are not folded
        if result_type.quant is not None and op != "transpose":
            return None
        if not result_type.is_static or result_type.numel().as_int() > _FOLD_ELEMENTS:
            return None
        with np.errstate(all="ignore"):
            array = spec.evaluate([None if v is None else v.constant for v in inputs], full)
        name = names[0] if names else f"{self.label}.folded"
        return self.builder.const(
            np.asarray(array, result_type.dtype.numpy),
            name,
            result_type.dtype,
            result_type.quant,
        )
