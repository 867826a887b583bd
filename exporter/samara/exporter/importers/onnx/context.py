# SPDX-License-Identifier: Apache-2.0
"""The view of an ONNX node for converters, and how they emit IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from samara.exporter.importers.common.elements import element
from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.importers.common.operand import (
    MAX_SHAPE_ELEMENTS,
    Operand,
    Poison,
    ShapeData,
    as_shape_data,
)
from samara.exporter.importers.onnx.element_types import REFUSED_DTYPES as REFUSED_DTYPES
from samara.exporter.importers.onnx.element_types import import_dtype as import_dtype
from samara.exporter.importers.onnx.origin import module_of, origin_of
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Source, Value
from samara.exporter.types import (
    Dim,
    DType,
    ModelFormatError,
    ShapeError,
    TensorType,
    as_dim,
)

if TYPE_CHECKING:
    from samara.exporter.importers.onnx.scope import Scope


def element_code(to: int | str) -> int:
    """The code of an element type. Before opset 6 it was given by name; 0 for an unknown name."""
    if not isinstance(to, str):
        return int(to)
    known = onnx.TensorProto.DataType
    return int(known.Value(to.upper())) if to.upper() in known.keys() else 0  # noqa: SIM118


_PLAIN: dict[int, np.dtype[Any]] = {
    onnx.TensorProto.FLOAT: np.dtype("<f4"),
    onnx.TensorProto.INT64: np.dtype("<i8"),
    onnx.TensorProto.INT32: np.dtype("<i4"),
    onnx.TensorProto.INT8: np.dtype("i1"),
    onnx.TensorProto.UINT8: np.dtype("u1"),
    onnx.TensorProto.FLOAT16: np.dtype("<f2"),
    onnx.TensorProto.BOOL: np.dtype(np.bool_),
}


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
        dtype = _PLAIN.get(tensor.data_type)
        apart = tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.HasField("segment")
        if dtype is None or apart or not tensor.HasField("raw_data"):
            return numpy_helper.to_array(tensor, directory or "")
        # As to_array does, in a quarter of the time.
        return np.frombuffer(tensor.raw_data, dtype).reshape(tuple(tensor.dims))
    except (OSError, LookupError, TypeError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelFormatError(f"the data of {what} cannot be read: {error}") from None


class NodeContext(Emitter):
    """One ONNX node being converted in a scope."""

    def __init__(self, scope: Scope, node: onnx.NodeProto) -> None:
        self.scope = scope
        self.node = node
        self.builder: Builder = scope.builder
        self._attributes = {a.name: a for a in node.attribute}
        self._source: Source | None = None

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
    def output_names(self) -> Sequence[str]:
        return list(self.node.output)

    @property
    def source(self) -> Source:
        """The source location for nodes made from this one."""
        if self._source is None:
            origin = origin_of(self.node)
            module = module_of(self.node, origin)
            inside = f" in {module}" if module else ""
            text = f"{self.label} ({self.op_type}){inside}"
            self._source = Source(origin.file, origin.line, text)
        return self._source

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
