# SPDX-License-Identifier: Apache-2.0
"""The op table's cases reach what they must: every operator, dtype, attribute, choice and size."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from samara.exporter.ops import REQUIRED, Attr, OpSpec, all_ops
from samara.exporter.testing import case_attrs, case_types, infer_case

# Ranks and sizes that generated shapes must reach somewhere in the table (design 10).
RANKS = set(range(6))
SIZES = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33}
# Cheap enough that every op suite can run all of them.
MOST_CASES = 2900


def _values(op: OpSpec, attr: Attr) -> set[Any]:
    return {case_attrs(op, case)[attr.name] for case in op.cases}


def idle_attributes(ops: Iterable[OpSpec]) -> list[str]:
    """Attributes that no case moves: off their default or, where they have none, at all."""
    faults = []
    for op in ops:
        for attr in op.attrs:
            seen = _values(op, attr)
            if attr.default is REQUIRED:
                idle = len(seen) < 2
            else:
                default = op.complete({**case_attrs(op, op.cases[0]), attr.name: attr.default})
                idle = seen <= {default[attr.name]}
            if idle:
                faults.append(f"{op.name}.{attr.name}")
            faults += [f"{op.name}.{attr.name}: {c}" for c in attr.choices if c not in seen]
    return faults


def unreached_dtypes(ops: Iterable[OpSpec]) -> list[str]:
    """Declared dtypes of the first input that no case has."""
    faults = []
    for op in ops:
        seen = {t.dtype.short for c in op.cases for t in case_types(c)[:1] if t is not None}
        faults += [f"{op.name}: {d}" for d in op.dtypes if d not in seen]
    return faults


def unused_inputs(ops: Iterable[OpSpec]) -> list[str]:
    """Optional inputs that no case gives, or that every case gives."""
    faults = []
    for op in ops:
        for i, name in enumerate(op.inputs):
            if not name.endswith("?"):
                continue
            given = {i < len(c.inputs) and c.inputs[i] is not None for c in op.cases}
            faults += [f"{op.name}: {name} is never given"] if True not in given else []
            faults += [f"{op.name}: {name} is never absent"] if False not in given else []
    return faults


def test_every_operator_has_cases() -> None:
    assert [op.name for op in all_ops() if not op.cases] == []
    assert sum(len(op.cases) for op in all_ops()) <= MOST_CASES


def test_every_attribute_moves() -> None:
    assert idle_attributes(all_ops()) == []


def test_every_dtype_is_reached() -> None:
    assert unreached_dtypes(all_ops()) == []


def test_optional_inputs_come_and_go() -> None:
    assert unused_inputs(all_ops()) == []


def test_case_names_are_unique() -> None:
    for op in all_ops():
        names = [case.name for case in op.cases]
        assert len(set(names)) == len(names), op.name


def cases_told_twice(op: OpSpec) -> list[str]:
    """Cases whose inputs and attributes an earlier case of the operator has, by name."""
    seen: dict[str, str] = {}
    faults = []
    for case in op.cases:
        inputs = [
            (i.dtype.str, i.shape, i.tobytes()) if isinstance(i, np.ndarray) else i
            for i in case.inputs
        ]
        key = repr((inputs, sorted(case_attrs(op, case).items()), case.low, case.high))
        if key in seen:
            faults.append(f"{op.name}: {case.name} is {seen[key]} once more")
        seen.setdefault(key, case.name)
    return faults


def test_no_case_is_told_twice() -> None:
    assert [fault for op in all_ops() for fault in cases_told_twice(op)] == []


def test_shapes_spread() -> None:
    ranks: set[int] = set()
    sizes: set[int] = set()
    for op in all_ops():
        for case in op.cases:
            for t in case_types(case):
                if t is not None:
                    ranks.add(t.rank)
                    sizes.update(t.static_shape())
    assert ranks >= RANKS
    assert sizes >= SIZES


@pytest.mark.parametrize("op", all_ops(), ids=lambda op: op.name)
def test_permutation_rules_see_attributes_they_know(op: OpSpec) -> None:
    """A layout rule returns complete attributes of its own operator."""
    if op.permute is None or op.permute == "any":
        return
    for case in op.cases:
        types = case_types(case)
        if types[0] is None or types[0].rank < 2:
            continue
        perm = tuple(reversed(range(types[0].rank)))
        attrs = case_attrs(op, case)
        rule = op.permute(attrs, types, infer_case(op, case).types, perm)
        if rule is not None:
            assert set(op.complete(rule.attrs)) == set(attrs)
            assert len(rule.inputs) == len(types)


def test_planted_idle_attribute_is_found() -> None:
    elu = next(op for op in all_ops() if op.name == "elu")
    gelu = next(op for op in all_ops() if op.name == "gelu")
    first = dataclasses.replace(elu, cases=elu.cases[:1])
    assert idle_attributes([first]) == ["elu.alpha"]
    none = [c for c in gelu.cases if c.attrs.get("approximate", "none") == "none"]
    assert "gelu.approximate: tanh" in idle_attributes(
        [dataclasses.replace(gelu, cases=tuple(none))]
    )
    assert unreached_dtypes([dataclasses.replace(elu, dtypes=("f32", "i32"))]) == ["elu: i32"]
    matmul = next(op for op in all_ops() if op.name == "matmul")
    plain = tuple(c for c in matmul.cases if len(c.inputs) == 2)
    assert unused_inputs([dataclasses.replace(matmul, cases=plain)]) == [
        "matmul: bias? is never given",
        "matmul: residual? is never given",
    ]


def test_given_arrays_have_dtypes_of_the_table() -> None:
    """numpy's default, float64, would slip past a rule that names its dtypes loosely."""
    for op in all_ops():
        if "f64" in op.dtypes:
            continue
        for case in op.cases:
            for given in case.inputs:
                assert not isinstance(given, np.ndarray) or given.dtype != np.float64, op.name
