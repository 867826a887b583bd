# SPDX-License-Identifier: Apache-2.0
"""Conditions in words: for which inputs a branch runs, and a value that leads to the other branch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Node, Value
from samara.exporter.types import Dim, DimOp, DType, Op, Sym

__all__ = ["Condition", "condition_of", "size_condition"]

_SIGNS = {"eq": ("==", "!="), "lt": ("<", ">="), "le": ("<=", ">")}
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", ">=": "<=", "<=": ">=", ">": "<"}
# Operators that do not change a number.
_PASSED = (ops.cast, ops.reshape, ops.identity, ops.transpose, ops.slice_, ops.expand)
_DEEPEST = 8
# The largest size that is tried.
_LARGEST_SIZE = 2048
_READ = re.compile(r"(?:read|bits)\(([^()]*), (\d+)\)")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in words, and values of inputs that make it hold: {"sr": "16000"}, empty if none is known.

    direct: it names only inputs and constants, no tensor inside the Program, whose name a user does not know.
    """

    text: str
    values: dict[str, str] = field(default_factory=dict)
    direct: bool = field(default=False, compare=False)

    def advice(self) -> str:
        """`sr == 16000: feed that, or freeze it at export (--const sr=16000)`."""
        frozen = " ".join(f"--const {k}={v}" for k, v in self.values.items())
        return self.text + (f": feed that, or freeze it at export ({frozen})" if frozen else "")


def condition_of(builder: Builder, value: Value, holds: bool) -> Condition:
    """When a bool tensor of a function under construction is true, or false if not `holds`."""
    return _Reader().condition(builder, value, holds, 0)


def size_condition(builder: Builder, predicate: Dim, holds: bool) -> Condition:
    """When a dim that is 0 or 1 is 1, or 0 if not `holds`."""
    for dim, truth in ((predicate, holds), (1 - predicate, not holds)):
        atom = dim.sole_atom()
        if isinstance(atom, Op) and atom.kind in (DimOp.EQ, DimOp.LT):
            a, b = atom.args
            sign = _SIGNS[atom.kind.value][0 if truth else 1]
            text = f"{a} {sign} {b}"
            break
    else:
        text = f"{predicate} is {int(holds)}"
    text = _READ.sub(r"\1[\2]", text) + _sizes(predicate, holds)
    return Condition(text + _axes(builder, predicate))


def _sizes(predicate: Dim, holds: bool) -> str:
    """The first sizes for which it holds, if one symbol decides and the condition does not show them."""
    symbols = predicate.symbols()
    atoms = {a for a in predicate.all_atoms() if not isinstance(a, Op)}
    if len(symbols) != 1 or len(atoms) != 1 or len(predicate.all_atoms()) < 3:
        return ""
    (name,) = symbols
    first = last = None
    for size in range(1, _LARGEST_SIZE):
        try:
            right = bool(predicate.evaluate({name: size})) == holds
        except (ArithmeticError, ValueError):
            return ""
        if right:
            first, last = first if first is not None else size, size
        elif first is not None:
            return f", as for {name} = {first}" + (f" … {last}" if last != first else "")
    return "" if first is None else f", as for {name} >= {first}"


def _axes(builder: Builder, dim: Dim) -> str:
    """The axes of inputs that the symbols stand for, if their names do not say so."""
    while builder.parent is not None:
        builder = builder.parent
    found = []
    for name in sorted(dim.symbols()):
        for v in builder.inputs:
            for axis, d in enumerate(v.type.shape):
                if d.sole_atom() == Sym(name) and name != f"{v.name}.{axis}":
                    found.append(f"{name} is axis {axis} of {v.name!r}")
                    break
            else:
                continue
            break
    return f" ({', '.join(found)})" if found else ""


class _Reader:
    """Follows a condition back to the inputs and constants that it compares."""

    def condition(self, builder: Builder, value: Value, holds: bool, depth: int) -> Condition:
        builder, value, node = self._origin(builder, value)
        if value.constant is not None:
            always = bool(np.all(value.constant)) == holds
            return Condition("always" if always else "never", direct=True)
        op = None if node is None or depth > _DEEPEST else node.op
        given = [] if node is None else [v for v in node.inputs if v is not None]
        if op is ops.logical_not:
            return self.condition(builder, given[0], not holds, depth + 1)
        if op in (ops.logical_and, ops.logical_or):
            parts = [self.condition(builder, v, holds, depth + 1) for v in given]
            together = (op is ops.logical_and) == holds
            text = (" and " if together else " or ").join(
                f"({p.text})" if " or " in p.text else p.text for p in parts
            )
            values = parts[0].values | parts[1].values if together else parts[0].values
            complete = not together or all(p.values for p in parts)
            return Condition(text, values if complete else {}, all(p.direct for p in parts))
        if op is not None and op.name in _SIGNS:
            return self._compared(builder, given, _SIGNS[op.name][0 if holds else 1])
        if value.type.dtype is DType.BOOL:
            word = "true" if holds else "false"
            given_so = self._is_input(builder, value)
            return Condition(
                f"{value.name} is {word}", {value.name: word} if given_so else {}, given_so
            )
        sign = "!=" if holds else "=="  # a number cast to bool
        return Condition(f"{value.name} {sign} 0", direct=self._is_input(builder, value))

    def _compared(self, builder: Builder, given: list[Value], sign: str) -> Condition:
        (at, a, _), (where, b, _) = (self._origin(builder, v) for v in given)
        if a.constant is not None and b.constant is None:
            at, a, where, b, sign = where, b, at, a, _FLIPPED[sign]
        text = f"{_named(a)} {sign} {_named(b)}"
        known = sign == "==" and b.constant is not None and b.constant.size == 1
        values = {a.name: _named(b)} if known and self._is_input(at, a) else {}
        direct = self._is_input(at, a) and (b.constant is not None or self._is_input(where, b))
        return Condition(text, values, direct)

    def _origin(self, builder: Builder, value: Value) -> tuple[Builder, Value, Node | None]:
        """The origin of a value: outside the functions that capture it, before the nodes that move it."""
        while True:
            outer = next((o for o, i in builder.captures.items() if i is value), None)
            if outer is not None and builder.parent is not None:
                builder, value = builder.parent, outer
                continue
            node = self._maker(builder, value)
            if node is None or node.op not in _PASSED or node.inputs[0] is None:
                return builder, value, node
            value = node.inputs[0]

    def _maker(self, builder: Builder, value: Value) -> Node | None:
        for node in reversed(builder.nodes):
            if any(v is value for v in node.outputs):
                return node
        return None

    def _is_input(self, builder: Builder, value: Value) -> bool:
        return builder.parent is None and any(v is value for v in builder.inputs)


def _named(value: Value) -> str:
    if value.constant is None or value.constant.size != 1:
        return value.name
    item = value.constant.reshape(-1)[0].item()
    return f"{item:g}" if isinstance(item, float) else str(item).lower()
