# SPDX-License-Identifier: Apache-2.0
"""Dead code: nodes that no output needs, and functions that nobody calls."""

from __future__ import annotations

from dataclasses import replace

from samara.exporter.ir.program import Function, Node, Program
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass


def _run(program: Program) -> Program:
    for function in list(program.functions.values()):
        dead = _dead_nodes(function)
        if not dead:
            continue
        rewriter = Rewriter(function, program)
        for node in reversed(dead):
            rewriter.remove(node)
        program = program.with_function(rewriter.finish())
    reached = _reached(program)
    if len(reached) == len(program.functions):
        return program
    return replace(program, functions={k: f for k, f in program.functions.items() if k in reached})


def _dead_nodes(function: Function) -> list[Node]:
    """Nodes that no output and no dim in use needs, in order."""
    finished = Rewriter(function)
    finished.set_outputs(function.outputs)
    live = {v.name for n in finished.finish().nodes for v in n.outputs}
    return [n for n in function.nodes if not any(v.name in live for v in n.outputs)]


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


PASS = Pass("eliminate_dead", "drop nodes and functions that no output needs", _run)
