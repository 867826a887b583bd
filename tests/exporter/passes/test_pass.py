# SPDX-License-Identifier: Apache-2.0
"""Helpers of the passes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.passes.programs import program

from samara.exporter import ops
from samara.exporter.ir import Builder, Rewriter, Value, constant
from samara.exporter.ir.rewriter import Rewriters
from samara.exporter.passes._pass import (
    Pass,
    compose,
    inverse,
    is_identity_perm,
    per_channel,
    per_function,
    scalar_of,
)


def test_scalar_of() -> None:
    assert scalar_of(None) is None
    assert scalar_of(constant("c", np.float32(3))) == 3.0
    assert scalar_of(constant("c", np.full((2, 2), 3, np.int64))) == 3.0
    assert scalar_of(constant("c", np.array([1.0, 2.0], np.float32))) is None
    assert scalar_of(constant("c", np.zeros(0, np.float32))) is None


def test_permutations() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    first, then = (2, 0, 1), (1, 0, 2)
    np.testing.assert_array_equal(
        x.transpose(first).transpose(then), x.transpose(compose(first, then))
    )
    assert is_identity_perm(compose(first, inverse(first)))
    assert not is_identity_perm(first)


@pytest.mark.parametrize(
    ("shape", "fits"),
    [((3,), True), ((1, 1, 3), True), ((), True), ((1,), True), ((2, 1), False), ((2,), False)],
)
def test_per_channel(shape: tuple[int, ...], fits: bool) -> None:
    found = per_channel(constant("c", np.ones(shape, np.float32)), 3, 4)
    assert (found is not None) == fits


def test_an_untouched_program_is_the_same_object() -> None:
    def build(b: Builder) -> Value:
        value: Value = b.op("exp", b.input("x", "f32", [1]))
        return value

    p = program(build)
    assert per_function(lambda r: None)(p) is p


def test_passes_share_rewriters_of_unchanged_functions() -> None:
    def build(b: Builder) -> Value:
        value: Value = b.op("exp", b.input("x", "f32", [1]))
        return value

    seen: list[Rewriter] = []

    def edit(r: Rewriter) -> None:
        seen.append(r)
        for node in r.nodes():
            r.replace_node(node, "sin", *node.inputs)

    shared = Rewriters()
    p = program(build)
    look = Pass("look", "", per_function(seen.append, ops.exp))
    for step in (look, look, Pass("other", "", per_function(seen.append, ops.sin, ops.cos))):
        assert step.applied(p, shared) is p
    changed = Pass("edit", "", per_function(edit)).applied(p, shared)
    Pass("last", "", per_function(seen.append)).applied(changed, shared)
    # The first two passes and the edit see one rewriter, the pass that looks for sin none, the last a new one.
    assert len(seen) == 4
    assert seen[0] is seen[1] is seen[2] is not seen[3]
    assert [n.op for n in seen[3].nodes()] == [ops.sin]


def test_a_rewriter_that_took_a_name_is_not_shared() -> None:
    p = program(lambda b: b.op("exp", b.input("x", "f32", [1])))
    shared = Rewriters()
    first = shared.of(p.main, p)
    first.unique("taken")
    assert shared.of(p.main, p) is not first
