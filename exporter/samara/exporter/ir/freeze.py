# SPDX-License-Identifier: Apache-2.0
"""Freezing inputs: they become constants, and branches that depend only on them are resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.cut import only_reached
from samara.exporter.ir.fold import fold_node
from samara.exporter.ir.infer import callees, function_atoms, re_infer, read_constant, signature_of
from samara.exporter.ir.interpret import near
from samara.exporter.ir.program import Array, Function, Node, Program, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.types import Atom, Born, Dim, DimLike, DType, Read, ShapeError, Sym

__all__ = ["as_constant", "freeze"]

# Values that decide a branch are small; larger constants are left to the folding pass.
_FOLDED_BYTES: Final = 1 << 16


def freeze(program: Program, consts: Mapping[str, Any]) -> Program:
    """The program with inputs of its entries replaced by constants.

    consts: {input: value}, a number, a list or an array, as `as_constant` takes it, for every entry with an
    input of that name. Nodes of constants are computed, an `if` that they decide is replaced by the nodes of
    its branch, and functions take over constants that are passed to them.

    Raises ShapeError for unknown inputs and for values that do not fit.
    """
    left = dict(consts)
    for name in program.entries:
        f = program.functions[name]
        visible = {v.name: v for v in f.inputs if v.name not in f.reads}
        fixed = {}
        for key, value in consts.items():
            if key in visible:
                left.pop(key, None)
                v = visible[key]
                dims = [d.as_int() if d.is_static else None for d in v.type.shape]
                fixed[key] = as_constant(key, value, v.type.dtype, dims)
        if fixed:
            done = re_infer(f, signature_of(program.functions), constants=fixed)
            program = program.with_function(done)
    for key in left:
        fs = [program.functions[n] for n in program.entries]
        known = [v.name for f in fs for v in f.inputs if v.name not in f.reads]
        if any(key in f.reads for f in fs):
            raise ShapeError(
                f"input {key!r} cannot be frozen: it is state of the session, which changes from run to run",
                fix="freeze another input, or import the model without state for it",
            )
        raise ShapeError(f"there is no input {key!r} to freeze", fix=near(key, known, "inputs"))
    return only_reached(_settled(program)) if consts else program


def as_constant(name: str, value: Any, dtype: DType, shape: Sequence[int | None]) -> Array:
    """A value for the input `name` as an array of its dtype and shape (None: any size).

    Python numbers and lists take the input's dtype if it holds them exactly. A number fills the shape, a list
    may be flat. An array must have the dtype and shape. Raises ShapeError if the value does not fit.
    """
    said = f"{dtype.numpy}[{', '.join('?' if n is None else str(n) for n in shape)}]"
    weak = not isinstance(value, np.ndarray | np.generic)
    try:
        given = np.asarray(value)
    except ValueError:
        raise ShapeError(
            f"the constant for input {name!r} is not an array of numbers",
            fix=f"the input is {said}",
        ) from None
    if weak:
        given = _exactly(name, given, dtype, said)
    elif given.dtype != dtype.numpy:
        raise ShapeError(
            f"the constant for input {name!r} has dtype {given.dtype}, the input is {said}",
            fix=f"convert it with .astype('{dtype.numpy}')",
        )
    fits = _fits(given.shape, shape)
    sizes = [n for n in shape if n is not None]
    if not fits and weak and len(sizes) == len(shape):
        if given.ndim == 0:
            given, fits = np.full(sizes, given), True
        elif given.ndim == 1 and given.size == int(np.prod(sizes)):
            given, fits = given.reshape(sizes), True
    if not fits:
        raise ShapeError(
            f"the constant for input {name!r} has shape {list(given.shape)}, the input is {said}",
            fix="give an array of the input's shape"
            + ("" if len(sizes) == len(shape) else "; its symbolic sizes become the array's"),
        )
    return np.ascontiguousarray(given).reshape(given.shape)


def _exactly(name: str, given: Array, dtype: DType, said: str) -> Array:
    """Python data in the input's dtype; ShapeError for numbers that it does not hold."""
    if given.size == 0:
        return given.astype(dtype.numpy)
    right = given.dtype.kind in "biuf"
    if right and dtype is DType.BOOL:
        right = given.dtype.kind == "b" or bool(np.isin(given, (0, 1)).all())
    elif right and given.dtype.kind == "b":
        right = False
    with np.errstate(all="ignore"):
        made = given.astype(dtype.numpy) if right else given
        if right and not dtype.is_float and dtype is not DType.BOOL:
            right = bool(np.all(made.astype(np.float64) == given.astype(np.float64)))
        elif right and dtype.is_float:  # may be rounded, but not to infinity
            right = bool(np.array_equal(np.isfinite(made.astype(np.float64)), np.isfinite(given)))
    if not right:
        raise ShapeError(
            f"the constant for input {name!r} is {given.tolist()!r}, which {dtype.numpy} does not hold",
            fix=f"the input is {said}",
        )
    return made


def _fits(got: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(got) == len(wanted) and all(
        w is None or g == w for g, w in zip(got, wanted, strict=True)
    )


# ---- propagation


def _settled(program: Program) -> Program:
    """Fold, replace decided branches and pass constants to functions until nothing changes."""
    while True:
        before = program
        for f in list(program.functions.values()):
            r = Rewriter(f, program)
            _fold(r)
            _take_branches(r, program)
            if r.changed:
                program = program.with_function(r.finish())
        program = _handed_on(only_reached(program))
        if program is before or _same(program, before):
            return program


def _same(a: Program, b: Program) -> bool:
    return a.functions.keys() == b.functions.keys() and all(
        a.functions[k] is b.functions[k] for k in a.functions
    )


def _fold(r: Rewriter) -> None:
    for node in r.nodes():
        # The pass that makes integer operators needs dequantize nodes of constants.
        arrays = None if node.op is ops.dequantize else fold_node(node, _FOLDED_BYTES)
        if arrays is None:
            continue
        for value, array in zip(node.outputs, arrays, strict=True):
            r.replace_value(value, r.const(array, value.name, value.type.dtype, value.type.quant))
        r.remove(node)


def _take_branches(r: Rewriter, program: Program) -> None:
    for node in r.nodes():
        if node.op is not ops.if_ or node.inputs[0] is None or node.inputs[0].constant is None:
            continue
        taken = node.attrs["then" if bool(node.inputs[0].constant) else "orelse"]
        _inline(r, node, program.functions[taken], node.inputs[1:])


def _inline(r: Rewriter, node: Node, body: Function, given: Sequence[Value | None]) -> None:
    """Replace the node that calls a function by the function's nodes."""
    table: dict[str | Atom, DimLike] = {}
    values: dict[Value, Value] = {}
    keyed: dict[object, list[Read | Born]] = {}
    for atom in function_atoms(body):
        keyed.setdefault(atom.key, []).append(atom)

    def stand(old: Value, new: Value) -> None:
        values[old] = new
        for atom in keyed.get(old.name, ()):
            if isinstance(atom, Read) and new.constant is not None:
                table[atom] = read_constant(new.constant, atom.index)
            elif isinstance(atom, Read):
                table[atom] = Dim.atom(replace(atom, key=new.name))

    def dim(d: Dim) -> Dim:
        return d.substitute(table)

    def value(v: Value | None) -> Value | None:
        if v is not None and v not in values and v.constant is not None:
            values[v] = r.const(v.constant, v.name, v.type.dtype, v.type.quant)
        return None if v is None else values[v]

    for formal, actual in zip(body.inputs, given, strict=True):
        assert actual is not None
        for a, b in zip(formal.type.shape, actual.type.shape, strict=True):
            if isinstance(symbol := a.sole_atom(), Sym):
                table.setdefault(symbol, b)
        stand(formal, actual)
    for n in body.nodes:
        attrs = {a.name: _attribute(a.type, n.attrs[a.name], dim) for a in n.op.attrs}
        made = r.op(
            n.op,
            *(value(v) for v in n.inputs),
            before=node,
            name=n.name,
            outputs=[v.name for v in n.outputs],
            source=n.source,
            absorbed=n.absorbed,
            **attrs,
        )
        outputs = made if isinstance(made, tuple) else (made,)
        for old, new in zip(n.outputs, outputs, strict=True):
            stand(old, new)
        for atom in keyed.get(n.outputs[0].name, ()) if n.outputs else ():
            if isinstance(atom, Born):
                table[atom] = outputs[atom.output].type.shape[atom.axis]
    for guard in body.guards:
        r.add_guard(replace(guard, a=dim(guard.a), b=dim(guard.b)))
    for old, result in zip(node.outputs, body.outputs, strict=True):
        new = value(result)
        assert new is not None
        r.replace_value(old, new)
    r.remove(node)


def _attribute(kind: str, held: Any, dim: Any) -> Any:
    if kind == "dim":
        return dim(held)
    return tuple(dim(d) for d in held) if kind == "dims" else held


def _handed_on(program: Program) -> Program:
    """Move constants that are passed to a function into it, if it is called from one place."""
    calls = Counter(c for f in program.functions.values() for n in f.nodes for c in callees(n))
    for f in list(program.functions.values()):
        r = Rewriter(program.functions[f.name], program)
        for node in list(r.nodes()):
            called = callees(node)
            if not called or any(calls[c] > 1 for c in called):
                continue
            # Operand `lead + i` is input i of the bodies. A loop's carried values change.
            lead = 1 if node.op is ops.if_ else 0
            first = 2 + node.attrs["carried"] if node.op is ops.loop else lead
            bodies = [program.functions[c] for c in called]
            fixed = [
                i
                for i in range(first, len(node.inputs))
                if (v := node.inputs[i]) is not None
                and v.constant is not None
                and all(_alone(b, i - lead) for b in bodies)
            ]
            if not fixed:
                continue
            for body in bodies:
                program = program.with_function(_specialised(program, body, node, fixed, lead))
            rest = [v for i, v in enumerate(node.inputs) if i not in fixed]
            changed = Rewriter(program.functions[f.name], program)
            changed.replace_node(node, node.op, *rest, **node.attrs)
            program = program.with_function(changed.finish())
            return _handed_on(program)
    return program


def _alone(body: Function, index: int) -> bool:
    """Whether no other input shares a symbol with this one."""
    symbols = body.inputs[index].type.symbols()
    others = {s for i, v in enumerate(body.inputs) if i != index for s in v.type.symbols()}
    return not symbols & others


def _specialised(
    program: Program, body: Function, node: Node, fixed: Sequence[int], lead: int
) -> Function:
    constants = {}
    for i in fixed:
        v = node.inputs[i]
        assert v is not None
        constants[body.inputs[i - lead].name] = v.constant
    return re_infer(body, signature_of(program.functions), constants=constants)
