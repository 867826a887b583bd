# SPDX-License-Identifier: Apache-2.0
"""How the converter of a node of a foreign model appends IR nodes: widened, folded or refused where that is due."""

from __future__ import annotations

import abc
import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from samara.exporter import ops
from samara.exporter.importers.common.widening import Widening, refused_dtype, widening_of
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.infer import attr_dims, infer_node
from samara.exporter.ir.program import Source, Value
from samara.exporter.ops import OpSpec, get_op
from samara.exporter.types import DType, Quant, ShapeError, UnsupportedError

# Nodes over constants are computed during import if the result has at most this many elements; larger
# ones are left to the folding pass.
_FOLD_ELEMENTS = 1 << 16


class Emitter(abc.ABC):
    """One node of a foreign model, as the maker of IR nodes."""

    builder: Builder
    _is_inner = False

    @property
    @abc.abstractmethod
    def op_type(self) -> str:
        """The operator's name in its format."""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """The node's name for people."""

    @property
    @abc.abstractmethod
    def source(self) -> Source:
        """The source location for nodes made from this one."""

    @property
    @abc.abstractmethod
    def output_names(self) -> Sequence[str]:
        """The names of the node's results; "" for one that is not wanted."""

    def emit(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """Append an IR node for an intermediate value."""
        return self._emit(op, inputs, None, attrs)

    def final(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """Append the IR node whose results carry the source node's output names."""
        if self._is_inner:
            return self.emit(op, *inputs, **attrs)
        names = [n or f"{self.label}.{i}" for i, n in enumerate(self.output_names)]
        spec = get_op(op)
        if spec.max_outputs is not None:
            names = names[: spec.max_outputs]
        return self._emit(op, inputs, names, attrs)

    @property
    def inner(self) -> Self:
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
        spec = get_op(op)
        try:
            full = spec.complete(attrs)
        except TypeError as error:  # a value that is not in the enumeration
            raise self.unsupported(str(error)) from None
        widening = widening_of(self.builder, spec, inputs, attrs)
        if widening is not None:
            return self._widened(widening, op, inputs, names, attrs)
        refused = refused_dtype(self.builder, spec, inputs, attrs)
        if refused is not None:
            raise self.unsupported(refused.message, refused.fix)
        folded = self._fold(spec, inputs, names, full)
        if folded is not None:
            return folded
        name = f"{self.label}.{op}" if names is None else None
        return self.builder.append(spec, inputs, full, name, names, self.source)

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
        self, spec: OpSpec, inputs: Sequence[Any], names: list[str] | None, full: dict[str, Any]
    ) -> Value | None:
        """The constant result of a node over constants, if it is small and its attributes are static."""
        if not inputs or spec.max_outputs != 1 or "control" in spec.flags or spec.measured:
            return None
        if not all(v is None or (isinstance(v, Value) and v.constant is not None) for v in inputs):
            return None
        if not all(d.is_static for d in attr_dims(spec, full)):
            return None
        (result_type,) = infer_node(
            spec, inputs, full, node=spec.name, first_output="fold", output_count=1
        ).types
        moves = spec is ops.transpose
        if not moves and any(v is not None and v.type.quant is not None for v in inputs):
            return None  # dequantized constants are not folded
        if result_type.quant is not None and not moves:
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
