# SPDX-License-Identifier: Apache-2.0
"""Folded groups: modules by name, chains, parts; every node once, and no cycle between members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from samara.exporter.inspect._groups import Group, Member, fold, nodes_of
from samara.exporter.inspect.contents import NodeRow, TensorRow


def _row(name: str, *inputs: str, module: str | None = None) -> NodeRow:
    """A node; its module is what its name says."""
    made = TensorRow(name, "float32", (1,))
    if module is None:
        module = "/".join(name.split(".")[:-1])
    return NodeRow(name, "add", "pointwise", inputs, (made,), "", "exact", "", (), 0, module=module)


def _shape(members: Sequence[Member], rows: Sequence[NodeRow]) -> list[object]:
    return [
        rows[m].name if isinstance(m, int) else {m.name: _shape(m.members, rows)} for m in members
    ]


def _check(members: Sequence[Member], rows: Sequence[NodeRow]) -> None:
    """Data flows from earlier to later members on every level."""
    holder = {n: i for i, m in enumerate(members) for n in nodes_of(m)}
    maker = {r.name: i for i, r in enumerate(rows)}
    for n, place in holder.items():
        for name in rows[n].inputs:
            if name in maker and maker[name] in holder:
                assert holder[maker[name]] <= place
    assert len(members) <= 48
    for m in members:
        if isinstance(m, Group):
            assert len(m.members) > 1
            _check(m.members, rows)


def test_modules_are_groups_and_single_members_are_not() -> None:
    rows = [
        _row("stem.conv", "x"),
        _row("layers.0.a", "stem.conv"),
        _row("layers.0.b", "layers.0.a"),
        _row("layers.1.a", "layers.0.b"),
        _row("layers.1.b", "layers.1.a"),
        _row("deep.only.a", "layers.1.b"),
        _row("deep.only.b", "deep.only.a"),
    ]
    members = fold(rows)
    assert _shape(members, rows) == [
        "stem.conv",
        {"layers": [{"0": ["layers.0.a", "layers.0.b"]}, {"1": ["layers.1.a", "layers.1.b"]}]},
        {"deep/only": ["deep.only.a", "deep.only.b"]},
    ]
    _check(members, rows)


def test_module_that_runs_twice_is_two_groups() -> None:
    rows = [
        _row("m.a", "x"), _row("m.b", "m.a"), _row("between", "m.b"),
        _row("m.c", "between"), _row("m.d", "m.c"),
    ]  # fmt: skip
    members = fold(rows)
    assert _shape(members, rows) == [{"m": ["m.a", "m.b"]}, "between", {"m (2)": ["m.c", "m.d"]}]


def test_branches_that_are_interleaved_are_one_group_each() -> None:
    rows = []
    for i in range(3):
        for branch in "lr":
            before = f"{branch}.{i - 1}" if i else "x"
            rows.append(_row(f"{branch}.{i}", before))
    members = fold(rows)
    assert [m.name for m in members if isinstance(m, Group)] == ["l", "r"]
    assert len(members) == 2


def test_unnamed_chains_and_long_lists_are_folded() -> None:
    rows = [_row(f"{i}", f"{i - 1}") for i in range(100)]
    (chain,) = fold(rows)
    assert isinstance(chain, Group)
    assert chain.members == tuple(range(100))
    # Each layer is a module, and there are more than fit in one picture.
    rows = [
        _row(f"layer{i}.{k}", f"layer{i - (k == 'a')}.{'b' if k == 'a' else 'a'}")
        for i in range(60)
        for k in "ab"
    ]
    parts = fold(rows)
    assert next(m.name for m in parts if isinstance(m, Group)).startswith("part 1 of 3: layer0 … ")
    _check(parts, rows)


@pytest.mark.parametrize("seed", range(10))
def test_any_graph_is_folded_without_cycles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    modules = ["", "a", "a/b", "a/c", "d", "d/e/f"]
    rows = []
    for i in range(int(rng.integers(1, 400))):
        used = {f"v{int(rng.integers(max(0, i - 30), i))}" for _ in range(2)} if i else {"x"}
        rows.append(_row(f"v{i}", *sorted(used), module=modules[int(rng.integers(len(modules)))]))
    members = fold(rows)
    assert sorted(n for m in members for n in nodes_of(m)) == list(range(len(rows)))
    _check(members, rows)
