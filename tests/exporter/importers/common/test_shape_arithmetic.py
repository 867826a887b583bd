# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of tensors of dims: the same as numpy's for numbers; refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samara.exporter.importers.common import shape_arithmetic as arithmetic
from samara.exporter.importers.common.operand import ShapeData, shape_data
from samara.exporter.importers.common.scope import Operands
from samara.exporter.importers.common.shape_arithmetic import NotArithmetic
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, as_dim

A, B = [[7, -7, 3]], [[2], [-3]]


def _data(values: Any, dtype: DType = DType.I64) -> ShapeData:
    return shape_data(np.array(values, dtype=object), dtype)


def _ints(data: ShapeData) -> Any:
    return data.array().tolist()


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (arithmetic.plus, np.add),
        (arithmetic.minus, np.subtract),
        (arithmetic.times, np.multiply),
        (arithmetic.smaller, np.minimum),
        (arithmetic.larger, np.maximum),
        (arithmetic.floored_quotient, np.floor_divide),
        (arithmetic.truncated_quotient, lambda a, b: np.trunc(a / b).astype(np.int64)),
        (arithmetic.COMPARISONS["le"], lambda a, b: (a <= b).astype(np.int64)),
        (arithmetic.COMPARISONS["ne"], lambda a, b: (a != b).astype(np.int64)),
    ],
)
def test_two_operands_broadcast(f: Callable[[Any, Any], Any], want: Any) -> None:
    got = arithmetic.folded([_data(A), _data(B)], f)
    assert _ints(got) == want(np.array(A), np.array(B)).tolist()


def test_what_moves_elements() -> None:
    x = _data([[1, 2], [3, 4]])
    assert _ints(arithmetic.gather(x, _data([1, -1]), axis=1)) == [[2, 2], [4, 4]]
    assert _ints(arithmetic.gather(x, _data(0))) == [1, 2]
    assert _ints(arithmetic.concat([x, x], axis=0)) == [[1, 2], [3, 4]] * 2
    assert _ints(arithmetic.expanded(_data([1, 2]), (2, 2))) == [[1, 2], [1, 2]]
    assert _ints(arithmetic.filled((2,), as_dim(7), DType.I32)) == [7, 7]
    assert _ints(arithmetic.stepped(_data(1), _data(8), _data(3))) == [1, 4, 7]
    assert _ints(arithmetic.chosen(_data([1, 0]), _data([5, 6]), _data([7, 8]))) == [5, 8]
    assert _ints(arithmetic.reduced(_data([2, 3, 4]), arithmetic.both, [0], True)) == [24]
    assert _ints(arithmetic.negated(_data([1, -2]))) == [-1, 2]
    assert arithmetic.cast(_data([0, 5]), DType.BOOL).dims() == (0, 1)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: arithmetic.gather(_data([1, 2]), _data([2])),
        lambda: arithmetic.concat([_data([1]), _data([1], DType.I32)]),
        lambda: arithmetic.filled((10**6,), as_dim(1), DType.I64),
        lambda: arithmetic.stepped(_data(0), _data(5), _data(0)),
        lambda: arithmetic.reduced(_data([[1, 2]]), arithmetic.plus, None, False),
        lambda: arithmetic.folded([_data([1]), _data([0])], arithmetic.truncated_quotient),
        lambda: arithmetic.folded([_data([1]), _data([0])], arithmetic.remainder),
        lambda: arithmetic.cast(_data([1]), DType.U8),
        lambda: arithmetic.scalar(_data([1, 2])),
        lambda: arithmetic.need([None], 0),
    ],
)
def test_what_cannot_be_expressed(refused: Callable[[], Any]) -> None:
    with pytest.raises(NotArithmetic):
        refused()


def test_sizes_and_constants_are_operands_too() -> None:
    program = ProgramBuilder()
    scope = Operands(program.function("main"))
    x = scope.builder.input("x", DType.F32, ["n", 3])
    dims = arithmetic.dims_of(scope, x)
    assert dims is not None
    assert arithmetic.product(dims) == x.type.shape[0] * 3
    assert arithmetic.dims_of(scope, shape_data([1, 2])) == [as_dim(2)]
    half = arithmetic.as_data(scope.builder.const(np.array([0.5, 2.0], np.float32)))
    assert half is not None
    scaled = arithmetic.folded([_data([dims[0], dims[0]], DType.F32), half], arithmetic.times)
    assert arithmetic.floored(scaled.dims()[1]) == dims[0] * 2
    assert arithmetic.as_data(x) is None
    assert arithmetic.concluded(scope, None) is None
