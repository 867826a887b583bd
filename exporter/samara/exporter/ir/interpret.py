# SPDX-License-Identifier: Apache-2.0
"""The numpy reference interpreter: runs a Program slowly, exactly as its operators are defined."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ir.accuracy import is_exact
from samara.exporter.ir.arguments import as_names
from samara.exporter.ir.evaluate import concrete_attrs, evaluate_node
from samara.exporter.ir.infer import data_atoms, function_atoms, read_constant, signature_of
from samara.exporter.ir.program import Array, Function, Node, Program, Value
from samara.exporter.ops import Body, Guard
from samara.exporter.types import (
    Born,
    Dim,
    LimitError,
    Read,
    SamaraError,
    ShapeError,
    Sym,
    UnknownNameError,
)
from samara.pybridge.feeds_and_results import as_array, named_feeds
from samara.pybridge.names import is_one_of

MAX_CALL_DEPTH = 32

# Called with each tensor of an execution, including its inputs; the result replaces the tensor.
Watch = Callable[[Value, Array], Array]
# Called at each execution of a function, including bodies; None: its tensors are not watched.
Observer = Callable[[Function], Watch | None]
# Computes a node from its arrays, its concrete attributes, and the current values of dims.
Evaluate = Callable[
    [Node, Sequence[Array | None], Mapping[str, Any], Callable[[Dim], int]], tuple[Array, ...]
]


def run(
    program: Program,
    feeds: Mapping[str, Any] | Sequence[Any] | Any = None,
    *,
    function: str | None = None,
    state: MutableMapping[str, Array] | None = None,
    keep: Iterable[str] | bool = (),
    observe: Observer | None = None,
    evaluate: Evaluate | None = None,
) -> dict[str, Array]:
    """Run an entry (default: the first); its outputs by name.

    feeds: every input that is not bound to a variable: {name: array}, or the arrays in order as a list or tuple,
    or the array of the only input. state: values of variables, updated in place; missing ones start with their
    initial value. keep: further tensors of the entry to return, True for all. observe: sees, and may replace, the
    tensors of executions. evaluate: computes the nodes; None means by the references.
    """
    name = program.entries[0] if function is None else function
    if not is_one_of(name, program.functions):
        raise UnknownNameError(
            f"there is no function '{name}'", fix=near(str(name), program.functions, "functions")
        )
    chosen = program.functions[name]
    inputs = [v for v in chosen.inputs if v.name not in chosen.reads]
    feeds = named_feeds(feeds, [v.name for v in inputs], inputs[0].type.rank if inputs else 0)
    variables = {} if state is None else state
    known = {v.name for v in inputs}
    for extra in feeds:
        if extra not in known:
            raise UnknownNameError(
                f"there is no input '{extra}'", fix=near(str(extra), known, "inputs")
            )
    arrays = [_fed(program, chosen, v, feeds, variables) for v in chosen.inputs]
    wanted = _wanted(chosen, keep)
    frame = _Frame(program, chosen, 0, wanted, observe, evaluate)
    results = frame.run(arrays)
    out = {}
    for i, array in enumerate(results):
        if i in chosen.writes:
            variables[chosen.writes[i]] = array
        else:
            out[chosen.output_names[i] if chosen.output_names else chosen.outputs[i].name] = array
    return {**frame.kept, **out}


def near(name: str, known: Iterable[str], what: str) -> str:
    """A fix that lists the known names most similar to `name`."""
    every = list(known)
    close = difflib.get_close_matches(name, every, n=5, cutoff=0.5)
    if close:
        return "did you mean " + ", ".join(f"'{c}'" for c in close) + "?"
    listed = ", ".join(f"'{c}'" for c in every[:10]) or "none"
    return f"the {what} are {listed}" + (" …" if len(every) > 10 else "")


def _wanted(function: Function, keep: Iterable[str] | bool) -> frozenset[str]:
    names = [v.name for v in function.values() if not v.is_constant]
    if isinstance(keep, bool):
        return frozenset(names if keep else ())
    absorbed = {a: n for n in function.nodes for a in n.absorbed}
    wanted = as_names(keep, "keep") or []
    for name in wanted:
        if name in absorbed and name not in names:
            node = absorbed[name]
            raise ShapeError(
                f"tensor '{name}' was fused into node '{node.name}'",
                fix=f"keep '{node.outputs[0].name}', or export with optimize=False",
            )
        if name not in names:
            raise UnknownNameError(f"there is no tensor '{name}'", fix=near(name, names, "tensors"))
    return frozenset(wanted)


def _fed(
    program: Program,
    function: Function,
    v: Value,
    feeds: Mapping[str, Any],
    state: Mapping[str, Array],
) -> Array:
    if v.name in function.reads:
        variable = program.variable(function.reads[v.name])
        return np.asarray(state.get(variable.name, variable.initial))
    if v.name not in feeds:
        missing = [u.name for u in function.inputs if u.name not in function.reads]
        raise ShapeError(
            f"input '{v.name}' is missing",
            fix=f"feed {', '.join(repr(m) for m in missing)}",
        )
    given = feeds[v.name]
    wanted = v.type.dtype.numpy
    # Python numbers and lists have no dtype: they take the input's.
    if isinstance(given, np.ndarray | np.generic):
        array = given
    else:
        array = as_array(given, f"input '{v.name}'")
        array = array.astype(wanted) if isinstance(given, (int, float, list, tuple)) else array
    if array.dtype != wanted:
        raise ShapeError(
            f"input '{v.name}' has dtype {array.dtype}, expected {wanted}",
            fix=f"convert it with .astype('{wanted}')",
        )
    return np.asarray(array)


class _Frame:
    """One execution of one function."""

    def __init__(
        self,
        program: Program,
        function: Function,
        depth: int,
        wanted: frozenset[str] = frozenset(),
        observe: Observer | None = None,
        evaluate: Evaluate | None = None,
    ) -> None:
        if depth > MAX_CALL_DEPTH:
            raise LimitError(f"calls nest deeper than {MAX_CALL_DEPTH}")
        self.program = program
        self.function = function
        self.depth = depth
        self.wanted = wanted
        self._observe = observe
        self._evaluate = evaluate
        self._watch = None if observe is None else observe(function)
        self.kept: dict[str, Array] = {}
        self.symbols: dict[str, int] = {}
        self.arrays: dict[Value, Array] = {}
        self._read: dict[Read, int] = {}
        self._born: dict[Born, int] = {}
        self._dims: dict[Dim, int] = {}
        plan = _plan(function)
        self._reads, self._borns, self._checks, self._last = plan

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Outputs for these inputs, in order."""
        self._bind(inputs)
        self._check(-1)
        for i, node in enumerate(self.function.nodes):
            self._execute(node)
            self._check(i)
            for v in self._last.get(i, ()):
                self.arrays.pop(v, None)
        return tuple(self._array(v) for v in self.function.outputs)

    def dim(self, dim: Dim) -> int:
        """The current value of a dim."""
        if dim.is_static:
            return dim.as_int()
        found = self._dims.get(dim)
        if found is None:
            found = dim.evaluate(self.symbols, self._atom)
            self._dims[dim] = found
        return found

    # ---- internals

    def _array(self, v: Value) -> Array:
        return self.arrays[v] if v.constant is None else v.constant

    def _store(self, v: Value, array: Array) -> None:
        if self._watch is not None:
            array = self._watch(v, array)
        self.arrays[v] = array
        if v.name in self.wanted:
            self.kept[v.name] = array
        for atom in self._reads.get(v.name, ()):
            if atom.index >= array.size:
                raise ShapeError(f"element {atom.index} of '{v.name}' does not exist")
            self._read[atom] = read_constant(array, atom.index)
        for atom in self._reads.get(v.name, ()):
            self._limit(atom, self._read[atom])

    def _limit(self, atom: Read | Born, value: int) -> None:
        bound = self.function.bounds.get(atom)
        if bound is None:
            return
        try:
            limit = self.dim(bound)
        except KeyError:
            return  # it depends on a node that has not run yet
        if value > limit:
            raise LimitError(f"{atom} is {value}, its bound is {limit}")

    def _bind(self, inputs: Sequence[Array]) -> None:
        for v, array in zip(self.function.inputs, inputs, strict=True):
            if array.ndim != v.type.rank:
                raise ShapeError(
                    f"input '{v.name}' has rank {array.ndim} (shape {list(array.shape)}),"
                    f" expected {v.type.rank}: {v.type}"
                )
            for d, n in zip(v.type.shape, array.shape, strict=True):
                atom = d.sole_atom()
                if isinstance(atom, Sym) and atom.name not in self.symbols:
                    self._bind_symbol(v, atom, n)
        for v, array in zip(self.function.inputs, inputs, strict=True):
            self._store(v, array)
        for v, array in zip(self.function.inputs, inputs, strict=True):
            self._check_shape(v, array, "input")

    def _bind_symbol(self, v: Value, atom: Sym, n: int) -> None:
        if n < atom.lower or (atom.upper is not None and n > atom.upper):
            top = "" if atom.upper is None else f" and at most {atom.upper}"
            raise ShapeError(
                f"input '{v.name}': {atom.name} is {n}, expected at least {atom.lower}{top}"
            )
        self.symbols[atom.name] = n

    def _check_shape(self, v: Value, array: Array, what: str) -> None:
        for axis, (d, n) in enumerate(zip(v.type.shape, array.shape, strict=True)):
            expected = self.dim(d)
            if expected != n:
                named = "" if d.is_static else f" ({d} = {expected})"
                raise ShapeError(
                    f"{what} '{v.name}' has shape {list(array.shape)}, expected {v.type}:"
                    f" axis {axis} is {n}, not {expected}{named}"
                )

    def _check(self, after: int) -> None:
        for guard in self._checks.get(after, ()):
            a, b = self.dim(guard.a), self.dim(guard.b)
            holds = {"eq": a == b, "le": a <= b, "lt": a < b}[guard.relation]
            if not holds:
                sign = {"eq": "==", "le": "<=", "lt": "<"}[guard.relation]
                # The user knows the name of a size, but perhaps not that of a tensor that is read.
                read = any(isinstance(x, Read) for d in (guard.a, guard.b) for x in d.all_atoms())
                why = f"{guard.a} {sign} {guard.b} does not hold: {a}, {b}"
                raise ShapeError(
                    f"{guard.message} ({f'needs {a} {sign} {b}' if read else why})",
                    node=guard.node or None,
                )

    def _atom(self, atom: Read | Born) -> int:
        return self._read[atom] if isinstance(atom, Read) else self._born[atom]

    def _execute(self, node: Node) -> None:
        try:
            attrs = concrete_attrs(node.op, node.attrs, self.dim, self._callee)
        except (ZeroDivisionError, OverflowError) as error:
            raise ShapeError(str(error), op=node.op.name, node=node.name) from error
        arrays = [None if v is None else self._array(v) for v in node.inputs]
        if self._evaluate is None:
            results = evaluate_node(node, arrays, attrs, exact=is_exact(self.program))
        else:
            results = self._evaluate(node, arrays, attrs, self.dim)
        for v, array in zip(node.outputs, results, strict=True):
            if array.dtype != v.type.dtype.numpy or array.ndim != v.type.rank:
                raise ShapeError(
                    f"computed {array.dtype}{list(array.shape)} for '{v.name}', declared {v.type}",
                    op=node.op.name,
                    node=node.name,
                )
        self._bear(node, results)
        for v, array in zip(node.outputs, results, strict=True):
            self._store(v, array)
        for v, array in zip(node.outputs, results, strict=True):
            try:
                self._check_shape(v, array, "tensor")
            except SamaraError as error:
                error.op, error.node = node.op.name, node.name
                raise

    def _bear(self, node: Node, results: Sequence[Array]) -> None:
        for atom in self._borns.get(node.outputs[0].name, ()) if node.outputs else ():
            if atom.output >= len(results) or atom.axis >= results[atom.output].ndim:
                raise ShapeError(f"{atom} does not exist", op=node.op.name, node=node.name)
            size = results[atom.output].shape[atom.axis]
            self._born[atom] = size
            self._limit(atom, size)

    def _callee(self, name: str) -> Body:
        target = self.program.functions[name]

        def call(*arrays: Any) -> tuple[Array, ...]:
            frame = _Frame(
                self.program, target, self.depth + 1, frozenset(), self._observe, self._evaluate
            )
            given = [np.asarray(a) for a in arrays]
            if len(given) != len(target.inputs):
                raise ShapeError(
                    f"function '{name}' takes {len(target.inputs)} inputs, got {len(given)}"
                )
            return frame.run(given)

        return Body(call, signature_of(self.program.functions)(name))


_Plan = tuple[
    dict[object, list[Read]],
    dict[object, list[Born]],
    dict[int, list[Guard]],
    dict[int, list[Value]],
]
_plans: dict[int, tuple[Function, _Plan]] = {}


def _plan(function: Function) -> _Plan:
    """The elements and dims to note, the guards to check after each node, and the values that die there.

    Cached for the latest functions, because a loop runs its body often.
    """
    found = _plans.get(id(function))
    if found is not None and found[0] is function:
        return found[1]
    reads: dict[object, list[Read]] = {}
    borns: dict[object, list[Born]] = {}
    for atom in function_atoms(function):
        if isinstance(atom, Read):
            reads.setdefault(atom.key, []).append(atom)
        else:
            borns.setdefault(atom.key, []).append(atom)
    made = {v.name: i for i, n in enumerate(function.nodes) for v in n.outputs}
    checks: dict[int, list[Guard]] = {}
    for guard in function.guards:
        after = [made.get(str(a.key), -1) for a in data_atoms((guard.a, guard.b))]
        checks.setdefault(max(after, default=-1), []).append(guard)
    last: dict[Value, int] = {}
    for i, n in enumerate(function.nodes):
        for v in (*n.inputs, *n.outputs):
            if v is not None:
                last[v] = i
    for v in function.outputs:
        last.pop(v, None)
    dies: dict[int, list[Value]] = {}
    for v, i in last.items():
        dies.setdefault(i, []).append(v)
    if len(_plans) >= 64:
        _plans.clear()
    plan = (reads, borns, checks, dies)
    _plans[id(function)] = (function, plan)
    return plan
