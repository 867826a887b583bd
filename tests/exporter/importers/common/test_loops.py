# SPDX-License-Identifier: Apache-2.0
"""Types of values that a loop carries."""

from __future__ import annotations

import pytest

from samara.exporter.importers.common.loops import widened_types
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, ShapeError, TensorType


def _type(*shape: int, dtype: DType = DType.F32) -> TensorType:
    return TensorType.of(dtype, shape)


def test_a_dim_that_the_body_changes_becomes_a_symbol() -> None:
    program = ProgramBuilder()
    types = [_type(2, 3), _type(4)]
    assert widened_types(program, types, types, types) is None
    made = widened_types(program, types, types, [_type(3, 3), _type(4)])
    assert made is not None
    assert not made[0].shape[0].is_static
    assert made[0].shape[1] == 3
    assert made[1] == types[1]
    # A symbol made before stays.
    assert widened_types(program, made, made, [_type(5, 3), _type(4)]) is None


def test_what_changes_its_rank_or_dtype_is_refused() -> None:
    program = ProgramBuilder()
    for after in (_type(2, 3), _type(2, dtype=DType.I32)):
        with pytest.raises(ShapeError, match="carried value 0 enters as"):
            widened_types(program, [_type(2)], [_type(2)], [after])
