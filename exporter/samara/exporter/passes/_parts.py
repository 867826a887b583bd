# SPDX-License-Identifier: Apache-2.0
"""Less than a whole program to compare: the same program on smaller inputs, and the parts that a pass changed.

A part ends at a tensor that both programs have and whose node changed, and begins at the nearest tensors that
both have. Its inputs can be random, so it is checked without a run of the whole net.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from samara.exporter.ir.cut import cut
from samara.exporter.ir.infer import Retyper, Substitution, open_guards, signature_of
from samara.exporter.ir.program import Function, Node, Program, Value
from samara.exporter.types import SamaraError, TensorType


def changed_parts(before: Program, after: Program, entry: str) -> list[tuple[str, list[str]]]:
    """(output, inputs) of every part of an entry that differs, by the names of tensors."""
    old, new = before.functions[entry], after.functions[entry]
    shared = _shared(old, new)
    then, now = _producers(old), _producers(new)
    found = []
    for name, node in now.items():
        if name in shared and name in then and _differs(then[name], node):
            found.append((name, sorted(_edge(node, now, shared))))
    return found


def cut_out(
    before: Program, after: Program, entry: str, output: str, inputs: list[str]
) -> tuple[Program, Program] | None:
    """A part as two programs with the same inputs and one output; None if it cannot be cut so."""
    try:
        pair = [cut(replace(p, entries=(entry,)), inputs, [output]) for p in (before, after)]
    except SamaraError:
        return None
    names = [{v.name for v in p.main.inputs} for p in pair]
    return (pair[0], pair[1]) if names[0] == names[1] else None


def smaller(before: Program, after: Program) -> tuple[Program, Program] | None:
    """Both programs (of one entry) for smaller inputs of random data; None if they only work for their sizes.

    Sizes that are numbers become less than 32, for example the sides of a picture. They keep their remainder
    by 16, on which strides and pooling depend.
    """
    sizes = {d.as_int() for v in before.main.inputs for d in v.type.shape if d.is_static}
    large = {n: n % 16 + 16 for n in sorted(sizes, reverse=True) if n >= 32}
    for wanted in (large, *({n: m} for n, m in large.items())) if large else ():
        try:
            return _resized(before, wanted), _resized(after, wanted)
        except SamaraError:
            continue
    return None


def _resized(program: Program, sizes: dict[int, int]) -> Program:
    """The program with other sizes of inputs; raises if a rule refuses them."""
    f = program.main
    retyper = Retyper(signature_of(program.functions), Substitution())
    for v in f.inputs:
        shape = [sizes.get(d.as_int(), d) if d.is_static else d for d in v.type.shape]
        retyper.values[v] = replace(v, type=TensorType.of(v.type.dtype, shape, v.type.quant))
    nodes = tuple(retyper.node(n, force=True) for n in f.nodes)
    outputs = [retyper.value(v) for v in f.outputs]
    inputs = [retyper.value(v) for v in f.inputs]
    guards = open_guards((*f.guards, *retyper.guards))
    return program.with_function(
        replace(
            f,
            inputs=tuple(v for v in inputs if v is not None),
            nodes=nodes,
            outputs=tuple(v for v in outputs if v is not None),
            guards=guards,
        )
    )


def _shared(old: Function, new: Function) -> set[str]:
    """Tensors that both functions have, with the same type."""
    known = {v.name: v.type for v in old.values() if not v.is_constant}
    return {v.name for v in new.values() if not v.is_constant and known.get(v.name) == v.type}


def _producers(f: Function) -> dict[str, Node]:
    return {v.name: n for n in f.nodes for v in n.outputs}


def _differs(a: Node, b: Node) -> bool:
    if a is b:
        return False
    if a.op is not b.op or len(a.inputs) != len(b.inputs) or dict(a.attrs) != dict(b.attrs):
        return True
    return any(_other(v, w) for v, w in zip(a.inputs, b.inputs, strict=True))


def _other(v: Value | None, w: Value | None) -> bool:
    if v is None or w is None or v is w:
        return v is not w
    if v.constant is not None and w.constant is not None:
        return v.constant is not w.constant and not np.array_equal(v.constant, w.constant)
    return v.is_constant or w.is_constant or v.name != w.name


def _edge(node: Node, producers: dict[str, Node], shared: set[str]) -> set[str]:
    """The nearest tensors above the node that are shared."""
    found: set[str] = set()
    seen: set[str] = set()
    stack = list(_given(node))
    while stack:
        name = stack.pop()
        if name in shared:
            found.add(name)
        elif name not in seen and name in producers:
            seen.add(name)
            stack += _given(producers[name])
    return found


def _given(node: Node) -> Iterator[str]:
    return (v.name for v in node.inputs if v is not None and not v.is_constant)
