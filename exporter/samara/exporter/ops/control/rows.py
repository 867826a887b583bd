# SPDX-License-Identifier: Apache-2.0
"""Control flow and traps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from samara.exporter.ops.autodiff import NO_GRAD, GradContext, Rule
from samara.exporter.ops.facts import Facts, Kind
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.shape_rules import require_dtype, require_rank
from samara.exporter.ops.spec import (
    Attr,
    Body,
    Case,
    Cost,
    InferContext,
    OpSpec,
    define,
)
from samara.exporter.types import (
    Atom,
    Born,
    Dim,
    DType,
    Read,
    SamaraError,
    Sym,
    TensorType,
    Tri,
    UnsupportedError,
    as_dim,
    compare,
    dmax,
)

Arrays = tuple[Array, ...]
CONTROL = frozenset({"control"})


def _nothing(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """Nothing: the nodes of the bodies are counted separately."""
    return as_dim(0), as_dim(0)


def _of_program(ctx: GradContext) -> tuple[Any, ...]:
    """Bodies are functions of a Program; ir/gradient.py differentiates them."""
    raise UnsupportedError(
        f"{ctx.op.name} is differentiated as part of a Program",
        op=ctx.op.name,
        fix="Program.gradient(loss, wrt)",
    )


def _row(
    name: str,
    code: int,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    infer: Callable[[InferContext], tuple[TensorType, ...]],
    reference: Callable[..., Arrays],
    doc: str,
    attrs: tuple[Attr, ...],
    cases: tuple[Case, ...],
    *,
    dtypes: tuple[str, ...] = (),
    cost: Cost = _nothing,
    grad: Rule,
    **facts: Unpack[Facts],
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=inputs,
            outputs=outputs,
            infer=infer,
            reference=reference,
            doc=doc,
            kind=Kind.CONTROL,
            dtypes=dtypes,
            check="control",
            attrs=attrs,
            cost=cost,
            flags=CONTROL,
            grad=grad,
            cases=cases,
            **facts,
        )
    )


# ---- calling a function ----


class _Call:
    """One use of a function: the caller's dims for its symbols."""

    def __init__(self, ctx: InferContext, name: str, actual: Sequence[TensorType | None]) -> None:
        self.name = name
        formal, self.outputs = ctx.signature(name)
        if len(formal) != len(actual):
            raise ctx.error(f"function {name} takes {len(formal)} inputs, got {len(actual)}")
        self.formal = formal
        self.symbols: dict[Atom | str, Dim | int] = {}
        for i, (f, a) in enumerate(zip(formal, actual, strict=True)):
            if a is None:
                raise ctx.error(f"input {i} of function {name} is absent")
            if f.dtype is not a.dtype or f.rank != a.rank or f.quant != a.quant:
                raise ctx.error(f"input {i} of function {name} is {a}, expected {f}")
            for fd, ad in zip(f.shape, a.shape, strict=True):
                atom = fd.sole_atom()
                if isinstance(atom, Sym):
                    self.symbols.setdefault(atom, ad)
        for i, (f, a) in enumerate(zip(formal, actual, strict=True)):
            for axis, (fd, ad) in enumerate(zip(f.shape, a.shape if a else (), strict=True)):
                ctx.require_eq(
                    ad, fd.substitute(self.symbols), f"axis {axis} of input {i} of function {name}"
                )

    def outside(self, dim: Dim) -> Dim | None:
        """The dim in the caller's symbols; None if it depends on data inside the function."""
        if not self._closed(dim):
            return None
        return dim.substitute(self.symbols)

    def bound(self, dim: Dim) -> Dim | None:
        """An upper bound in the caller's symbols, if there is one."""
        known = self.outside(dim)
        if known is not None:
            return known
        atom = dim.sole_atom()
        if isinstance(atom, Born) and atom.upper is not None and self._closed(atom.upper):
            return atom.upper.substitute(self.symbols)
        top = dim.bounds()[1]
        return None if top is None else as_dim(top)

    def _closed(self, dim: Dim) -> bool:
        return all(
            not isinstance(a, Read | Born) and (not isinstance(a, Sym) or a in self.symbols)
            for a in dim.all_atoms()
        )


def _result(ctx: InferContext, call: _Call, output: int, at: int) -> TensorType:
    """The type of output `output` of a call, which is output `at` of the node."""
    t = call.outputs[output]
    shape = []
    for axis, dim in enumerate(t.shape):
        known = call.outside(dim)
        shape.append(ctx.born(at, axis, call.bound(dim)) if known is None else known)
    return TensorType(t.dtype, tuple(shape), t.quant)


# ---- if ----


def _merged(ctx: InferContext, a: _Call, b: _Call, i: int) -> TensorType:
    x, y = a.outputs[i], b.outputs[i]
    if x.dtype is not y.dtype or x.rank != y.rank or x.quant != y.quant:
        raise ctx.error(
            f"output {i} is {x} in one branch and {y} in the other",
            "give both branches outputs of one dtype and rank",
        )
    shape = []
    for axis, (d, e) in enumerate(zip(x.shape, y.shape, strict=True)):
        left, right = a.outside(d), b.outside(e)
        if left is not None and right is not None and compare(left, right) is Tri.YES:
            shape.append(left)
            continue
        tops = a.bound(d), b.bound(e)
        top = None if tops[0] is None or tops[1] is None else dmax(tops[0], tops[1])
        shape.append(ctx.born(i, axis, top))
    return TensorType(x.dtype, tuple(shape), x.quant)


def _if_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_rank(ctx, 0, 0)
    then, orelse = (_Call(ctx, name, ctx.inputs[1:]) for name in (ctx.then, ctx.orelse))
    if len(then.outputs) != len(orelse.outputs):
        raise ctx.error(
            f"branches have {len(then.outputs)} and {len(orelse.outputs)} outputs, expected equally"
            " many"
        )
    return tuple(_merged(ctx, then, orelse, i) for i in range(len(then.outputs)))


def _if(
    cond: Array, *captures: Array, then: Callable[..., Arrays], orelse: Callable[..., Arrays]
) -> Arrays:
    return tuple((then if cond.item() else orelse)(*captures))


_N = Dim.atom(Sym("n"))
_X = TensorType(DType.F32, (_N,))
_DOUBLE = Body(lambda x: (x + x,), ((_X,), (_X,)))
_NEGATED = Body(lambda x: (-x,), ((_X,), (_X,)))
_HEAD = Body(lambda x: (x[:1],), ((_X,), (TensorType(DType.F32, (Dim.atom(Born("head", 0, 0)),)),)))

if_ = _row(
    "if",
    170,
    ("cond", "captures*"),
    ("ys*",),
    _if_type,
    _if,
    "the outputs of `then` or of `orelse`, applied to the captures",
    (Attr("then", "function"), Attr("orelse", "function", doc="run where cond is false")),
    (
        *(
            Case((np.array(c), ("f32", (5,))), {"then": "double", "orelse": "negated"},
                 functions={"double": _DOUBLE, "negated": _NEGATED})
            for c in (True, False)
        ),
        Case((np.array(True), ("f32", (5,))), {"then": "head", "orelse": "double"},
             functions={"head": _HEAD, "double": _DOUBLE}),
    ),
    dtypes=("bool",),
    grad=_of_program,
)  # fmt: skip


# ---- loop ----


def _loop_type(ctx: InferContext) -> tuple[TensorType, ...]:
    count = ctx.carried
    rest = ctx.inputs[2:]
    if not 0 <= count <= len(rest):
        raise ctx.error(f"{count} carried values among {len(rest)} inputs")
    for i, dtype in enumerate((DType.I64, DType.BOOL)):
        if ctx.optional(i) is not None:
            require_dtype(ctx, i, dtype)
            require_rank(ctx, i, 0)
    scalars = (TensorType(DType.I64, ()), TensorType(DType.BOOL, ()))
    call = _Call(ctx, ctx.body, (*scalars, *rest))
    if len(call.outputs) < 1 + count or call.outputs[0] != scalars[1]:
        raise ctx.error(f"function {ctx.body} must return a bool scalar and {count} carried values")
    types = [_carried(ctx, call, i) for i in range(count)]
    trip = ctx.scalar(0) if ctx.optional(0) is not None else None
    for i in range(count, len(call.outputs) - 1):
        t = call.outputs[1 + i]
        steps = ctx.born(i, 0, None if trip is None else dmax(trip, 0))
        shape = [steps]
        for axis, dim in enumerate(t.shape):
            known = None if _varies(call, count, dim) else call.outside(dim)
            if known is None:
                bound = None if _varies(call, count, dim) else call.bound(dim)
                known = ctx.born(i, axis + 1, bound)
            shape.append(known)
        types.append(TensorType(t.dtype, tuple(shape), t.quant))
    return tuple(types)


def _varies(call: _Call, count: int, dim: Dim) -> bool:
    """Whether the dim depends on a size that the loop changes."""
    changed = {
        atom
        for i in range(count)
        for d, e in zip(call.formal[2 + i].shape, call.outputs[1 + i].shape, strict=False)
        if d != e
        for atom in d.all_atoms()
    }
    return not changed.isdisjoint(dim.all_atoms())


def _carried(ctx: InferContext, call: _Call, i: int) -> TensorType:
    given, out = call.formal[2 + i], call.outputs[1 + i]
    if given.dtype is not out.dtype or given.rank != out.rank or given.quant != out.quant:
        raise ctx.error(f"carried value {i} enters the body as {given} and leaves it as {out}")
    shape = []
    for axis, (d, e) in enumerate(zip(given.shape, out.shape, strict=True)):
        if d == e or d.is_static:
            if compare(d, e) is Tri.NO:
                raise ctx.error(f"axis {axis} of carried value {i} changes from {d} to {e}")
            shape.append(d.substitute(call.symbols))
        else:
            shape.append(ctx.born(i, axis, None))
    return TensorType(out.dtype, tuple(shape), out.quant)


def _loop(
    max_trip: Array | None,
    cond: Array | None,
    *rest: Array,
    body: Callable[..., Arrays],
    carried: int,
) -> Arrays:
    state, captures = tuple(rest[:carried]), rest[carried:]
    go = cond is None or bool(cond.item())
    stacks: list[list[Array]] = []
    trip = 0
    while go and (max_trip is None or trip < max_trip.item()):
        got = body(np.array(trip, np.int64), np.array(go), *state, *captures)
        go, state = bool(np.asarray(got[0]).item()), tuple(got[1 : 1 + carried])
        if trip == 0:
            stacks = [[] for _ in got[1 + carried :]]
        for stack, value in zip(stacks, got[1 + carried :], strict=True):
            stack.append(np.asarray(value))
        trip += 1
    if trip == 0:
        return (*state, *_empty_stacks(body, rest, carried))
    return (*state, *(np.stack(s) for s in stacks))


def _empty_stacks(body: Any, rest: Sequence[Array], carried: int) -> Arrays:
    """The stacked outputs of a loop without a trip: sizes that depend on data are 0."""
    formal, results = body.signature
    sizes: dict[Atom | str, Dim | int] = {}
    for t, array in zip(formal[2:], rest, strict=True):
        for dim, n in zip(t.shape, array.shape, strict=True):
            atom = dim.sole_atom()
            if isinstance(atom, Sym):
                sizes.setdefault(atom, n)
    empty = []
    for t in results[1 + carried :]:
        known = [d.substitute(sizes) for d in t.shape]
        shape = (0, *(d.as_int() if d.is_static else 0 for d in known))
        empty.append(np.zeros(shape, t.dtype.numpy))
    return tuple(empty)


_I64 = TensorType(DType.I64, ())
_BOOL = TensorType(DType.BOOL, ())
_SUM = Body(
    lambda i, go, x, y: (np.array(x.sum() < 100), x + y, x * 2),
    ((_I64, _BOOL, _X, _X), (_BOOL, _X, _X)),
)
_GROW = Body(
    lambda i, go, x: (go, np.concatenate([x, x[:1]])),
    ((_I64, _BOOL, _X), (_BOOL, TensorType(DType.F32, (_N + 1,)))),
)
_COUNT = Body(lambda i, go: (np.array(i < 4), i * i), ((_I64, _BOOL), (_BOOL, _I64)))

loop = _row(
    "loop",
    171,
    ("max_trip?", "cond?", "values*"),
    ("ys*",),
    _loop_type,
    _loop,
    "run `body` while cond holds and at most max_trip times: body(i int64, cond bool, carried…,"
    " captures…) -> (cond bool, carried…, stacked…); the outputs are the last carried values, then"
    " the stacked ones with a leading trip axis",
    (
        Attr("body", "function"),
        Attr("carried", "int", doc="how many of the values are carried; the others are captures"),
    ),
    (
        Case((np.array(3), None, ("f32", (4,)), ("f32", (4,))), {"body": "sum", "carried": 1},
             0.5, 1.0, functions={"sum": _SUM}),
        Case((np.array(0), None, ("f32", (4,)), ("f32", (4,))), {"body": "sum", "carried": 1},
             functions={"sum": _SUM}),
        Case((None, np.array(True), ("f32", (4,)), ("f32", (4,))), {"body": "sum", "carried": 1},
             3.0, 5.0, functions={"sum": _SUM}),
        Case((np.array(3), np.array(True), ("f32", (2,))), {"body": "grow", "carried": 1},
             functions={"grow": _GROW}),
        Case((None, None), {"body": "count", "carried": 0}, functions={"count": _COUNT}),
        Case((np.array(9), np.array(False), ("f32", (2,))), {"body": "grow", "carried": 1},
             functions={"grow": _GROW}),
    ),
    dtypes=("i64",),
    grad=_of_program,
)  # fmt: skip


# ---- call ----


def _call_type(ctx: InferContext) -> tuple[TensorType, ...]:
    call = _Call(ctx, ctx.body, ctx.inputs)
    return tuple(_result(ctx, call, i, i) for i in range(len(call.outputs)))


call = _row(
    "call",
    172,
    ("args*",),
    ("ys*",),
    _call_type,
    lambda *args, body: tuple(body(*args)),
    "the outputs of `body` applied to the inputs",
    (Attr("body", "function"),),
    (
        Case((("f32", (7,)),), {"body": "double"}, functions={"double": _DOUBLE}),
        Case((("f32", (3,)),), {"body": "head"}, functions={"head": _HEAD}),
    ),
    grad=_of_program,
)


# ---- trap ----


def _declared(ctx: InferContext) -> tuple[TensorType, ...]:
    """Output types from `dtypes`, `ranks` and the concatenated `shape`."""
    ctx.require(len(ctx.dtypes) == len(ctx.ranks), "dtypes and ranks must be equally many")
    total = sum(ctx.ranks)
    ctx.require(len(ctx.shape) == total, f"shape has {len(ctx.shape)} sizes, expected {total}")
    types, at = [], 0
    for code, rank in zip(ctx.dtypes, ctx.ranks, strict=True):
        types.append(TensorType(DType(code), tuple(ctx.shape[at : at + rank])))
        at += rank
    return tuple(types)


def _trap(*args: Array, message: str, **types: Any) -> Arrays:
    raise SamaraError(message, op="trap")


trap = _row(
    "trap",
    173,
    ("args*",),
    ("ys*",),
    _declared,
    _trap,
    "stop the run with a message; it has outputs only so that others can use them",
    (
        Attr("message", "string"),
        Attr("dtypes", "ints", doc="dtype code per output"),
        Attr("ranks", "ints", doc="rank per output"),
        Attr("shape", "dims", doc="the shapes of all outputs, one after the other"),
    ),
    (
        Case((), {"message": "no such branch", "dtypes": (1,), "ranks": (2,), "shape": (2, 3)}),
        Case((("f32", (2,)),), {"message": "bad rank", "dtypes": (), "ranks": (), "shape": ()}),
    ),
    grad=NO_GRAD,
)
