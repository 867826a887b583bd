# SPDX-License-Identifier: Apache-2.0
"""Gradients of counted loops: the carried values of every step are stacked and read backwards.

A step's other values are recomputed from them: checkpointing with one snapshot per step (Griewank and
Walther, "Algorithm 799: revolve", 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from samara.exporter import ops
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.gradient_parts import (
    Symbol,
    finished,
    gradient_input,
    reach,
    refusal,
    zeros_like,
)
from samara.exporter.ir.infer import attr_dims, function_atoms, infer_node
from samara.exporter.ir.program import Function, Node, Value
from samara.exporter.types import Dim, Read, Sym, Tri, compare

if TYPE_CHECKING:
    from samara.exporter.ir.gradient import _Pass

# The kind of an input of the backward loop: the number of steps, the stack of a carried value, the gradient of
# a stacked output, or a capture of the loop; and its index.
_Feed = tuple[Literal["steps", "stack", "row", "capture"], int]


@dataclass(frozen=True, slots=True)
class _Loop:
    """The parts of a loop node."""

    node: Node
    body: Function
    carried: int

    @property
    def given(self) -> tuple[Value, ...]:
        """The inputs of the loop: carried values, then captures."""
        return tuple(v for v in self.node.inputs[2:] if v is not None)

    @property
    def formal(self) -> tuple[Value, ...]:
        """The same values in the body."""
        return self.body.inputs[2:]


def loop_gradient(
    run: _Pass, owner: Builder, index: int, dys: Sequence[Symbol | None]
) -> list[Any]:
    """Return the gradients of the inputs of the loop at `owner.nodes[index]`.

    dys: the gradients of its outputs, in order.

    The node is replaced by one that also stacks what the backward loop reads. UnsupportedError for a loop that
    ends on a condition, or whose carried values change their shapes.
    """
    program = run.builder.program
    node = owner.nodes[index]
    loop = _Loop(node, program.functions[node.attrs["body"]], node.attrs["carried"])
    _require_counted(loop)
    moving = _moving(run, loop)
    rows = [i for i, dy in enumerate(dys) if dy is not None and i >= loop.carried]
    body, feeds = _way_back(run, loop, moving, rows)
    stacks = _stacked(program, owner, index, loop, [i for kind, i in feeds if kind == "stack"])
    values: list[Any] = [*node.inputs[:2]]
    values += [_start(run, loop, dys, i) for i in moving]
    for kind, i in feeds:
        if kind == "steps":
            values.append(node.inputs[0])
        elif kind == "row":
            values.append(dys[i])
        else:
            values.append(stacks[i] if kind == "stack" else loop.given[i])
    got = run.home.op(
        ops.loop, [run.symbol(v) for v in values], {"body": body.name, "carried": len(moving)}
    )
    found: list[Any] = [None] * len(node.inputs)
    for i, dy in zip(moving, got, strict=True):
        found[2 + i] = dy
    return found


# ---- whether a loop is counted ----


def _require_counted(loop: _Loop) -> None:
    node, body = loop.node, loop.body
    if node.inputs[0] is None or not _stays_true(body, body.outputs[0]):
        raise refusal(
            node,
            "the gradient of a loop that ends on a condition is not supported",
            "loop a number of times that is known when the loop starts, and use where() or if "
            "inside for steps that should do nothing",
        )
    for before, after in zip(loop.formal, body.outputs[1 : 1 + loop.carried], strict=False):
        for d, e in zip(before.type.shape, after.type.shape, strict=True):
            if compare(d, e) is not Tri.YES:
                raise refusal(
                    node,
                    f"the gradient of a loop is not supported where a carried value changes its "
                    f"shape: '{before.name}' enters a step as {before.type} and leaves it as "
                    f"{after.type}",
                    "carry a tensor of the final shape, and write into it",
                )


def _stays_true(body: Function, value: Value) -> bool:
    """Whether the condition stays true in every step if it is true at the start."""
    made = {v: n for n in body.nodes for v in n.outputs}
    stack = [value]
    while stack:
        v = stack.pop()
        node = made.get(v)
        if v.constant is not None:
            if not v.constant.all():
                return False
        elif node is None:
            if v is not body.inputs[1]:
                return False
        elif node.op in (ops.identity, ops.logical_and):
            stack += [u for u in node.inputs if u is not None]
        elif node.op is not ops.dims or any(d.value in (0, None) for d in node.attrs["values"]):
            return False
    return True


def _moving(run: _Pass, loop: _Loop) -> list[int]:
    """Positions of the entering values (carried, then captures) that need gradients inside the loop."""
    moving = {i for i, v in enumerate(loop.given) if run.moves(v)}
    while True:
        values = reach(loop.body.nodes, [loop.formal[i] for i in moving])
        again = {i for i in range(loop.carried) if loop.body.outputs[1 + i] in values} - moving
        if not again:
            return sorted(moving)
        moving |= again


def _start(run: _Pass, loop: _Loop, dys: Sequence[Symbol | None], i: int) -> Any:
    """The initial gradient of a carried value or capture: that of the loop's result, or zeros."""
    dy = dys[i] if i < loop.carried else None
    return zeros_like(run.builder, loop.given[i]) if dy is None else dy


# ---- the two loops ----


def _way_back(
    run: _Pass, loop: _Loop, moving: Sequence[int], rows: Sequence[int]
) -> tuple[Function, list[_Feed]]:
    """The body of the backward loop, which goes one step back; and its captures."""
    program, f = run.builder.program, loop.body
    b = program.reopen(f, f"{f.name}/grad")
    b.inputs, b.nodes = [], []
    turn = b.input("turn", "i64", [])
    b.inputs.append(f.inputs[1])
    flowing = [gradient_input(program, b, loop.formal[i]) for i in moving]
    feeds: list[_Feed] = [("steps", 0)]
    steps = b.input("steps", "i64", [])
    stacks = []
    for i, v in enumerate(loop.formal[: loop.carried]):
        feeds.append(("stack", i))
        stacks.append(_stack_input(program, b, f"{v.name}.steps", v, v.type.shape))
    slices = []
    for o in rows:
        feeds.append(("row", o))
        v = f.outputs[1 + o]
        shape = [
            program.fresh_symbol(v.name) if any(hasattr(a, "key") for a in d.all_atoms()) else d
            for d in v.type.shape
        ]
        slices.append(_stack_input(program, b, f"grad/{v.name}", v, shape))
    for i in range(loop.carried, len(loop.formal)):
        feeds.append(("capture", i))
        b.inputs.append(loop.formal[i])
    # The step's number and carried values get the names of the forward body.
    last = b.op(ops.sub, steps, 1)
    b.nodes.append(Node(ops.sub, (last, turn), (f.inputs[0],), {}, f.inputs[0].name))
    gather = ops.gather
    for v, stack in zip(loop.formal, stacks, strict=False):
        inputs = (stack, f.inputs[0])
        b.nodes.append(Node(gather, inputs, (v,), gather.complete({"axis": 0}), v.name))
    row_dys = [b.op(ops.gather, s, f.inputs[0]) for s in slices]
    b.nodes += f.nodes
    outputs = [f.outputs[1 + i] for i in moving if i < loop.carried]
    dys = [*flowing[: len(outputs)], *row_dys]
    outputs += [f.outputs[1 + o] for o in rows]
    wrt = [loop.formal[i] for i in moving]
    results = [f.inputs[1]]
    found = run.inside(b, outputs, dys, wrt)
    for i, dy, v, g in zip(moving, flowing, wrt, found, strict=True):
        if i >= loop.carried:  # gradients of captures are sums over all steps
            results.append(dy if g is None else b.op(ops.add, dy, g))
        else:
            results.append(zeros_like(b, v) if g is None else g)
    return _trimmed(program, finished(b, results), feeds)


def _stack_input(
    program: ProgramBuilder, b: Builder, name: str, v: Value, shape: Sequence[Dim]
) -> Value:
    steps = program.fresh_symbol("steps")
    return b.input(name, v.type.dtype, (steps, *shape), v.type.quant)


def _trimmed(
    program: ProgramBuilder, f: Function, feeds: Sequence[_Feed]
) -> tuple[Function, list[_Feed]]:
    """The function without unread captures. `feeds` are its last inputs."""
    first = len(f.inputs) - len(feeds)
    used = {v for n in f.nodes for v in n.inputs} | set(f.outputs)
    read = {a.key for a in function_atoms(f) if isinstance(a, Read)}
    kept = [i for i, v in enumerate(f.inputs) if i < first or v in used or v.name in read]
    missing = _symbols(f, kept) - _defined(f, kept)
    for i in range(first, len(f.inputs)):
        defines = _defined(f, [i])
        if i not in kept and not missing.isdisjoint(defines):
            kept.append(i)
            missing -= defines
    kept.sort()
    made = replace(f, inputs=tuple(f.inputs[i] for i in kept))
    program.functions[made.name] = made
    return made, [feeds[i - first] for i in kept if i >= first]


def _symbols(f: Function, kept: Sequence[int]) -> set[str]:
    """The symbols in all dims, except those of inputs that are dropped."""
    dims = [d for i in kept for d in f.inputs[i].type.shape]
    for n in f.nodes:
        dims += [*attr_dims(n.op, n.attrs), *(d for v in n.outputs for d in v.type.shape)]
    for g in f.guards:
        dims += (g.a, g.b)
    return {s for d in (*dims, *f.bounds.values()) for s in d.symbols()}


def _defined(f: Function, inputs: Sequence[int]) -> set[str]:
    dims = [d for i in inputs for d in f.inputs[i].type.shape]
    return {a.name for d in dims if isinstance(a := d.sole_atom(), Sym)}


def _stacked(
    program: ProgramBuilder, owner: Builder, index: int, loop: _Loop, which: Sequence[int]
) -> dict[int, Value]:
    """Make the loop stack these carried values at the start of each step; return the stacks."""
    if not which:
        return {}
    f, node = loop.body, owner.nodes[index]
    more = [loop.formal[i] for i in which]
    body = program.reopen(f, f"{f.name}/stacked").finish([*f.outputs, *more])
    attrs = {**node.attrs, "body": body.name}
    first = node.outputs[0].name
    inferred = infer_node(
        node.op,
        node.inputs,
        attrs,
        node=node.name,
        first_output=first,
        output_count=None,
        signature=program.signature,
    )
    made = list(node.outputs)
    for t in inferred.types[len(made) :]:
        made.append(Value(owner.unique(f"{first}.steps"), t))
        owner._own(made[-1])
    owner.bounds.update(inferred.bounds)
    owner.nodes[index] = replace(node, outputs=tuple(made), attrs=attrs)
    return dict(zip(which, made[-len(which) :], strict=True))
