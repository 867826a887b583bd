# SPDX-License-Identifier: Apache-2.0
"""Reorder nodes if another order needs a smaller arena.

A model of the plan proposes an order (_liveness, _order), and the runtime's own planner decides: the order
is taken only if the arena shrinks for some instruction set and number of threads, and grows for none.
"""

from __future__ import annotations

import math
from dataclasses import replace

from samara.exporter import ops
from samara.exporter.ir import verify
from samara.exporter.ir.constant_layout import ConstantLayouts
from samara.exporter.ir.file_assemble import in_memory
from samara.exporter.ir.file_write import rows_of
from samara.exporter.ir.infer import attr_dims, data_atoms
from samara.exporter.ir.program import Function, Node, Program, Value
from samara.exporter.passes._liveness import lives_of
from samara.exporter.passes._order import lower_order
from samara.exporter.passes._pass import Pass
from samara.exporter.types import Born, Read, SamaraError
from samara.pybridge.memory_use import CountedModel, instruction_sets

_THREADS = (1, 2, 4)


def _run(program: Program) -> Program:
    effects = _with_effects(program)
    before: list[int] | None = None
    layouts: ConstantLayouts | None = None
    for f in list(program.functions.values()):
        order = _proposal(program, f, effects)
        if order is None:
            continue
        candidate = program.with_function(replace(f, nodes=tuple(f.nodes[n] for n in order)))
        verify(candidate)
        if layouts is None:
            layouts = ConstantLayouts(program, math.inf)
        try:
            before = _arenas(program, layouts) if before is None else before
            after = _arenas(candidate, layouts)
        except SamaraError:  # it cannot be planned here, so the author's order stays
            return program
        if after < before and all(a <= b for a, b in zip(after, before, strict=True)):
            program, before = candidate, after
    return program


def _proposal(program: Program, f: Function, effects: set[str]) -> list[int] | None:
    if len(f.nodes) < 3:
        return None
    lives = lives_of(f, is_entry=f.name in program.entries)
    if lives is None:
        return None
    return lower_order(lives, _needs(f, effects), _fences(f))


def _arenas(program: Program, layouts: ConstantLayouts) -> list[int]:
    """The arena that the runtime plans for every entry, instruction set and number of threads."""
    data = in_memory(*rows_of(program, layouts=layouts))
    found = []
    with CountedModel(data, trusted=True) as model:
        for isa in instruction_sets():
            for name in program.entries:
                for threads in _THREADS:
                    counted = model.session(function=name, threads=threads, isa=isa)
                    found.append(counted.arena_bytes)
    return found


def _with_effects(program: Program) -> set[str]:
    """Functions that may stop a run or call foreign code, directly or in functions that they call."""
    found: set[str] = set()
    changed = True
    while changed:
        size = len(found)
        for f in program.functions.values():
            if any(_has_effect(n, found) for n in f.nodes):
                found.add(f.name)
        changed = len(found) > size
    return found


def _has_effect(n: Node, effects: set[str]) -> bool:
    if n.op in (ops.trap, ops.custom):
        return True
    return any(a.type == "function" and n.attrs[a.name] in effects for a in n.op.attrs)


def _needs(f: Function, effects: set[str]) -> list[int]:
    """For each node the nodes that must run before it, as bits: the makers of its inputs, and for a node with
    effects the previous one with effects.
    """
    maker: dict[Value, int] = {}
    found, last = [], 0
    for i, n in enumerate(f.nodes):
        bits = 0
        for v in n.inputs:
            if v in maker:
                bits |= 1 << maker[v]
        if _has_effect(n, effects):
            bits |= last
            last = 1 << i
        found.append(bits)
        for v in n.outputs:
            maker[v] = i
    return found


def _fences(f: Function) -> set[int]:
    """Nodes that are the first to need a dim that is known only after a node has run; a new stage begins there
    at the latest.
    """
    known: set[Read | Born] = set()
    found = set()
    for i, n in enumerate(f.nodes):
        dims = attr_dims(n.op, n.attrs)
        for v in (*n.inputs, *n.outputs):
            if v is not None and not v.type.is_static:
                dims += v.type.shape
        late = data_atoms(dims)
        if not late <= known:
            found.add(i)
        known |= late
    return found


PASS = Pass("reorder", "order nodes so that the arena is smaller, where one is", _run)
