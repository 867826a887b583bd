# SPDX-License-Identifier: Apache-2.0
"""Every case of an operator on a device: what is counted under which dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from samara.exporter.conformance.operators import cases_of, dtype_of, examine, questions
from samara.exporter.ops import get_op
from samara.pybridge import Backend


def test_all_cases_or_one_of_each_dtype() -> None:
    op = get_op("add")
    every = cases_of(op, quick=False)
    assert sum(len(cases) for cases in every.values()) == len(op.cases)
    assert all(dtype_of(op, case) == dtype for dtype, cases in every.items() for case in cases)
    quick = cases_of(op, quick=True)
    assert quick.keys() == every.keys()
    assert all(1 <= len(cases) <= 4 for cases in quick.values())


def test_every_form_is_asked() -> None:
    op = get_op("conv")
    case = cases_of(op, quick=True)["f32"][0]
    forms = [form for form, _ in questions(op, case)]
    assert {"static", "symbols", "weights", "constants", "inside"} <= set(forms)


def test_a_device_that_supports_it(mirror: Backend) -> None:
    found = examine(get_op("qconv"), mirror, quick=True)
    (row,) = found.rows
    assert (row.op, row.dtype, row.failed, row.refused) == ("qconv", "qs8", 0, 0)
    assert row.supported == row.passed > 4
    assert found.sizes > 0
    assert found.proven
    assert found.wrong_sizes == []


def test_refusals_have_reasons(device_library: Callable[[str], Path]) -> None:
    npu = Backend(device_library("npu"), cache=False)
    rows = {r.dtype: r for r in examine(get_op("max_pool"), npu, quick=True).rows}
    assert rows["qs8"].passed > 0
    assert (rows["f32"].supported, rows["f32"].reasons) == (0, ("only int8 is supported",))


def test_output_dims_that_depend_on_data(mirror: Backend) -> None:
    (row, *_) = examine(get_op("nonzero"), mirror, quick=True).rows
    assert row.reasons == ("its output dims depend on data",)


def test_a_device_that_fails_while_planning_is_no_refusal(
    mirror: Backend, mirror_hooks: ctypes.CDLL
) -> None:
    mirror_hooks.mirror_fail(b"allocate", -1)
    rows = examine(get_op("exp"), mirror, quick=True).rows
    assert all(row.failed > 0 and row.refused == 0 for row in rows)
    assert "of allocate fails" in rows[0].failure


def test_a_lie_is_found(mirror: Backend, mirror_hooks: ctypes.CDLL) -> None:
    mirror_hooks.mirror_lie(1)
    found = examine(get_op("add"), mirror, quick=True)
    rows = {r.dtype: r for r in found.rows}
    assert rows["f32"].failed > 0
    assert rows["f32"].failure.startswith("add-")
    assert "mirror:0: checking" in rows["f32"].failure
    # Such nodes are refused from then on, which is no excuse.
    assert rows["f32"].refused == 0
    assert rows["i32"].failed == 0
