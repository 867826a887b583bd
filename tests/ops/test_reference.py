# SPDX-License-Identifier: Apache-2.0
"""Every row of the op table on its own cases: shape rule against reference, and with symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.cases import each_case

from samara.exporter.ops import Case, OpSpec, Permuted, all_ops, custom, register_custom
from samara.exporter.testing import (
    Array,
    assert_close,
    case_attrs,
    case_inputs,
    case_types,
    guards_hold,
    infer_case,
    quant_of,
    run_case,
    with_symbols,
)
from samara.exporter.types import Born, Dim, SamaraError, ShapeError, Sym, TensorType

register_custom("test::scale", lambda x, by, times: x * np.float32(by**times))
register_custom("test::pick", lambda x, y: (np.maximum(x, y), np.array(x.size)))
register_custom("test::none", lambda x: x[x > 0])

CASES = [(op, case) for op in all_ops() for case in op.cases if op.name != "trap"]


def _sizes(
    types: Sequence[TensorType], outputs: Sequence[Array], values: Mapping[str, int]
) -> list[tuple[int, ...]]:
    """The shapes that the rule predicts; born sizes are what the outputs show."""

    def born(atom: Any) -> int:
        assert isinstance(atom, Born)
        return int(outputs[atom.output].shape[atom.axis])

    return [tuple(d.evaluate(values, born) for d in t.shape) for t in types]


@each_case(CASES)
def test_shape_rule(op: OpSpec, case: Case) -> None:
    outputs = run_case(op, case)
    said = infer_case(op, case)
    assert said.context.guards == []  # everything is static, so everything is decided
    assert [t.dtype.numpy for t in said.types] == [y.dtype for y in outputs]
    assert _sizes(said.types, outputs, {}) == [y.shape for y in outputs]
    for (output, axis), bound in said.context.bounds.items():
        assert outputs[output].shape[axis] <= bound.as_int()


def _undecided(op: OpSpec, case: Case) -> bool:
    """Cases whose rule needs numbers: a rank that depends on a size, or scales per index."""
    return bool(case.functions) or op.name in ("gather_nd", "scatter_nd")


@each_case(CASES)
def test_shape_rule_with_symbols(op: OpSpec, case: Case) -> None:
    """Sizes become symbols; with the case's sizes every guard holds and the shapes are right."""
    if _undecided(op, case):
        return
    types, values = with_symbols(case_types(case))
    said = infer_case(op, case, types)
    outputs = run_case(op, case)
    assert guards_hold(said.context, values) == []
    assert _sizes(said.types, outputs, values) == [y.shape for y in outputs]


@each_case(CASES)
def test_cost(op: OpSpec, case: Case) -> None:
    assert op.cost is not None
    said = infer_case(op, case)
    flops, size = op.cost(case_attrs(op, case), case_types(case), said.types)
    for dim in (flops, size):
        low = dim.bounds()[0]
        assert low is not None
        assert low >= 0


def test_refuses_other_sizes_at_run_time() -> None:
    """A guard that symbols leave behind is broken by sizes that the operator refuses."""
    by_name = {op.name: op for op in all_ops()}
    n, m = Dim.atom(Sym("n")), Dim.atom(Sym("m"))

    def guards(name: str, types: list[TensorType], **attrs: Any) -> Any:
        op = by_name[name]
        return infer_case(op, Case(()), types, op.complete(attrs)).context

    add = guards("add", [TensorType.of("f32", (n, 3)), TensorType.of("f32", (m, 3))])
    assert guards_hold(add, {"n": 2, "m": 2}) == []
    assert guards_hold(add, {"n": 2, "m": 5})
    one = guards("add", [TensorType.of("f32", (5,)), TensorType.of("f32", (m,))])
    assert guards_hold(one, {"m": 5}) == guards_hold(one, {"m": 1}) == []
    assert guards_hold(one, {"m": 4})
    numel = guards("reshape", [TensorType.of("f32", (n, 4))], shape=(m, 2))
    assert guards_hold(numel, {"n": 3, "m": 6}) == []
    assert guards_hold(numel, {"n": 3, "m": 5})


# ---- dtypes ----


@pytest.mark.parametrize("op", all_ops(), ids=lambda op: op.name)
def test_other_dtypes_are_refused(op: OpSpec) -> None:
    if not op.dtypes:
        return
    case = op.cases[0]
    types = case_types(case)
    refused = next((d for d in ("f64", "u8", "bool", "i32", "f32", "u4") if d not in op.dtypes), "")
    if not refused:  # a copy takes anything
        return
    first = next((i for i, t in enumerate(types) if t is not None), None)
    if first != 0 or types[0] is None:
        return
    other = TensorType.of(refused, types[0].shape)
    with pytest.raises(ShapeError, match=r"expected one of"):
        infer_case(op, case, [other, *types[1:]])


@pytest.mark.parametrize("op", all_ops(), ids=lambda op: op.name)
def test_input_counts(op: OpSpec) -> None:
    types = case_types(op.cases[0])
    if op.min_inputs:
        with pytest.raises(ShapeError):
            infer_case(op, op.cases[0], [None] * len(types))
    if op.max_inputs is not None:
        extra = [*types, *[TensorType.of("f32", ())] * (op.max_inputs + 1 - len(types))]
        with pytest.raises(ShapeError, match="inputs, expected"):
            infer_case(op, op.cases[0], extra)


@each_case(CASES)
def test_inputs_are_not_written(op: OpSpec, case: Case) -> None:
    inputs = case_inputs(op, case)
    before = [None if x is None else x.copy() for x in inputs]
    run_case(op, case, inputs)
    for x, y in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, y)


# ---- permutations ----

PERMS: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((1, 0),),
    3: ((2, 0, 1), (0, 2, 1)),
    4: ((0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0)),
    5: ((0, 4, 1, 2, 3), (4, 2, 0, 3, 1)),
}


def _rule(
    op: OpSpec,
    attrs: Mapping[str, Any],
    types: Sequence[TensorType | None],
    outputs: Sequence[TensorType],
    perm: tuple[int, ...],
) -> Permuted | None:
    if op.permute != "any":
        assert op.permute is not None
        return op.permute(attrs, types, outputs, perm)
    if any(t is not None and t.rank != len(perm) for t in types):
        return None  # the layout pass gives all operands one rank first
    return Permuted((perm,) * len(types), (perm,) * len(outputs), attrs)


PERMUTED = [
    (op, case)
    for op, case in CASES
    if op.permute is not None
    and case.inputs
    and case_types(case)[0] is not None
    and (case_types(case)[0] or TensorType.of("f32", ())).rank in PERMS
]


@each_case(PERMUTED)
def test_permute(op: OpSpec, case: Case) -> None:
    """op(transposed) == transposed(op), as the layout rule says."""
    inputs, types, attrs = case_inputs(op, case), case_types(case), case_attrs(op, case)
    outputs, said = run_case(op, case), infer_case(op, case).types
    assert types[0] is not None
    for perm in PERMS[types[0].rank]:
        rule = _rule(op, attrs, types, said, perm)
        if rule is None:
            continue
        moved = [
            x if x is None or p is None else np.ascontiguousarray(x.transpose(p))
            for x, p in zip(inputs, rule.inputs, strict=True)
        ]
        new_types = [_moved(t, p) for t, p in zip(types, rule.inputs, strict=True)]
        got = op.evaluate(moved, op.complete(rule.attrs), quant_of(new_types))
        results = got if isinstance(got, tuple) else (got,)
        for y, want, p in zip(results, outputs, rule.outputs, strict=True):
            assert_close(y, want if p is None else want.transpose(p), op.name)
        again = infer_case(op, case, new_types, op.complete(rule.attrs)).types
        assert [t.static_shape() for t in again] == [y.shape for y in results]


def _moved(t: TensorType | None, perm: tuple[int, ...] | None) -> TensorType | None:
    if t is None or perm is None:
        return t
    quant = t.quant
    if quant is not None and quant.axis is not None:
        quant = quant.with_axis(perm.index(quant.axis))
    return TensorType(t.dtype, tuple(t.shape[p] for p in perm), quant)


def test_every_rule_is_exercised() -> None:
    """Each operator with a layout rule has a case that the rule follows."""
    for op in all_ops():
        if op.permute is None:
            continue
        followed = False
        for other, case in PERMUTED:
            if other is op:
                types, said = case_types(case), infer_case(op, case).types
                perms = PERMS[types[0].rank if types[0] is not None else 2]
                attrs = case_attrs(op, case)
                followed |= any(_rule(op, attrs, types, said, p) is not None for p in perms)
        assert followed, op.name


def test_trap_and_unknown_custom() -> None:
    trap = next(op for op in all_ops() if op.name == "trap")
    for case in trap.cases:
        with pytest.raises(SamaraError, match=case.attrs["message"]):
            run_case(trap, case)
        infer_case(trap, case)
    with pytest.raises(SamaraError, match="no reference"):
        custom(np.zeros(1, np.float32), name="test::absent", dtypes=(1,), ranks=(1,))
