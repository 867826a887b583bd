# SPDX-License-Identifier: Apache-2.0
"""What the names of one graph stand for, and how dims that are known as expressions become tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from samara.exporter.importers.common.operand import Operand, Poison, Ratio, Scaled, ShapeData
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value
from samara.exporter.types import Atom, Dim, DType, ShapeError, bits_f32


class Operands:
    """The operands of one graph by name, and the dim predicates that are known in it (`assumed`)."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.names: dict[str, Operand] = {}
        self.assumed: dict[Atom, int] = {}

    def assume(self, predicate: Dim, value: int) -> None:
        """Record that a 0/1 dim predicate, or its negation, is known in this scope."""
        for known, truth in ((predicate, value), (1 - predicate, 1 - value)):
            atom = known.sole_atom()
            if atom is not None:
                self.assumed[atom] = truth

    def known(self, dim: Dim) -> Dim:
        """`dim` with the assumed predicates substituted."""
        return dim.substitute(dict(self.assumed)) if self.assumed else dim

    def materialise(self, operand: Operand, name: str) -> Value:
        """An operand as a tensor of this scope's function."""
        if isinstance(operand, Value):
            return self.builder.resolve(operand)
        if isinstance(operand, Poison):
            raise ShapeError(operand.reason)
        if operand.is_static():
            value = self.builder.const(operand.array(), name, operand.dtype)
        elif all(isinstance(d, Dim) for d in operand.dims()):
            value = self._emit_dims(operand.dims(), operand, name)
        else:
            value = self._emit_floats(operand, name)
        self.names[name] = value
        return value

    def _emit_dims(self, dims: Sequence[Dim], data: ShapeData, name: str) -> Value:
        """A tensor of `dims` with the dtype and shape of `data`."""
        scalar = data.elements.ndim == 0
        value: Value = self.builder.op(
            "dims", values=dims, dtype=DType.I64, scalar=scalar, outputs=[name]
        )
        if data.dtype is not DType.I64:
            value = self.builder.op("cast", value, to=data.dtype, name=f"{name}.cast")
        if data.elements.ndim > 1:
            value = self.builder.op(
                "reshape", value, shape=data.elements.shape, name=f"{name}.reshape"
            )
        return value

    def _emit_floats(self, data: ShapeData, name: str) -> Value:
        """A float tensor with products or quotients among its elements: dims * factors / divisors."""
        dims, factors, divisors = [], [], []
        for element in data.dims():
            dim, factor, divisor = Dim(1), 1.0, Dim(1)
            if isinstance(element, Scaled):
                dim, factor = element.dim, bits_f32(element.bits.as_int())
            elif isinstance(element, Ratio):
                dim, divisor = element.dim, element.divisor
            elif isinstance(element, float):
                factor = element
            else:
                dim = element
            dims.append(dim)
            factors.append(factor)
            divisors.append(divisor)
        value = self._emit_dims(dims, data, name)
        if any(f != 1.0 for f in factors):
            constant = np.array(factors, np.float32).reshape(data.elements.shape)
            value = self.builder.op("mul", value, constant, name=f"{name}.scaled")
        if any(d != 1 for d in divisors):
            below = self._emit_dims(divisors, data, f"{name}.divisor")
            value = self.builder.op("div", value, below, name=f"{name}.ratio")
        return value
