# SPDX-License-Identifier: Apache-2.0
"""Gradients of programs: reverse accumulation over a function's nodes by the operators' rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.cut import only_reached
from samara.exporter.ir.gradient_loop import loop_gradient
from samara.exporter.ir.gradient_parts import (
    Home,
    Symbol,
    finished,
    gradient_input,
    placed,
    pruned,
    reach,
    refusal,
    zeros_like,
)
from samara.exporter.ir.interpret import near
from samara.exporter.ir.program import Function, Node, Program, Value, unused
from samara.exporter.ir.verify import verify
from samara.exporter.ops import add, context_of
from samara.exporter.types import ShapeError, UnknownNameError, UnsupportedError
from samara.pybridge.names import is_one_of


def gradient(
    program: Program,
    loss: str,
    wrt: Sequence[str],
    outputs: Sequence[str] | None = None,
) -> Program:
    """The program with the gradients of `loss` as further outputs of its default entry.

    loss: an output or tensor that is a floating-point scalar. wrt: inputs, variables, or any tensors of the
    entry; the gradient of each is the output "grad/<name>", zeros if the loss does not depend on it. outputs:
    which original outputs to keep (default: all); those that are written to variables stay. ShapeError for
    unknown names and for a loss that is not a scalar, UnsupportedError for operators without a gradient.
    """
    f = program.main
    names = f.output_names or tuple(v.name for v in f.outputs)
    values = {v.name: v for v in f.values() if not v.is_constant}
    target = _scalar(f, names, values, loss)
    sources = {name: _source(f, names, values, name) for name in dict.fromkeys(wrt)}
    maker = ProgramBuilder.of(program)
    builder = maker.reopen(f)
    one = builder.const(np.ones(target.type.static_shape(), target.type.dtype.numpy), "one")
    found = backward(builder, [target], [one], list(sources.values()))
    kept = _kept(f, names, outputs)
    results, labels = [f.outputs[i] for i in kept], [names[i] for i in kept]
    for (name, source), dy in zip(sources.items(), found, strict=True):
        results.append(zeros_like(builder, source) if dy is None else dy)
        labels.append(unused(f"grad/{name}", labels))
    made = builder.finish(results, labels)
    writes = {kept.index(i): variable for i, variable in f.writes.items()}
    made = replace(made, reads=f.reads, writes=writes)
    whole = replace(program, functions={**maker.functions, f.name: made})
    whole = whole.with_function(pruned(made, whole))
    whole = replace(only_reached(whole), variables=program.variables)
    verify(whole)
    return whole


def _scalar(f: Function, names: Sequence[str], values: Mapping[str, Value], loss: str) -> Value:
    target = _tensor(f, names, values, loss)
    if not target.type.dtype.is_float or any(d != 1 for d in target.type.shape):
        raise ShapeError(
            f"the loss '{loss}' is {target.type}, expected a floating-point scalar",
            fix="reduce it to one number first, by a mean or a sum",
        )
    return target


def _tensor(f: Function, names: Sequence[str], values: Mapping[str, Value], name: str) -> Value:
    if is_one_of(name, names):
        return f.outputs[names.index(name)]
    if not is_one_of(name, values):
        raise UnknownNameError(
            f"there is no tensor '{name}'", fix=near(str(name), values, "tensors")
        )
    return values[name]


def _source(f: Function, names: Sequence[str], values: Mapping[str, Value], name: str) -> Value:
    """The value that a name of `wrt` means: the input that reads a variable, or a tensor."""
    bound = {variable: values[given] for given, variable in f.reads.items()}
    found = bound[name] if name in bound else _tensor(f, names, values, name)
    if not found.type.dtype.is_float:
        raise ShapeError(
            f"'{name}' is {found.type}, and only floating-point tensors have gradients"
        )
    return found


def _kept(f: Function, names: Sequence[str], outputs: Sequence[str] | None) -> list[int]:
    """Positions of the kept outputs."""
    if outputs is None:
        return list(range(len(f.outputs)))
    for name in outputs:
        if name not in names:
            raise ShapeError(f"there is no output '{name}'", fix=near(name, names, "outputs"))
    chosen = [names.index(name) for name in outputs]
    return [*chosen, *(i for i in f.writes if i not in chosen)]


# ---- the pass ----


def backward(
    builder: Builder,
    outputs: Sequence[Value],
    dys: Sequence[Value | None],
    wrt: Sequence[Value],
    stop: Collection[Value] = (),
) -> list[Value | None]:
    """Append nodes for the gradients of `wrt` to `builder`. `dys` are the gradients of `outputs`.

    All are values that the builder may use, including those of enclosing builders. None stands for a gradient
    of zero: of an unused output, or of a value that no output depends on. Gradients stop at values in `stop`.
    A loop that is differentiated is replaced by one that also stacks its carried values. UnsupportedError
    names the author's line.
    """
    return _Pass(builder, stop).run(outputs, dys, wrt)


class _Pass:
    """One backward pass over the present nodes of a builder and of the builders around it."""

    def __init__(self, builder: Builder, stop: Collection[Value]) -> None:
        self.builder = builder
        self.home = Home(builder)
        self.stop = stop
        self.chain = [builder]
        while self.chain[0].parent is not None:
            self.chain.insert(0, self.chain[0].parent)
        # The outer value of each captured value.
        self.outer = {inner: v for b in self.chain for v, inner in b.captures.items()}
        self.places = [(b, i) for b in self.chain for i in range(len(b.nodes))]
        self.grads: dict[Value, Symbol] = {}
        self.reached: set[Value] = set()
        self.functions: dict[Any, str] = {}  # gradients of bodies, by request

    def run(
        self, outputs: Sequence[Value], dys: Sequence[Value | None], wrt: Sequence[Value]
    ) -> list[Value | None]:
        wanted = [self.known(v) for v in wrt]
        nodes = [b.nodes[i] for b, i in self.places]
        self.reached = reach((n for n in nodes if not self._stops(n)), wanted, self.known)
        for output, dy in zip(outputs, dys, strict=True):
            if dy is not None and self.known(output) in self.reached:
                self.add(output, Symbol(self.home, dy))
        for owner, index in reversed(self.places):
            node = owner.nodes[index]
            if any(self.known(v) in self.grads for v in node.outputs):
                self._node(owner, index, node)
        found = [self.grads.get(v) for v in wanted]
        return [None if g is None else self.builder.resolve(g.value) for g in found]

    def inside(
        self,
        builder: Builder,
        outputs: Sequence[Value],
        dys: Sequence[Value | None],
        wrt: Sequence[Value],
    ) -> list[Value | None]:
        """The same pass in another builder, for the function of a body."""
        return backward(builder, outputs, dys, wrt, self.stop)

    def known(self, v: Value) -> Value:
        """The value in the function that made it."""
        while v in self.outer:
            v = self.outer[v]
        return v

    def _stops(self, node: Node) -> bool:
        return any(v in self.stop for v in node.outputs)

    def moves(self, v: Value | None) -> bool:
        """Whether a gradient of the value is needed."""
        return v is not None and self.known(v) in self.reached

    def symbol(self, v: Value | Symbol | None) -> Symbol | None:
        """The value as an operand of `home.op`."""
        return Symbol(self.home, v) if isinstance(v, Value) else v

    def add(self, v: Value, dy: Symbol) -> None:
        v = self.known(v)
        self.grads[v] = add(self.grads[v], dy) if v in self.grads else dy

    def _node(self, owner: Builder, index: int, node: Node) -> None:
        needed = [self.moves(v) for v in node.inputs]
        if not any(needed) or self._stops(node):
            return
        self.home.node = node
        dys = [self.grads.get(self.known(v)) for v in node.outputs]
        if node.op in (ops.if_, ops.call):
            found: Sequence[Any] = self._called(node, dys)
        elif node.op is ops.loop:
            found = loop_gradient(self, owner, index, dys)
        else:
            found = self._by_rule(node, dys, needed)
        for v, wanted, dy in zip(node.inputs, needed, found, strict=False):
            if v is not None and wanted and dy is not None:
                self.add(v, dy)

    def _by_rule(
        self, node: Node, dys: Sequence[Symbol | None], needed: Sequence[bool]
    ) -> Sequence[Any]:
        if node.op.grad is None:
            raise refusal(node, f"{node.op.name} has no gradient rule")
        inputs = [None if v is None else Symbol(self.home, v) for v in node.inputs]
        results = [Symbol(self.home, v) for v in node.outputs]
        try:
            ctx = context_of(node.op, inputs, results, node.attrs, dys, needed)
            return node.op.grad(ctx)
        except UnsupportedError as error:
            raise placed(error, node) from error

    def _called(self, node: Node, dys: Sequence[Symbol | None]) -> list[Any]:
        """The gradient of `if` and `call`: an `if` or `call` over the gradients of the bodies."""
        lead = 1 if node.op is ops.if_ else 0
        args = node.inputs[lead:]
        needed = tuple(i for i, v in enumerate(args) if self.moves(v))
        flowing = tuple(i for i, dy in enumerate(dys) if dy is not None)
        opened = frozenset(
            (i, axis)
            for i in flowing
            for axis, d in enumerate(node.outputs[i].type.shape)
            if any(getattr(a, "key", None) == node.outputs[0].name for a in d.all_atoms())
        )
        names = {}
        for a in node.op.attrs:
            key = (node.attrs[a.name], needed, flowing, opened)
            if key not in self.functions:
                self.functions[key] = gradient_function(self.builder.program, *key, stop=self.stop)
            names[a.name] = self.functions[key]
        values = [Symbol(self.home, v) for v in node.inputs if v is not None]
        got = self.home.op(node.op, [*values, *(dys[i] for i in flowing)], names)
        found: list[Any] = [None] * len(node.inputs)
        for i, dy in zip(needed, got, strict=True):
            found[lead + i] = dy
        return found


def gradient_function(
    program: ProgramBuilder,
    name: str,
    needed: Sequence[int],
    flowing: Sequence[int],
    opened: Collection[tuple[int, int]] = (),
    stop: Collection[Value] = (),
) -> str:
    """A function (inputs of `name`…, gradients of its outputs `flowing`…) -> gradients of `needed`.

    It computes the values that it needs again. opened: (output, axis) pairs whose size does not follow from
    the inputs.
    """
    f = program.functions[name]
    builder = program.reopen(f, f"{name}/grad")
    dys = [
        gradient_input(program, builder, f.outputs[i], [a for o, a in opened if o == i])
        for i in flowing
    ]
    wrt = [f.inputs[i] for i in needed]
    found = backward(builder, [f.outputs[i] for i in flowing], dys, wrt, stop)
    results = [zeros_like(builder, v) if g is None else g for v, g in zip(wrt, found, strict=True)]
    return finished(builder, results).name
