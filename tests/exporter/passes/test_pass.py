# SPDX-License-Identifier: Apache-2.0
"""Helpers of the passes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.passes.programs import program

from samara.exporter.ir import Builder, Value, constant
from samara.exporter.passes._pass import (
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
