# SPDX-License-Identifier: Apache-2.0
"""Shared by the backward passes of functions and loops: values as rules see them, zeros, errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.infer import locate
from samara.exporter.ir.program import Function, Node, Program, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.types import Dim, DType, UnsupportedError

# ---- values for rules ----


class Home:
    """The builder of a backward pass, and the node whose rule is running."""

    __slots__ = ("builder", "constants", "node")

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.node: Node | None = None
        self.constants: dict[Value, Value] = {}

    def op(self, op: OpSpec | str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Append a node; its name and source come from the node that is differentiated."""
        bare = [self.local(v.value) if isinstance(v, Symbol) else v for v in inputs]
        what = op if isinstance(op, str) else op.name
        name = f"grad/{what}" if self.node is None else f"grad/{self.node.name}/{what}"
        source = None if self.node is None else self.node.source
        got = self.builder.op(op, *bare, name=name, source=source, **attrs)
        return tuple(Symbol(self, v) for v in got) if isinstance(got, tuple) else Symbol(self, got)

    def local(self, value: Value) -> Value:
        """The value; for a constant of an enclosing function a copy, whose name is free here."""
        if value.constant is None or self.builder.parent is None:
            return value
        if value not in self.constants:
            copy = self.builder.const(value.constant, value.name, value.type.dtype)
            self.constants[value] = replace(copy, type=value.type)
        return self.constants[value]


class Symbol:
    """A Value in a builder; operators on it append nodes."""

    __slots__ = ("home", "value")

    def __init__(self, home: Home, value: Value) -> None:
        self.home = home
        self.value = value

    @property
    def shape(self) -> tuple[Dim, ...]:
        return tuple(map(self.home.builder.translate, self.value.type.shape))

    @property
    def ir_dtype(self) -> DType:
        return self.value.type.dtype

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        home = next(v.home for v in inputs if isinstance(v, Symbol))
        return home.op(op, inputs, attrs)

    def __samara_beside__(self, op: OpSpec, attrs: Mapping[str, Any]) -> Any:
        return self.home.op(op, (), attrs)


def zeros_like(builder: Builder, like: Value) -> Value:
    """Zeros of the type of a value."""
    zero = builder.const(np.zeros((), like.type.dtype.numpy), "zero")
    made: Value = builder.op(
        ops.expand, zero, name=f"{like.name}.zeros", shape=map(builder.translate, like.type.shape)
    )
    return made


# ---- functions ----


def reach(nodes: Iterable[Node], seeds: Iterable[Value], known: Any = lambda v: v) -> set[Value]:
    """The floating-point values that depend on the seeds."""
    found = set(seeds)
    for node in nodes:
        if any(v is not None and known(v) in found for v in node.inputs):
            found.update(known(v) for v in node.outputs if v.type.dtype.is_float)
    return found


def gradient_input(
    program: ProgramBuilder, builder: Builder, v: Value, opened: Collection[int] = ()
) -> Value:
    """A new input for the gradient of a value; sizes that depend on data become symbols."""
    shape = []
    for axis, d in enumerate(v.type.shape):
        free = axis in opened or any(hasattr(a, "key") for a in d.all_atoms())
        shape.append(program.fresh_symbol(f"{v.name}.{axis}") if free else d)
    return builder.input(f"grad/{v.name}", v.type.dtype, shape)


def finished(builder: Builder, results: Sequence[Value]) -> Function:
    """Close a function and remove the nodes that its results do not need."""
    function = builder.finish(results)
    made = pruned(function, Program(builder.program.functions, (function.name,)))
    builder.program.functions[made.name] = made
    return made


def pruned(function: Function, program: Program) -> Function:
    """The function without dead nodes."""
    rewriter = Rewriter(function, program)
    rewriter.set_outputs(function.outputs)
    return rewriter.finish()


# ---- errors ----


def refusal(node: Node, why: str, fix: str | None = None) -> UnsupportedError:
    """The error for a node without a gradient; it names the author's line."""
    return placed(UnsupportedError(why, fix=fix), node)


def placed(error: UnsupportedError, node: Node) -> UnsupportedError:
    """The error with the node and the author's line."""
    located = locate(error, node)
    source = node.source
    place = "" if source is None or not source.file else f"{source.file}:{source.line}: "
    if not located.message.startswith(place):
        located.message = place + located.message
    return UnsupportedError(located.message, op=located.op, node=located.node, fix=located.fix)
