# SPDX-License-Identifier: Apache-2.0
"""Exact programs: floats with the same bits on every CPU (accuracy="exact").

A program says it in its metadata, so that passes and files keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from samara.exporter.ir.program import Function, Node, Program
from samara.exporter.ops import all_ops
from samara.exporter.ops.facts import Kind
from samara.exporter.types import DType, UnsupportedError

_KEY, _EXACT = "accuracy", "exact"
_NARROW = (DType.F32, DType.F16)


def is_exact(program: Program) -> bool:
    """Whether the program was made exact."""
    return program.metadata.get(_KEY) == _EXACT


def with_accuracy(program: Program, accuracy: str) -> Program:
    """The program, exact for "exact" and not for "bounded"; "default" changes nothing."""
    if accuracy == "default":
        return program
    metadata = {k: v for k, v in program.metadata.items() if k != _KEY}
    if accuracy == _EXACT:
        metadata[_KEY] = _EXACT
    return replace(program, metadata=metadata)


def is_float_node(node: Node) -> bool:
    """Whether a float is among the inputs and outputs."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    return any(v.type.dtype.is_float for v in values)


def has_exact_form(node: Node) -> bool:
    """Whether all CPUs give the same bits for the node in an exact program."""
    op = node.op
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    floats = {v.type.dtype for v in values if v.type.dtype.is_float}
    if not floats or op.copies or op.settled or op.exact == "same":
        return True
    if op.kind is Kind.CONTROL and op.function_attrs:
        return True  # the nodes inside answer for themselves
    if op.exact is None or not floats <= set(_NARROW):
        return False
    if any(node.attrs.get(name) != value for name, value in op.exact_with.items()):
        return False
    return _weights_are_floats(node) and activation_is_exact(node.attrs.get("post", "none"))


def _weights_are_floats(node: Node) -> bool:
    """Products of float activations by quantized weights unfold these in the kernel, each in its own way."""
    return node.op.int8_sums or not any(
        v is not None and v.type.quant is not None for v in node.inputs
    )


def activation_is_exact(post: str) -> bool:
    """Whether an epilogue's activation has an exact form: that of the operator that it replaces."""
    return post == "none" or any(
        op.exact is not None and any(p.name == post for p in op.posts) for op in all_ops()
    )


@dataclass(frozen=True, slots=True)
class Inexact:
    """A node without an exact form."""

    function: str
    node: str
    op: str
    dtypes: str
    place: str

    def __str__(self) -> str:
        at = f" ({self.place})" if self.place else ""
        return f"{self.function}/{self.node}: {self.op} of {self.dtypes}{at}"


def _inexact(f: Function) -> Iterator[Inexact]:
    for n in f.nodes:
        if has_exact_form(n):
            continue
        values = [v for v in (*n.inputs, *n.outputs) if v is not None]
        dtypes = ", ".join(sorted({v.type.dtype.public_name for v in values}))
        yield Inexact(f.name, n.name, n.op.name, dtypes, n.source.place if n.source else "")


def require_exact_forms(program: Program) -> None:
    """UnsupportedError that lists all nodes without an exact form."""
    found = [row for f in program.functions.values() for row in _inexact(f)]
    if not found:
        return
    listed = "".join(f"\n  {row}" for row in found[:20])
    more = f"\n  and {len(found) - 20} more" if len(found) > 20 else ""
    raise UnsupportedError(
        f"{len(found)} nodes have no exact form, so their bits may differ between CPUs:{listed}{more}",
        op=found[0].op,
        node=found[0].node,
        fix='replace these operators, quantize them, or export without accuracy="exact"',
    )
