# SPDX-License-Identifier: Apache-2.0
"""Liveness: which variables are read after a statement. A branch or loop outputs only those."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from samara.exporter.frontend.script.jumps import SCOPES, STOPS

# Attribute of `if` statements: the names that are read after them; of loops: those read at the loop's head.
LIVE: Final = "samara_live"

Names = frozenset[str]


def annotate(function: ast.FunctionDef, always: Iterable[str] = ()) -> None:
    """Set LIVE on every `if` and loop of a function without jumps.

    `always` names variables that other code may read at any time. Names read in nested functions
    are added to them.
    """
    nested = frozenset(
        name
        for s in function.body
        for n in ast.walk(s)
        if isinstance(n, SCOPES)
        for name in _loads(n)
    )
    _Liveness(nested | frozenset(always)).block(function.body, frozenset())


def stored(nodes: Iterable[ast.AST]) -> list[str]:
    """The variables that statements bind, in order of appearance, without those of inner scopes."""
    found: dict[str, None] = {}
    for node in nodes:
        _collect_stores(node, found)
    return list(found)


def _collect_stores(node: ast.AST, found: dict[str, None]) -> None:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            found[node.id] = None
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        found[node.name] = None
        return
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for n in ast.walk(node):
            if isinstance(n, ast.NamedExpr):
                found[n.target.id] = None
        return
    if isinstance(node, ast.alias):
        found[(node.asname or node.name).partition(".")[0]] = None
    if isinstance(node, ast.ExceptHandler) and node.name:
        found[node.name] = None
    if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        found[node.name] = None
    if isinstance(node, ast.MatchMapping) and node.rest:
        found[node.rest] = None
    for child in ast.iter_child_nodes(node):
        _collect_stores(child, found)


def _loads(node: ast.AST | None) -> Names:
    if node is None:
        return frozenset()
    return frozenset(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )


class _Liveness:
    """Walks backwards over statements without jumps."""

    def __init__(self, always: Names) -> None:
        self.always = always

    def block(self, stmts: Sequence[ast.stmt], after: Names) -> Names:
        for s in reversed(stmts):
            after = self.statement(s, after)
        return after

    def statement(self, s: ast.stmt, after: Names) -> Names:
        """The names that are live before the statement."""
        if isinstance(s, ast.If):
            setattr(s, LIVE, after | self.always)
            return self.block(s.body, after) | self.block(s.orelse, after) | _loads(s.test)
        if isinstance(s, (ast.While, ast.For)):
            return self.loop(s, after)
        if isinstance(s, ast.With):
            inside = self.block(s.body, after)
            return inside | frozenset().union(*(_loads(i) for i in s.items))
        if isinstance(s, (ast.Try, ast.Match)):
            # Any part may run next, so a name that one part reads is live before and in all of them.
            everything = after | _loads(s)
            for part in _blocks(s):
                self.block(part, everything)
            return everything
        if isinstance(s, ast.AugAssign):
            return after | _loads(s) | frozenset(stored([s]))
        if isinstance(s, SCOPES):
            return after | _loads(s)
        return (after - frozenset(stored([s]))) | _loads(s)

    def loop(self, s: ast.While | ast.For, after: Names) -> Names:
        own = _loads(s.test) if isinstance(s, ast.While) else frozenset()
        stops = frozenset(getattr(s, STOPS, ()))
        target = frozenset(stored([s.target])) if isinstance(s, ast.For) else frozenset()
        head = after | own | stops
        while True:
            # The body of a `for` begins by binding its target.
            before = head | (self.block(s.body, head) - target)
            if before == head:
                break
            head = before
        setattr(s, LIVE, head | self.always)
        return head | (_loads(s.iter) if isinstance(s, ast.For) else frozenset())


def _blocks(s: ast.Try | ast.Match) -> list[list[ast.stmt]]:
    if isinstance(s, ast.Match):
        return [c.body for c in s.cases]
    return [s.body, *(h.body for h in s.handlers), s.orelse, s.finalbody]
