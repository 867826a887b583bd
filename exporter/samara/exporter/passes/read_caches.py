# SPDX-License-Identifier: Apache-2.0
"""Attention over a variable that grows reads it where it lies: no rows are copied, no heads repeated.

It takes a proof that keys and values are the rows in use of two caches, and that each row sees those up to its own
position, or the last so many of them: the mask must be 0 where it does and hide all others (_elements.py). Without
it the program stays as it is, which is right, and slower.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from samara.exporter import ops
from samara.exporter.ir.program import Function, Node, Program, Value
from samara.exporter.ir.rewriter import Rewriter, Rewriters
from samara.exporter.passes._elements import Elements, Facts, Place
from samara.exporter.passes._pass import Pass, Shared, scalar_of
from samara.exporter.types import Dim, DType, Read, Sym, Tri, as_dim, compare, floordiv

__all__ = ["PASS", "caches_read_in_place"]

# A mask value below this has a weight of exactly 0 beside a value of 0.
_HIDDEN: Final = -1e30
_SWAP: Final = (0, 2, 1, 3)
# Where the window of a mask is looked for: nodes up from it, and numbers found there.
_MASK_DEPTH: Final = 24
_MOST_WINDOWS: Final = 12


def _run(program: Program, rewriters: Rewriters) -> Program:
    for name in program.entries:
        function = program.functions[name]
        counts = _counts(program, function)
        if not counts:
            continue
        r = rewriters.of(function, program)
        _settle_reads(r)
        for node in r.nodes():
            if node.op is ops.attention:
                _rewrite(r, node, counts)
        if r.changed:
            program = program.with_function(r.finish())
    return program


def _counts(program: Program, function: Function) -> dict[Value, Value]:
    """The value that counts a cache's rows, by the function's input for the cache."""
    variables = {v.name: v for v in program.variables}
    bound = {variables[n].name: v for v in function.inputs if (n := function.reads.get(v.name, ""))}
    return {
        value: bound[variables[name].length]
        for name, value in bound.items()
        if variables[name].length
    }


def _count(length: Value) -> Dim:
    return Dim.atom(Read(length.name, 0))


def _settle_reads(r: Rewriter) -> None:
    """Elements that dims read from a tensor, where they follow from the counts of rows."""
    elements = Elements(r.producer, Facts())
    for node in list(r.nodes()):
        for v in node.outputs:
            if v.type.dtype not in (DType.I32, DType.I64) or not r.is_read(v):
                continue
            if v.type.is_static and v.type.rank <= 1:
                for index in range(v.type.numel().as_int()):
                    place = (as_dim(index),) * v.type.rank
                    found = elements.at(v, place)
                    if isinstance(found, Dim):
                        r.substitute(Read(v.name, index), found)


@dataclass(frozen=True, slots=True)
class _Attention:
    """A node `attention` over caches; the axes of heads and rows, and how many heads and rows q has."""

    node: Node
    heads: Dim
    rows: Dim
    axis_of_rows: int

    def place(self, head: Dim, row: Dim, element: Dim) -> tuple[Dim, ...]:
        two = (row, head) if self.axis_of_rows == 1 else (head, row)
        return (as_dim(0), *two, element)


def _attention(node: Node) -> _Attention | None:
    q = node.inputs[0]
    assert q is not None
    shape = q.type.shape
    if q.type.dtype is not DType.F32 or len(shape) != 4 or shape[0] != as_dim(1):
        return None
    axis = 1 if node.attrs["layout"] == "bshd" else 2
    return _Attention(node, shape[3 - axis], shape[axis], axis)


def _rewrite(r: Rewriter, node: Node, counts: Mapping[Value, Value]) -> None:
    a = _attention(node)
    if a is None or not a.heads.is_static:
        return
    first, second = (_held(r, a, node.inputs[i], counts) for i in (1, 2))
    if first is None or second is None or first[1] is not second[1]:
        return
    (keys, length), (values, _) = first, second
    if keys.type.shape[:3] != values.type.shape[:3]:
        return
    window = _window(r, a, _count(length), keys.type.shape[1])
    if window is not None:
        _emit(r, a, (keys, values, length), window)


def _held(
    r: Rewriter, a: _Attention, value: Value | None, counts: Mapping[Value, Value]
) -> tuple[Value, Value] | None:
    """(the cache with its new rows, its count before them) if the operand is its rows in use, each of its heads
    repeated for those of q.
    """
    assert value is not None
    zero = as_dim(0)
    plain = Elements(r.producer, Facts())
    found = plain.at(value, (zero,) * 4)
    maker = r.producer(found.value) if isinstance(found, Place) else None
    if maker is None or maker.op is not ops.write_rows or maker.attrs["ring"]:
        return None
    cache, rows, start = maker.inputs
    written = maker.outputs[0]
    if cache is None or rows is None or start is None or counts.get(cache) is not start:
        return None
    step, used = rows.type.shape[1], _count(start) + rows.type.shape[1]
    if written.type.rank != 4 or compare(step, a.rows) is not Tri.YES:
        return None
    if compare(value.type.shape[a.axis_of_rows], used) is not Tri.YES:
        return None
    shared = written.type.shape[2]
    if not shared.is_static or a.heads.as_int() % max(shared.as_int(), 1):
        return None
    share = a.heads.as_int() // shared.as_int()
    own, among = _one_of("%own", shared.as_int()), _one_of("%among", share)
    row, element = Dim.atom(Sym("%row")), Dim.atom(Sym("%element"))
    head = own * share + among
    place = a.place(floordiv(head, a.node.attrs["groups"]), row, element)
    there = plain.at(value, place)
    if there != Place(written, (zero, row, own, element)):
        return None
    return written, start


def _one_of(name: str, count: int) -> Dim:
    """Any of so many places."""
    return Dim.atom(Sym(name, 0, count - 1)) if count > 1 else as_dim(0)


def _window(r: Rewriter, a: _Attention, past: Dim, room: Dim) -> int | None:
    """How many keys a row sees: 0 for all up to its own position, past + i of row i; None if that is not proved."""
    attrs = a.node.attrs
    mask = a.node.inputs[3] if len(a.node.inputs) > 3 else None
    causal, window = attrs["causal"], attrs["window"] if attrs["causal"] else 0
    if causal and attrs["align"] != "end":
        return None
    row, key = Dim.atom(Sym("%query")), Dim.atom(Sym("%key"))
    last = past + row - key  # how far a key lies behind the row's own
    sizes = (row, a.rows - 1 - row, key, past + a.rows - 1 - key, past, room - past - a.rows)
    place = (as_dim(0), Dim.atom(Sym("%head")), row, key)

    def shows(*region: Dim) -> bool:
        return mask is None or _number_at(r, Facts(*sizes, *region), mask, place) == 0

    def hides(*region: Dim) -> bool:
        facts = Facts(*sizes, *region)
        least = None if mask is None else _number_at(r, facts, mask, place)
        return facts.contradict or (least is not None and least < _HIDDEN)

    if causal:
        return window if shows(last, *([window - 1 - last] if window else ())) else None
    if not hides(-last - 1):
        return None
    if shows(last):
        return 0
    candidates = _numbers(r, mask)
    return next((w for w in candidates if shows(last, w - 1 - last) and hides(last - w)), None)


def _numbers(r: Rewriter, mask: Value | None) -> list[int]:
    """Integers that the mask is made with, one of which is its window."""
    found: set[int] = set()
    stack, seen = [(mask, 0)], set[Value]()
    while stack:
        value, depth = stack.pop()
        if value is None or value in seen or depth > _MASK_DEPTH:
            continue
        seen.add(value)
        whole = value.type.dtype in (DType.I32, DType.I64)
        number = scalar_of(value) if whole else None
        if number is not None and abs(number) > 1:
            found |= {int(abs(number)), int(abs(number)) + 1}
        maker = r.producer(value)
        if maker is not None:
            stack += [(v, depth + 1) for v in maker.inputs]
    return sorted(found)[:_MOST_WINDOWS]


def _number_at(r: Rewriter, facts: Facts, mask: Value, place: tuple[Dim, ...]) -> float | None:
    found = Elements(r.producer, facts).broadcast(mask, place)
    return found if isinstance(found, float) and not math.isnan(found) else None


def _emit(r: Rewriter, a: _Attention, cached: tuple[Value, Value, Value], window: int) -> None:
    node, (keys, values, length) = a.node, cached
    q = node.inputs[0]
    assert q is not None
    if a.axis_of_rows == 2:
        q = _swapped(r, q, node)
    step = r.op(ops.dims, values=(a.rows,), scalar=True, before=node, name=f"{node.name}.step")
    count = r.op(ops.add, length, step, before=node, name=f"{node.name}.length")
    attrs = {"scale": node.attrs["scale"], "window": window}
    if a.axis_of_rows == 1:
        r.replace_node(node, ops.attention_cached, q, keys, values, count, **attrs)
        return
    follower = r.only_user(node.outputs[0])
    if follower is not None and follower.op is ops.transpose and follower.attrs["perm"] == _SWAP:
        absorbed = (*node.absorbed, *(v.name for v in node.outputs))
        r.replace_node(
            follower, ops.attention_cached, q, keys, values, count, name=node.name,
            source=node.source, absorbed=absorbed, **attrs,
        )  # fmt: skip
        r.remove(node)
        return
    y = r.op(
        ops.attention_cached, q, keys, values, count, before=node, name=f"{node.name}.cached",
        source=node.source, absorbed=node.absorbed, **attrs,
    )  # fmt: skip
    r.replace_node(node, ops.transpose, y, perm=_SWAP)


def _swapped(r: Rewriter, q: Value, node: Node) -> Value:
    """q with rows before heads."""
    maker = r.producer(q)
    if maker is not None and maker.op is ops.transpose and maker.attrs["perm"] == _SWAP:
        inner = maker.inputs[0]
        assert inner is not None
        return inner
    made: Value = r.op(ops.transpose, q, perm=_SWAP, before=node, name=f"{node.name}.rows")
    return made


def caches_read_in_place(program: Program) -> tuple[int, int]:
    """How many variables that grow are read where they lie, by `attention_cached` alone, and how many there are."""
    alone: dict[str, bool] = {}
    grows = {v.name for v in program.variables if v.length}
    for name in program.entries:
        f = program.functions[name]
        for position, variable in f.writes.items():
            if variable in grows:
                value = f.outputs[position]
                readers = [n for n in f.nodes if value in n.inputs]
                all_cached = all(n.op is ops.attention_cached for n in readers)
                alone[variable] = alone.get(variable, True) and all_cached
    return sum(alone.values()), len(grows)


PASS = Pass(
    "read_caches",
    "let attention read the rows of a cache where they lie, without copies or repeated heads",
    Shared(_run),
)
