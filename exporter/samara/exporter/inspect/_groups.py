# SPDX-License-Identifier: Apache-2.0
"""Nodes of a function folded into groups, so that no part of its picture shows too many boxes at once.

Groups are modules where the names of nodes tell them (`/layer1/conv`, `layer1.conv`), chains of nodes, and
parts of what is still too long. Between the members of a group, data flows from earlier to later ones only,
so each group can be drawn as one box without a cycle.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from samara.exporter.inspect.contents import NodeRow

# With more members than the first number chains are folded, with more than the second it is cut.
_CHAINS_FROM: Final = 24
_MOST: Final = 48
_PART: Final = 24  # members of a part, about
_SHORTEST_CHAIN: Final = 3
_CHAIN: Final = "chain of "


@dataclass(frozen=True, slots=True)
class Group:
    """A named group; members are indices of nodes, and groups, in an order in which data flows."""

    name: str
    members: tuple[Member, ...]


Member: TypeAlias = "int | Group"


def fold(nodes: Sequence[NodeRow]) -> tuple[Member, ...]:
    """The nodes as nested groups."""
    makers = {t.name: i for i, n in enumerate(nodes) for t in n.outputs}
    users: list[set[int]] = [set() for _ in nodes]
    for i, n in enumerate(nodes):
        for name in n.inputs:
            if name in makers and makers[name] != i:
                users[makers[name]].add(i)
    paths = [tuple(n.module.split("/")) if n.module else () for n in nodes]
    order = _module_order(paths, users)
    return _by_module(order, paths, 0, users)


def _module_order(paths: Sequence[tuple[str, ...]], users: Sequence[set[int]]) -> list[int]:
    """The nodes so that each comes before its users, and those of a module follow each other where that
    can be.
    """
    waiting = [0] * len(paths)
    for used in users:
        for u in used:
            waiting[u] += 1
    ready: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, count in enumerate(waiting):
        if not count:
            heapq.heappush(ready[paths[i]], i)
    order: list[int] = []
    here: tuple[str, ...] = ()
    while ready:
        path = min(ready, key=lambda p: (-_common(p, here), ready[p][0]))
        node = heapq.heappop(ready[path])
        if not ready[path]:
            del ready[path]
        here = path
        order.append(node)
        for u in users[node]:
            waiting[u] -= 1
            if not waiting[u]:
                heapq.heappush(ready[paths[u]], u)
    return order


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    )


def _by_module(
    order: Sequence[int], paths: Sequence[tuple[str, ...]], depth: int, users: Sequence[set[int]]
) -> tuple[Member, ...]:
    """Members of one level: nodes that lie `depth` deep, and a group for each run of deeper ones."""
    members: list[Member] = []
    seen: Counter[str] = Counter()
    for key, run in itertools.groupby(order, lambda i: paths[i][depth : depth + 1]):
        nodes = list(run)
        if not key:
            members += nodes
            continue
        inner = _by_module(nodes, paths, depth + 1, users)
        name = key[0]
        if len(inner) == 1:
            (only,) = inner
            members.append(
                only if isinstance(only, int) else Group(f"{name}/{only.name}", only.members)
            )
            continue
        seen[name] += 1
        members.append(Group(name if seen[name] == 1 else f"{name} ({seen[name]})", inner))
    return _limited(members, users)


def _limited(members: list[Member], users: Sequence[set[int]]) -> tuple[Member, ...]:
    """The members, chains among them folded where there are many, and cut into parts where there are
    still too many.
    """
    if len(members) > _CHAINS_FROM:
        members = _chained(members, users)
    while len(members) > _MOST:
        members = _parts(members, users)
    return tuple(members)


def _chained(members: list[Member], users: Sequence[set[int]]) -> list[Member]:
    """Runs of plain nodes, each the only user of the one before and using no other node, as groups.

    A chain takes the place of its last node: all that the first one needs comes before it.
    """
    plain = {m for m in members if isinstance(m, int)}
    needs: Counter[int] = Counter(u for used in users for u in used)
    following = {
        m: u for m in plain if len(users[m]) == 1 for u in users[m] if u in plain and needs[u] == 1
    }
    starts = plain - set(following.values())
    chain_of: dict[int, Group] = {}
    inner: set[int] = set()
    for start in starts:
        chain = [start]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        if len(chain) >= _SHORTEST_CHAIN:
            chain_of[chain[-1]] = Group(f"{_CHAIN}{len(chain)}", tuple(chain))
            inner |= set(chain[:-1])
    return [
        chain_of.get(m, m) if isinstance(m, int) else m
        for m in members
        if not (isinstance(m, int) and m in inner)
    ]


def _parts(members: list[Member], users: Sequence[set[int]]) -> list[Member]:
    """The members in parts of about equal size, cut where the fewest nodes' results cross."""
    holder = {n: i for i, m in enumerate(members) for n in nodes_of(m)}
    crossing = [0] * (len(members) + 1)  # of the cut before each member
    for maker, used in enumerate(users):
        if maker in holder:
            last = max((holder[u] for u in used if u in holder), default=0)
            for cut in range(holder[maker] + 1, last + 1):
                crossing[cut] += 1
    count = -(-len(members) // _PART)
    cuts = [0]
    for k in range(1, count):
        aim = k * len(members) // count
        near = range(max(cuts[-1] + 1, aim - _PART // 3), min(len(members), aim + _PART // 3))
        cuts.append(min(near, key=lambda c: (crossing[c], abs(c - aim))))
    cuts.append(len(members))
    return [
        Group(f"part {i + 1} of {count}{_span(members[a:b])}", tuple(members[a:b]))
        for i, (a, b) in enumerate(itertools.pairwise(cuts))
    ]


def _span(members: Sequence[Member]) -> str:
    """`: layer0 … layer17` of a part that begins and ends with modules, or nearly so."""
    modules = [m.name for m in members if isinstance(m, Group) and not m.name.startswith(_CHAIN)]
    return f": {modules[0]} … {modules[-1]}" if len(modules) > len(members) // 2 else ""


def nodes_of(member: Member) -> list[int]:
    """The nodes of a member, those of groups inside it too."""
    if isinstance(member, int):
        return [member]
    return [n for m in member.members for n in nodes_of(m)]


def to_json(members: Sequence[Member]) -> list[object]:
    """Nodes as numbers, groups as [name, members]."""
    return [m if isinstance(m, int) else [m.name, to_json(m.members)] for m in members]
