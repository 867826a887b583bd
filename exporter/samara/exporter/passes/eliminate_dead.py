# SPDX-License-Identifier: Apache-2.0
"""Dead code: nodes that no output needs, and functions that nobody calls."""

from __future__ import annotations

from dataclasses import replace

from samara.exporter.ir.program import Program
from samara.exporter.ir.rewriter import Rewriter, Rewriters
from samara.exporter.passes._pass import Pass, Shared, per_function


def _rewrite(r: Rewriter) -> None:
    for node in reversed(r.dead()):
        r.remove(node)


def _run(program: Program, rewriters: Rewriters) -> Program:
    program = _without_dead(program, rewriters)
    reached = _reached(program)
    if len(reached) == len(program.functions):
        return program
    return replace(program, functions={k: f for k, f in program.functions.items() if k in reached})


_without_dead = per_function(_rewrite)


def _reached(program: Program) -> set[str]:
    reached: set[str] = set()
    stack = list(program.entries)
    while stack:
        name = stack.pop()
        if name in reached:
            continue
        reached.add(name)
        for node in program.functions[name].nodes:
            stack += [node.attrs[a.name] for a in node.op.attrs if a.type == "function"]
    return reached


PASS = Pass("eliminate_dead", "drop nodes and functions that no output needs", Shared(_run))
