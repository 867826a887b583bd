# SPDX-License-Identifier: Apache-2.0
"""Rewrites a function: each branch, loop and operator becomes a call of a function of runtime.py."""

from __future__ import annotations

import ast
import copy
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from samara.exporter.frontend.script import liveness
from samara.exporter.frontend.script.jumps import STOPS, lower_jumps, own_nodes
from samara.exporter.frontend.script.liveness import LIVE, stored
from samara.exporter.frontend.script.source import RUNTIME, Definition, parameters

_N = TypeVar("_N", bound=ast.AST)
_COMPARED = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_ARITHMETIC = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
}


def rewrite(node: Definition) -> Definition:
    """Rewrite the definition in place to call the runtime. Line numbers do not change."""
    rewriter = _Rewriter()
    if isinstance(node, ast.Lambda):
        return cast(ast.Lambda, rewriter.visit(node))
    return rewriter.function(node)


def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line of a `yield` or `await` of the function itself; 0 if it has none."""
    for n in own_nodes(node.body):
        if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return n.lineno
    return 0


@dataclass(slots=True)
class _Scope:
    """The names of one function."""

    bound: set[str]  # parameters and variables
    maybe: set[str] = field(default_factory=set)  # variables that may be unbound
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal
    globals: set[str] = field(default_factory=set)
    first: str = ""  # the first parameter


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.scopes: list[_Scope] = []
        self.count = itertools.count(1)
        self.caught = 0  # number of enclosing `try … except`
        self.pending: list[ast.stmt] | None = None  # definitions to insert before this statement

    # ---- functions

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrite the body. Decorators, defaults and annotations belong to the enclosing scope."""
        if is_generator(node):
            return node
        scope = _Scope(set(parameters(node.args)))
        for n in own_nodes(node.body):
            if isinstance(n, (ast.Global, ast.Nonlocal)):
                scope.outer |= set(n.names)
            if isinstance(n, ast.Global):
                scope.globals |= set(n.names)
        positional = [*node.args.posonlyargs, *node.args.args]
        scope.first = positional[0].arg if positional else ""
        lower_jumps(node)
        liveness.annotate(node, scope.outer)
        # A name that is bound inside one of these may have no value afterwards.
        kinds = (ast.If, ast.While, ast.For, ast.BoolOp, ast.IfExp)
        inside = [n for n in own_nodes(node.body) if isinstance(n, kinds)]
        scope.maybe = set(stored(inside)) - scope.bound - scope.outer
        scope.bound |= set(stored(node.body)) - scope.outer
        caught, self.caught = self.caught, 0
        self.scopes.append(scope)
        body = self.block(node.body)
        self.scopes.pop()
        self.caught = caught
        declared = [s for s in body if isinstance(s, (ast.Global, ast.Nonlocal))]
        rest = [s for s in body if not isinstance(s, (ast.Global, ast.Nonlocal))]
        text = isinstance(rest[0], ast.Expr) and isinstance(rest[0].value, ast.Constant)
        doc, rest = (rest[:1], rest[1:]) if rest and text else ([], rest)
        unbound = [
            _at(ast.Assign([_store(n)], _runtime("unbound", ast.Constant(n))), node)
            for n in sorted(scope.maybe)
        ]
        node.body = [*doc, *declared, *unbound, *rest] or [_at(ast.Pass(), node)]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        return self.function(node)

    def visit_ClassDef(self, node: ast.ClassDef | ast.AsyncFunctionDef) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        self.scopes.append(_Scope(set(parameters(node.args))))
        node.body = self.inner(lambda: self.visit(node.body))
        self.scopes.pop()
        return node

    def inner(self, visit: Callable[[], Any]) -> Any:
        """Call `visit` where there is no statement to insert definitions before."""
        around, self.pending = self.pending, None
        got = visit()
        self.pending = around
        return got

    def thunk(self, node: ast.expr) -> ast.expr | None:
        """An operand as a lambda, computed on demand. One with a walrus becomes a function that binds
        variables; None if there is no statement to insert that function before."""
        if not _binds(node):
            return _lambda(self.visit(node))
        if self.pending is None:
            return None
        k = next(self.count)
        names = [n for n in stored([node]) if n not in self.scopes[-1].outer]
        value = _at(ast.Return(node), node)
        made = self.region(f"_samara_operand_{k}", [value], node)
        self.pending += [made, *self.accessors(k, names, node)]
        state = self.state(k, [True] * len(names))
        return _at(_runtime("binding", _load(made.name), state), node)

    # ---- statements

    def block(self, stmts: Iterable[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        around = self.pending
        for s in stmts:
            self.pending = []
            got = self.visit(s)
            out += self.pending
            out += got if isinstance(got, list) else [] if got is None else [got]
        self.pending = around
        return out

    def visit_If(self, node: ast.If) -> Any:
        k, names, live = self.variables(node)
        source = _written(node.test)
        test = self.visit(node.test)
        then = self.region(f"_samara_then_{k}", node.body, node)
        orelse = self.region(f"_samara_else_{k}", node.orelse, node)
        sides = (_load(then.name), _load(orelse.name))
        call = _runtime("if_", test, *sides, self.state(k, live), source)
        return [then, orelse, *self.accessors(k, names, node), self.call(call, node)]

    def visit_While(self, node: ast.While) -> Any:
        k, names, live = self.variables(node)
        again = ast.Return(node.test)
        test = self.region(f"_samara_test_{k}", [_at(again, node.test)], node)
        body = self.region(f"_samara_body_{k}", node.body, node)
        parts = (_load(test.name), _load(body.name), self.stops(node))
        call = _runtime("while_", *parts, self.state(k, live))
        return [test, body, *self.accessors(k, names, node), self.call(call, node)]

    def visit_For(self, node: ast.For) -> Any:
        k, names, live = self.variables(node)
        items = self.visit(node.iter)
        item = ast.Assign([node.target], _load("_samara_item"))
        target = self.region(f"_samara_target_{k}", [_at(item, node.target)], node)
        target.args.args = [ast.arg("_samara_item")]
        body = self.region(f"_samara_body_{k}", node.body, node)
        parts = (_load(target.name), _load(body.name), self.stops(node))
        call = _runtime("for_", items, *parts, self.state(k, live))
        return [_at(target, node), body, *self.accessors(k, names, node), self.call(call, node)]

    def variables(self, node: ast.If | ast.While | ast.For) -> tuple[int, list[str], list[bool]]:
        """A number for the statement; the variables that it may bind, and whether each is live."""
        names = [n for n in stored([node]) if n not in self.scopes[-1].outer]
        live = getattr(node, LIVE)
        return next(self.count), names, [n in live for n in names]

    def region(self, name: str, stmts: Sequence[ast.stmt], at: ast.AST) -> ast.FunctionDef:
        """The statements as a nested function that binds the variables of the enclosing function."""
        # Visiting turns walruses into functions, so the stores are collected before.
        names = stored(stmts)
        body = [*self.declare(names), *self.block(stmts)]
        return _at(_def(name, body or [ast.Pass()]), at)

    def declare(self, names: Iterable[str]) -> list[ast.stmt]:
        top = self.scopes[-1].globals
        out: list[ast.stmt] = []
        if shared := [n for n in names if n in top]:
            out.append(ast.Global(shared))
        if own := [n for n in names if n not in top]:
            out.append(ast.Nonlocal(own))
        return out

    def accessors(self, k: int, names: Sequence[str], at: ast.AST) -> list[ast.stmt]:
        """Definitions of `get`, `set` and the names of the variables."""
        values = ast.Tuple([_load(n) for n in names], ast.Load())
        get = _def(f"_samara_get_{k}", [ast.Return(values)])
        stores: list[ast.stmt] = [ast.Pass()]
        if names:
            targets = ast.Tuple([_store(n) for n in names], ast.Store())
            stores = [*self.declare(names), ast.Assign([targets], _load("_samara_values"))]
        set_ = _def(f"_samara_set_{k}", stores)
        set_.args.args = [ast.arg("_samara_values")]
        told = ast.Assign(
            [_store(f"_samara_names_{k}")],
            ast.Tuple([ast.Constant(n) for n in names], ast.Load()),
        )
        return [_at(s, at) for s in (get, set_, told)]

    def state(self, k: int, live: Sequence[bool]) -> ast.expr:
        """The State of the statement with number `k`."""
        return _runtime(
            "State",
            _load(f"_samara_get_{k}"),
            _load(f"_samara_set_{k}"),
            _load(f"_samara_names_{k}"),
            ast.Tuple([ast.Constant(v) for v in live], ast.Load()),
            ast.Constant(self.caught > 0),
        )

    def stops(self, node: ast.While | ast.For) -> ast.expr:
        """A lambda that reads the flags that end the loop."""
        flags = [cast(ast.expr, _load(n)) for n in getattr(node, STOPS)]
        return _lambda(ast.Tuple(flags, ast.Load()))

    def call(self, call: ast.expr, at: ast.AST) -> ast.stmt:
        return _at(ast.Expr(call), at)

    def visit_Try(self, node: ast.Try) -> Any:
        if node.handlers:
            self.caught += 1
        node.body = self.block(node.body)
        if node.handlers:
            self.caught -= 1
        for handler in node.handlers:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = self.block(handler.body)
        node.orelse = self.block(node.orelse)
        node.finalbody = self.block(node.finalbody)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.guard = case.guard and self.visit(case.guard)
            case.body = self.block(case.body)
        return node

    def visit_With(self, node: ast.With) -> Any:
        node.items = [self.visit(i) for i in node.items]
        node.body = self.block(node.body)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        source = ast.Constant(None if node.msg is None else ast.unparse(node.msg))
        tested = _written(node.test)
        said = ast.Constant(None) if node.msg is None else self.visit(node.msg)
        test = self.visit(node.test)
        return self.call(_runtime("assert_", test, _lambda(said), source, tested), node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        cause = ast.Constant(None) if node.cause is None else self.visit(node.cause)
        return self.call(_runtime("raise_", self.visit(node.exc), cause), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        node.targets = [self.visit(t) for t in node.targets]
        return [*self.touches(node.targets, node), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        node.value = self.visit(node.value)
        touched = self.touches([node.target], node)
        if isinstance(node.target, ast.Name):
            read = self.visit(_at(_load(node.target.id), node))
            touched.append(self.call(_runtime("touch_item", read), node))
        node.target = self.visit(node.target)
        return [*touched, node]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return None
        return self.visit(_at(ast.Assign([node.target], node.value), node))

    def visit_Delete(self, node: ast.Delete) -> Any:
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.scopes[-1].maybe:
                gone = _runtime("unbound", ast.Constant(target.id))
                out.append(_at(ast.Assign([_store(target.id)], gone), node))
            else:
                out += self.touches([target], node)
                out.append(_at(ast.Delete([self.visit(target)]), node))
        return out

    def touches(self, targets: Iterable[ast.expr], at: ast.AST) -> list[ast.stmt]:
        """Calls that announce what an assignment is about to change."""
        out: list[ast.stmt] = []
        for t in targets:
            if isinstance(t, (ast.Tuple, ast.List)):
                out += self.touches(t.elts, at)
            elif isinstance(t, ast.Starred):
                out += self.touches([t.value], at)
            elif isinstance(t, ast.Subscript):
                out.append(self.call(_runtime("touch_item", copy.deepcopy(t.value)), at))
            elif isinstance(t, ast.Attribute):
                touch = _runtime("touch_attribute", copy.deepcopy(t.value), ast.Constant(t.attr))
                out.append(self.call(touch, at))
            elif isinstance(t, ast.Name) and t.id in self.scopes[-1].outer:
                out.append(self.call(_runtime("touch_outer", ast.Constant(t.id)), at))
        return out

    # ---- expressions

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id.startswith("_samara_"):
            return node
        for scope in reversed(self.scopes):
            if node.id in scope.maybe:
                return _at(_runtime("use", node), node)
            if node.id in scope.bound or node.id in scope.outer:
                return node
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        sources = [ast.Constant(ast.unparse(a)) for a in node.args]
        args = [self.visit(a) for a in node.args]
        keywords = [self.visit(k) for k in node.keywords]
        f = node.func
        if isinstance(f, ast.Name) and f.id in ("super", "locals", "globals", "vars"):
            if f.id == "super" and not args:
                first = next(s.first for s in reversed(self.scopes) if s.first)
                args = [_at(_load(n), node) for n in ("__class__", first)]
            return ast.copy_location(ast.Call(f, args, keywords), node)
        if isinstance(f, ast.Name) or (isinstance(f, ast.Attribute) and f.attr == "format"):
            known = [] if any(isinstance(a, ast.Starred) for a in node.args) else sources
            words = ast.Tuple(list(known), ast.Load())
            call = _runtime("call_said", words, self.visit(f), *args, keywords=keywords)
            return _at(call, node)
        return _at(_runtime("call", self.visit(f), *args, keywords=keywords), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Subscript(value, self.visit(node.slice), node.ctx), node)
        index = _index(self.visit(node.slice))
        return _at(_runtime("item", value, index), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if self.pending is None and (_binds(node.body) or _binds(node.orelse)):
            return self.generic_visit(node)
        source = _written(node.test)
        test, body, orelse = self.visit(node.test), self.thunk(node.body), self.thunk(node.orelse)
        assert body is not None
        assert orelse is not None
        return _at(_runtime("choose", test, body, orelse, source), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if self.pending is None and any(_binds(v) for v in node.values[1:]):
            return self.generic_visit(node)
        first, *rest = self.visit(node.values[0]), *map(self.thunk, node.values[1:])
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return _at(_runtime(name, first, *(v for v in rest if v is not None)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return _at(_runtime("not_", operand), node)
        node.operand = operand
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        sources = _sources(node.right) if isinstance(node.op, ast.Mod) else None
        left, right = self.visit(node.left), self.visit(node.right)
        if type(node.op) in _ARITHMETIC:
            name = ast.Constant(_ARITHMETIC[type(node.op)])
            more = [] if sources is None else [sources]
            return _at(_runtime("arithmetic", name, left, right, *more), node)
        node.left, node.right = left, right
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if any(type(op) not in _COMPARED for op in node.ops) or any(
            _binds(c) for c in node.comparators[1:]
        ):
            return self.generic_visit(node)
        left, first, *rest = (self.visit(n) for n in (node.left, *node.comparators))
        kinds = [ast.Constant(_COMPARED[type(op)]) for op in node.ops]
        if not rest:
            return _at(_runtime("compare", kinds[0], left, first), node)
        names = ast.Tuple(list(kinds), ast.Load())
        call = _runtime("compare_chain", names, left, first, *(_lambda(v) for v in rest))
        return _at(call, node)

    def visit_List(self, node: ast.List) -> Any:
        node.elts = [self.visit(e) for e in node.elts]
        return node if not isinstance(node.ctx, ast.Load) else self.made(node)

    def made(self, node: ast.expr) -> ast.expr:
        """Tell the tracer that the traced code made this list or dict."""
        return _at(_runtime("made", node), node)

    def visit_ListComp(self, node: ast.ListComp | ast.DictComp) -> Any:
        return self.made(self.inner(lambda: self.generic_visit(node)))

    visit_DictComp = visit_ListComp

    def visit_SetComp(self, node: ast.SetComp | ast.GeneratorExp) -> Any:
        return self.inner(lambda: self.generic_visit(node))

    visit_GeneratorExp = visit_SetComp

    def visit_Dict(self, node: ast.Dict) -> Any:
        return self.made(cast(ast.expr, self.generic_visit(node)))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        pieces: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                source = ast.Constant(ast.unparse(part.value))
                value, kind = self.visit(part.value), ast.Constant(part.conversion)
                spec = [] if part.format_spec is None else [self.visit(part.format_spec)]
                part = _runtime("piece", value, source, kind, *spec)
            pieces.append(part)
        return _at(_runtime("joined", *pieces), node)


# ---- making nodes


def _def(name: str, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    more: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
    return ast.FunctionDef(name, none, list(body), [], None, None, **more)


def _lambda(body: ast.expr) -> ast.expr:
    none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(none, body)


def _runtime(name: str, *args: ast.expr, keywords: Sequence[ast.keyword] = ()) -> ast.expr:
    function = ast.Attribute(_load(RUNTIME), name, ast.Load())
    return ast.Call(function, list(args), list(keywords))


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression, with slices as calls."""
    if isinstance(node, ast.Slice):
        parts = [
            ast.Constant(None) if p is None else p for p in (node.lower, node.upper, node.step)
        ]
        return ast.copy_location(_runtime("slice", *parts), node)
    if isinstance(node, ast.Tuple):
        node.elts = [_index(e) for e in node.elts]
    return node


def _written(test: ast.expr) -> ast.expr:
    """A condition as the user wrote it; None for a condition that the rewriter made."""
    text = ast.unparse(test)
    return ast.Constant(None if "_samara_" in text else text)


def _sources(node: ast.expr) -> ast.expr:
    """The source text of the operands of `text % node`."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([ast.Constant(ast.unparse(e)) for e in node.elts], ast.Load())
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [copy.deepcopy(k) for k in node.keys]
        values: list[ast.expr] = [ast.Constant(ast.unparse(v)) for v in node.values]
        return (
            ast.Dict(keys, values)
            if all(isinstance(k, ast.Constant) for k in keys)
            else ast.Constant(None)
        )
    return ast.Constant(ast.unparse(node))


def _at(node: _N, like: ast.AST) -> _N:
    """Put everything new in `node` at the first line of `like`.

    Not at its full range: Python attributes a method call to the line on which its name ends.
    """
    line, column = like.lineno, like.col_offset  # type: ignore[attr-defined]
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            n.lineno = n.end_lineno = line  # type: ignore[attr-defined]
            n.col_offset = n.end_col_offset = column  # type: ignore[attr-defined]
    return node


def _binds(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))
