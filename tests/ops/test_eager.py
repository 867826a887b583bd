# SPDX-License-Identifier: Apache-2.0
"""Every case of the op table as a prepared operator: any strides, any threads, the reference's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from samara.exporter.ops import Case, OpSpec, all_ops
from samara.exporter.testing import (
    Array,
    assert_close,
    case_attrs,
    case_inputs,
    case_types,
    infer_case,
    run_case,
)
from samara.exporter.types import DType, TensorType
from samara.pybridge import UnsupportedError
from samara.pybridge import op as eager

# What only runs in a model, and what has output dims that depend on data.
LATE = ("nonzero", "range")
OPERATORS = [op for op in all_ops() if "control" not in op.flags and op.name not in LATE]


def spec_of(t: TensorType, array: Array) -> Any:
    """How the operand lies, as prepare takes it; None where it is quantized by channels."""
    if t.quant is None:
        return array
    if t.quant.axis is not None:
        return None
    quant = (float(t.quant.scales[0]), int(t.quant.zero_points[0]))
    return (DType.QS8, array.shape, array.strides, quant)


def scattered(array: Array) -> Array:
    """The same values with gaps between them, some axes reversed."""
    wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
    steps = tuple(
        slice(2 * n - 1, None, -2) if axis % 2 and n else slice(1, 2 * n, 2)
        for axis, n in enumerate(array.shape)
    )
    view = wide[(*steps, ...)]  # of a scalar too
    view[...] = array
    assert view.shape == array.shape
    return view


def run(
    op: OpSpec, case: Case, inputs: list[Array | None], want: Sequence[Array]
) -> list[Array] | None:
    """The operator's outputs, bit for bit the same with two threads; None if it is not for here."""
    types = case_types(case)
    results = infer_case(op, case).types
    if any(t is not None and t.dtype.is_packed for t in (*types, *results)):
        return None  # an array has an item per element, the runtime's memory half a byte
    outputs = [np.full(y.shape, 77, y.dtype) for y in want]
    specs = [
        None if a is None or t is None else spec_of(t, a)
        for a, t in zip(inputs, types, strict=True)
    ]
    into = [spec_of(t, y) for t, y in zip(results, outputs, strict=True)]
    if any(s is None for s in into) or any(
        s is None and a is not None for s, a in zip(specs, inputs, strict=True)
    ):
        return None
    prepared = eager.prepare(op.name, case_attrs(op, case), specs, into)
    for threads in (1, 2):
        eager.set_num_threads(threads)
        before, outputs = outputs, [np.full(y.shape, 77, y.dtype) for y in want]
        prepared(inputs, outputs)
        if threads == 2:
            for a, b in zip(before, outputs, strict=True):
                assert a.tobytes() == b.tobytes(), "two threads change bits"
    return outputs


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_cases(op: OpSpec) -> None:
    before, threads = eager.run_counts().get(op.name, 0), eager.get_num_threads()
    count = 0
    try:
        for case in op.cases:
            inputs, want = case_inputs(op, case), run_case(op, case)
            got = run(op, case, inputs, want)
            if got is None:
                continue
            count += 1
            for y, w in zip(got, want, strict=True):
                assert_close(y, w, op.name)
            strided = [None if a is None else scattered(a) for a in inputs]
            again = run(op, case, strided, want)
            assert again is not None
            for a, b in zip(got, again, strict=True):
                assert a.tobytes() == b.tobytes(), f"{case.name}: strides change bits"
    finally:
        eager.set_num_threads(threads)
    assert count > 0 or any(t is not None and t.quant is not None for t in case_types(op.cases[0]))
    assert eager.run_counts().get(op.name, 0) == before + 4 * count


@pytest.mark.parametrize("name", LATE)
def test_dims_that_depend_on_data_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="depend on data"):
        eager.prepare(name, {}, [("float32", ())] * 3, [("float32", (3,))])
