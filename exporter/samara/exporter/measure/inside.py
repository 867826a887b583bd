# SPDX-License-Identifier: Apache-2.0
"""Functions inside a function: those of its `if`, `loop` and `call` nodes, with the path of nodes that
contain each and the sizes of its symbols there.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from samara.exporter import ops
from samara.exporter.ir import Function, Node, Program
from samara.exporter.types import Sym

# The names of function attributes in paths, if they differ from the attribute's name.
_ROLES = {"orelse": "else"}


@dataclass(frozen=True, slots=True)
class Inside:
    """A function that a run may enter.

    path: from the function that is run, pairs of a control node and one of its functions, as `If_0/then`,
    from the outside in; "" for the function that is run. If several nodes contain the function, the path is
    that of the first one, and `holders` is their number. sizes: of its symbols, if they are the same in
    every execution.
    """

    function: Function
    path: str
    holders: int
    sizes: Mapping[str, int]

    def place(self, node: str) -> str:
        """The path of one of its nodes."""
        return f"{self.path}/{node}" if self.path else node


def functions_inside(program: Program, name: str, sizes: Mapping[str, int]) -> dict[str, Inside]:
    """The function `name` and all functions that a run of it may enter, by name, outer before inner.

    sizes: of the symbols of its inputs.
    """
    found: dict[str, Inside] = {}
    paths: dict[str, list[str]] = defaultdict(list)
    given: dict[str, list[Mapping[str, int]]] = defaultdict(list)
    paths[name], given[name] = [""], [sizes]
    for f in _ordered(program, name):
        here = paths[f.name]
        inside = Inside(f, here[0], len(here), _agreed(given[f.name]))
        found[f.name] = inside
        for node in f.nodes:
            for role, callee in held(program, node):
                paths[callee.name].append(f"{inside.place(node.name)}/{role}")
                given[callee.name].append(sizes_inside(node, callee, inside.sizes))
    return found


def held(program: Program, node: Node) -> Iterator[tuple[str, Function]]:
    """The functions of a node, each with its role: then, else, body."""
    for attr in node.op.attrs:
        if attr.type == "function":
            yield _ROLES.get(attr.name, attr.name), program.functions[node.attrs[attr.name]]


def sizes_inside(node: Node, callee: Function, sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes of the callee's symbols, whose values come from the node's last inputs.

    A carried value whose shape the loop changes has no size that holds in all iterations.
    """
    found: dict[str, int] = {}
    for given, v in zip(reversed(node.inputs), reversed(callee.inputs), strict=False):
        if given is None or given.type.rank != v.type.rank:
            continue
        for outer, inner in zip(given.type.shape, v.type.shape, strict=True):
            atom = inner.sole_atom()
            if isinstance(atom, Sym) and outer.symbols() <= sizes.keys():
                with contextlib.suppress(KeyError, TypeError):
                    found.setdefault(atom.name, outer.evaluate(dict(sizes)))
    if node.op is ops.loop:
        # (i, condition, carried…, captured…) -> (condition, carried…, stacked…)
        for k in range(int(node.attrs["carried"])):
            before, after = callee.inputs[2 + k].type, callee.outputs[1 + k].type
            if before.shape != after.shape:
                found = {s: n for s, n in found.items() if s not in before.symbols()}
    return found


def _ordered(program: Program, name: str) -> list[Function]:
    """Functions ordered so that callers come before callees; the call graph has no cycle."""
    done: dict[str, Function] = {}

    def visit(f: Function) -> None:
        for node in reversed(f.nodes):
            for _, callee in reversed(list(held(program, node))):
                if callee.name not in done:
                    visit(callee)
        done[f.name] = f

    visit(program.functions[name])
    return list(reversed(done.values()))


def _agreed(every: list[Mapping[str, int]]) -> dict[str, int]:
    """The sizes that all of them have, with equal values."""
    first, *others = every
    return {s: n for s, n in first.items() if all(o.get(s) == n for o in others)}
