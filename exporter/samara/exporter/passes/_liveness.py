# SPDX-License-Identifier: Apache-2.0
"""Which tensors of a function share bytes, and between which nodes the bytes are needed: a model of the
runtime's plan (docs/internals/memory.md) that is accurate enough to compare orders of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from samara.exporter import ops
from samara.exporter.ir.program import Function, Node, Value

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Group:
    """Bytes that one or several tensors share. `makers` and `users` are sets of nodes as bits, makers
    included in users; `pinned` bytes live to the end.
    """

    size: int
    makers: int
    users: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class Lives:
    """The groups of a function, by node: those that it uses, those that it makes, and (dying, made) if its
    output may take the place of an input that dies with it.
    """

    groups: tuple[Group, ...]
    touched: tuple[tuple[int, ...], ...]
    made: tuple[tuple[int, ...], ...]
    in_place: tuple[tuple[int, int] | None, ...]

    def live(self, order: Sequence[int]) -> list[int]:
        """Bytes in use during each node of an order."""
        done = total = 0
        found = []
        for n in order:
            during, after = self.step(n, done, total)
            found.append(during)
            done |= 1 << n
            total = after
        return found

    def step(self, n: int, done: int, total: int) -> tuple[int, int]:
        """Bytes in use during node `n` and after it, when the nodes `done` have run and `total` bytes are in
        use.
        """
        during = total
        for g in self.made[n]:
            if not self.groups[g].makers & done:
                during += self.groups[g].size
        after, now = during, done | 1 << n
        for g in self.touched[n]:
            group = self.groups[g]
            if not group.pinned and not group.users & ~now:
                after -= group.size
        shared = self.in_place[n]
        if shared is not None:
            dying, made = (self.groups[g] for g in shared)
            if not dying.pinned and not dying.users & ~now and not made.makers & done:
                during -= made.size
        return during, after


def lives_of(f: Function, *, is_entry: bool) -> Lives | None:
    """None if some tensor has no upper bound: then orders cannot be compared."""
    nodes = f.nodes
    maker = {v: i for i, n in enumerate(nodes) for v in n.outputs}
    users: dict[Value, list[int]] = {}
    for i, n in enumerate(nodes):
        for v in n.inputs:
            if v is not None:
                users.setdefault(v, []).append(i)
    heads = _heads(f, maker, users)
    members: dict[Value, list[Value]] = {}
    for v in maker:
        members.setdefault(heads(v), []).append(v)
    index = {head: g for g, head in enumerate(members)}
    groups = []
    for head, values in members.items():
        size = _planned_bytes(f, head, values, maker, is_entry)
        if size is None:
            return None
        makers = users_mask = 0
        for v in values:
            makers |= 1 << maker[v]
            for u in users.get(v, ()):
                users_mask |= 1 << u
        pinned = any(v in f.outputs for v in values)
        groups.append(Group(size, makers, makers | users_mask, pinned))

    def group(v: Value | None) -> int | None:
        return None if v is None or v not in maker else index[heads(v)]

    made, touched, in_place = [], [], []
    for n in nodes:
        outs = dict.fromkeys(g for v in n.outputs if (g := group(v)) is not None)
        ins = dict.fromkeys(g for v in n.inputs if (g := group(v)) is not None)
        made.append(tuple(outs))
        touched.append(tuple({**outs, **ins}))
        in_place.append(_shared(n, group, groups))
    return Lives(tuple(groups), tuple(touched), tuple(made), tuple(in_place))


def _shared(
    n: Node, group: Callable[[Value | None], int | None], groups: Sequence[Group]
) -> tuple[int, int] | None:
    if "inplace" not in n.op.flags or not n.inputs:
        return None
    dying, made = group(n.inputs[0]), group(n.outputs[0])
    if dying is None or made is None or dying == made or groups[dying].size != groups[made].size:
        return None
    others = [group(v) for v in n.inputs[1:]]
    return None if dying in others else (dying, made)


def _bytes(v: Value) -> int | None:
    count = 1
    for d in v.type.shape:
        high = d.bounds()[1]
        if high is None:
            return None
        count *= high
    return -(-v.type.dtype.bytes_of(count) // _ALIGNMENT) * _ALIGNMENT


def _planned_bytes(
    f: Function, head: Value, values: Sequence[Value], maker: dict[Value, int], is_entry: bool
) -> int | None:
    """The group's bytes in the arena: 0 if it lies in an input, in the caller's memory or in a variable. None:
    no upper bound.
    """
    size = 0
    for v in values:
        own = _bytes(v)
        if own is None:
            return None
        size = max(size, own)
    if head not in maker:
        return 0
    positions = [i for i, v in enumerate(f.outputs) if v in values]
    if positions and (not is_entry or all(i in f.writes for i in positions)):
        return 0
    return size


# ---- views ----


def _heads(
    f: Function, maker: dict[Value, int], users: dict[Value, list[int]]
) -> Callable[[Value], Value]:
    """The head of the group that a value belongs to. Views are decided as in runtime_c's views.c, except for
    rare cases that it refuses.
    """
    head: dict[Value, Value] = {}

    def find(v: Value) -> Value:
        while v in head:
            v = head[v]
        return v

    def strided(v: Value) -> bool:
        return v not in f.outputs and all(
            f.nodes[u].op.reads_strided(i)
            for u in users.get(v, ())
            for i, x in enumerate(f.nodes[u].inputs)
            if x is v
        )

    for n in f.nodes:
        x = n.inputs[0] if n.inputs else None
        if x is None or x.constant is not None:
            continue
        for y in n.outputs:
            if n.op in (ops.identity, ops.reshape):
                inside = x.type.dtype == y.type.dtype
                inside = inside and (y not in f.outputs or find(x) in maker)
            else:
                inside = n.op in (ops.split, ops.slice_) and y not in f.outputs
                inside = inside and _is_cut(n, x, strided(y))
            if inside:
                head[y] = find(x)
    for n in reversed(f.nodes):
        if n.op is not ops.concat:
            continue
        for x in n.inputs:
            if x is None or x not in maker or x in head or x in f.outputs:
                continue
            writes = "strided_out" in f.nodes[maker[x]].op.flags
            if _is_cut(n, n.outputs[0], writes and strided(x)) and find(n.outputs[0]) is not x:
                head[x] = n.outputs[0]
    return find


def _is_cut(n: Node, whole: Value, strided: bool) -> bool:
    """Whether parts of `whole` lie in it without gaps, or with gaps that all users accept."""
    shape = whole.type.shape
    if n.op is ops.slice_:
        part = n.outputs[0].type.shape
        axes = [i for i, (a, b) in enumerate(zip(shape, part, strict=True)) if a != b]
        steps = n.attrs.get("step", ())
        if any(d.is_static and d.as_int() != 1 for d in steps) or len(axes) > 1:
            return False
        axis = axes[0] if axes else 0
    else:
        axis = int(n.attrs["axis"]) % len(shape)
    if all(d.is_static and d.as_int() == 1 for d in shape[:axis]):
        return True
    return strided and axis == len(shape) - 1
