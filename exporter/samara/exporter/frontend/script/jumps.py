# SPDX-License-Identifier: Apache-2.0
"""Replaces `break`, `continue` and early `return` by flags and statements that test them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

RETURNED: Final = "_samara_returned"
RESULT: Final = "_samara_result"
# Attribute of a rewritten loop: the flags that end it before its test is evaluated again.
STOPS: Final = "samara_stops"

# Nodes that open a scope of their own.
SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class _Loop:
    """Names of the flags of the loop around a statement."""

    broken: str
    skipped: str


def lower_jumps(function: ast.FunctionDef) -> None:
    """Rewrite the body so that its only `return` is its last statement, and no loop has jumps.

    The attribute STOPS of each loop names the flags that may end it early.
    """
    function.body = _Lowering(function).body()


class _Lowering:
    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        self.count = itertools.count(1)
        self.tail = function.body[-1]
        returns = [s for s in own_nodes(function.body) if isinstance(s, ast.Return)]
        self.returns = bool(returns) and returns != [self.tail]

    def body(self) -> list[ast.stmt]:
        stmts = self.function.body
        if not self.returns:
            return self.block(stmts, None)
        if not _ends(stmts):
            stmts = [*stmts, ast.copy_location(ast.Return(ast.Constant(None)), self.tail)]
        first, last = stmts[0], self.tail
        got = ast.Return(ast.Name(RESULT, ast.Load()))
        return [
            _assign(RETURNED, False, first),
            *self.block(stmts, None),
            _at(got, last),
        ]

    def block(self, stmts: Sequence[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, s in enumerate(stmts):
            rest = stmts[k + 1 :]
            if isinstance(s, ast.Return) and self.returns:
                value = ast.Constant(None) if s.value is None else s.value
                out.append(_at(ast.Assign([ast.Name(RESULT, ast.Store())], value), s))
                out.append(_assign(RETURNED, True, s))
                return out
            if isinstance(s, (ast.Break, ast.Continue)) and loop is not None:
                flag = loop.broken if isinstance(s, ast.Break) else loop.skipped
                out.append(_assign(flag, True, s))
                return out
            flags = self.flags(s, loop)
            if isinstance(s, ast.If) and flags and rest:
                if _ends(s.body) and _ends(s.orelse):
                    rest = []
                elif _ends(s.body):
                    s.orelse, rest = [*s.orelse, *rest], []
                elif _ends(s.orelse):
                    s.body, rest = [*s.body, *rest], []
            out += self.statement(s, loop)
            if isinstance(s, ast.Raise):
                return out
            if flags and rest:
                guarded = self.block(rest, loop)
                out.append(_at(ast.If(_none_of(flags), guarded, []), rest[0]))
                return out
            if not rest and k + 1 < len(stmts):
                return out
        return out

    def statement(self, s: ast.stmt, loop: _Loop | None) -> list[ast.stmt]:
        """The statement with its parts lowered, and the statements before and after it."""
        if isinstance(s, (ast.While, ast.For)):
            return self.loop(s, loop)
        if isinstance(s, SCOPES):
            return [s]
        for field in ("body", "orelse", "finalbody"):
            part = getattr(s, field, None)
            if isinstance(part, list) and part:
                setattr(s, field, self.block(part, loop))
        for clause in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            clause.body = self.block(clause.body, loop)
        return [s]

    def loop(self, s: ast.While | ast.For, outer: _Loop | None) -> list[ast.stmt]:
        k = next(self.count)
        own = _Loop(f"_samara_broken_{k}", f"_samara_skipped_{k}")
        jumps = {type(j) for j in _jumps(s.body)}
        out: list[ast.stmt] = []
        stops = []
        if ast.Break in jumps:
            stops.append(own.broken)
            out.append(_assign(own.broken, False, s))
        if self.returns and any(isinstance(j, ast.Return) for j in own_nodes(s.body)):
            stops.append(RETURNED)
        orelse, s.orelse = s.orelse, []
        s.body = self.block(s.body, own)
        if ast.Continue in jumps:
            s.body.insert(0, _assign(own.skipped, False, s.body[0]))
        setattr(s, STOPS, tuple(stops))
        out.append(s)
        if orelse:
            rest = self.block(orelse, outer)
            out += [_at(ast.If(_none_of(stops), rest, []), orelse[0])] if stops else rest
        return out

    def flags(self, s: ast.stmt, loop: _Loop | None) -> list[str]:
        """The flags that a statement may set. The rest of the block must not run once one is set."""
        if isinstance(s, SCOPES):
            return []
        found = []
        if self.returns and any(isinstance(j, ast.Return) for j in own_nodes([s])):
            found.append(RETURNED)
        if loop is not None:
            kinds = {type(j) for j in _jumps([s])}
            found += [loop.broken] if ast.Break in kinds else []
            found += [loop.skipped] if ast.Continue in kinds else []
        return found


def _ends(stmts: Sequence[ast.stmt]) -> bool:
    """Whether control never gets past these statements."""
    if not stmts:
        return False
    last = stmts[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return True
    if isinstance(last, ast.With):
        return _ends(last.body)
    return isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse)


def own_nodes(stmts: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Every node of the statements, without the insides of nested functions and classes."""
    for s in stmts:
        yield s
        if not isinstance(s, SCOPES):
            yield from own_nodes(list(ast.iter_child_nodes(s)))


def _jumps(stmts: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The `break` and `continue` statements that belong to the loop around the statements."""
    for s in stmts:
        if isinstance(s, (ast.Break, ast.Continue)):
            yield s
        elif isinstance(s, (ast.For, ast.While)):
            yield from _jumps(s.orelse)
        elif not isinstance(s, SCOPES):
            yield from _jumps(list(ast.iter_child_nodes(s)))


def _none_of(flags: Sequence[str]) -> ast.expr:
    """`not a`, or `not (a or b)`."""
    names: list[ast.expr] = [ast.Name(f, ast.Load()) for f in flags]
    return ast.UnaryOp(ast.Not(), names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), names))


def _assign(name: str, value: bool, at: ast.AST) -> ast.stmt:
    return _at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), at)


def _at(node: ast.stmt, like: ast.AST) -> ast.stmt:
    """Give the statement, and every new node in it, the position of another."""
    for n in ast.walk(node):
        if isinstance(n, (ast.expr, ast.stmt)) and not hasattr(n, "lineno"):
            ast.copy_location(n, like)
    return node
