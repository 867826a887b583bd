# SPDX-License-Identifier: Apache-2.0
"""State that outlives a call: resource variables, and the variable tensors of recurrent operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value, Variable
from samara.exporter.types import DType, ShapeError, TensorType, UnsupportedError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Handle:
    """What a tensor of type RESOURCE stands for: a variable."""

    name: str


@dataclass(slots=True)
class Variables:
    """The variables of a whole import, with their initial values once they are known."""

    initial: dict[str, tuple[DType, Array]] = field(default_factory=dict)

    def begin(self, name: str, dtype: DType, array: Array) -> None:
        """Set an initial value. ShapeError if two functions disagree about the variable."""
        held = self.initial.get(name)
        if held is not None and (held[0] is not dtype or held[1].shape != array.shape):
            raise ShapeError(
                f"variable {name!r} is {held[0].public_name} {list(held[1].shape)} in one place and"
                f" {dtype.public_name} {list(array.shape)} in another",
                fix="convert the model again",
            )
        if held is None:
            self.initial[name] = (dtype, array)

    def all(self) -> list[Variable]:
        return [
            Variable(name, TensorType.of(dtype, array.shape), array)
            for name, (dtype, array) in self.initial.items()
        ]


class State:
    """The state of one function: variables as inputs that are read at entry, and values assigned at exit."""

    def __init__(self, variables: Variables, builder: Builder) -> None:
        self.variables = variables
        self.builder = builder  # of the function, not of a body in it
        self.handles: dict[tuple[int, int], Handle] = {}
        self.reads: dict[str, Value] = {}
        self.current: dict[str, Value] = {}
        self.assigned: dict[str, None] = {}

    def read(self, name: str) -> Value:
        """The variable's value at this point of the function."""
        if name not in self.current and name in self.reads:
            self.current[name] = self.reads[name]
        if name not in self.current:
            if name not in self.variables.initial:
                raise UnsupportedError(
                    f"variable {name!r} is read before anything is assigned to it",
                    fix="convert the model with its variables initialised (CALL_ONCE)",
                )
            dtype, array = self.variables.initial[name]
            made = self.builder.input(name, dtype, list(array.shape))
            self.reads[name] = self.current[name] = made
        return self.current[name]

    def assign(self, name: str, value: Value) -> None:
        """Set the variable from here on."""
        if name not in self.variables.initial:
            if not value.type.is_static:
                raise ShapeError(
                    f"variable {name!r} would have shape {value.type}, and needs a static one",
                    fix="give shapes= with sizes",
                )
            shape = value.type.static_shape()
            self.variables.begin(name, value.type.dtype, np.zeros(shape, value.type.dtype.numpy))
        dtype, array = self.variables.initial[name]
        if value.type.dtype is not dtype or value.type.rank != array.ndim:
            raise ShapeError(
                f"variable {name!r} is {dtype.public_name} {list(array.shape)}, and {value.type} is assigned to it",
                fix="convert the model again",
            )
        if value.type.shape != TensorType.of(dtype, array.shape).shape:
            value = self.builder.op("reshape", value, shape=array.shape, name=f"{name}.assigned")
        self.current[name] = value
        self.assigned[name] = None

    def inner(self) -> State:
        """The state as the body of an operator of control flow sees it; what the body assigns stays in there."""
        made = State(self.variables, self.builder)
        made.handles, made.reads = self.handles, self.reads
        made.current = dict(self.current)
        return made

    def written(self) -> Iterator[tuple[str, Value]]:
        """The variables that the function assigns, with their last values."""
        for name in self.assigned:
            yield name, self.current[name]
