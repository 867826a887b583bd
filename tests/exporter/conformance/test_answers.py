# SPDX-License-Identifier: Apache-2.0
"""Right and wrong answers: to the bit for integers, within the tolerance for floats."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from samara.exporter.conformance.answers import Question, is_distrust
from samara.exporter.conformance.operators import dtype_of
from samara.exporter.conformance.programs import one_node
from samara.exporter.ops import get_op
from samara.exporter.testing import run_case
from samara.pybridge import Backend


def _question(name: str, dtype: str) -> Question:
    op = get_op(name)
    for case in op.cases:
        if dtype_of(op, case) == dtype and max(a.size for a in run_case(op, case)) > 1:
            made = one_node(op, case, "static")
            assert made is not None
            return Question(op, name, made, made.feeds)
    raise AssertionError(name)


def test_floats_have_a_tolerance() -> None:
    question = _question("exp", "f32")
    (want,) = question.want.values()
    assert question.difference({"y0": want}) == ""
    assert question.difference({"y0": want * np.float32(1 + 2e-7)}) == ""
    assert "elements differ; first at" in question.difference({"y0": want * np.float32(1.001)})
    assert "shape" in question.difference({"y0": want.reshape(-1)[:1]})


@pytest.mark.parametrize(("name", "dtype"), [("qadd", "qs8"), ("add", "i32"), ("neg", "f32")])
def test_everything_else_is_exact(name: str, dtype: str) -> None:
    question = _question(name, dtype)
    got = next(iter(question.want.values())).copy()
    assert question.difference({"y0": got}) == ""
    got.reshape(-1)[1] += 1
    assert "output y0: 1 of" in question.difference({"y0": got})


def test_what_a_device_answers(mirror: Backend, mirror_hooks: ctypes.CDLL) -> None:
    question = _question("exp", "f32")
    session = question.session(mirror)
    assert question.refused(session) == ""
    assert question.asked(session) == ""
    mirror_hooks.mirror_lie(1)  # of a node that is trusted by now
    assert "elements differ" in question.asked(session)
    mirror_hooks.mirror_fail(b"submit", 1)
    assert "mirror: call" in question.asked(session)


def test_what_a_device_refuses(mirror: Backend, mirror_hooks: ctypes.CDLL) -> None:
    question = _question("exp", "f32")
    mirror_hooks.mirror_fail(b"supports", -1)
    assert question.refused(question.session(mirror)) != ""
    mirror_hooks.mirror_reset()
    mirror_hooks.mirror_lie(1)
    assert "is not what the CPU computes" in question.asked(question.session(mirror))
    assert is_distrust(question.refused(question.session(mirror)))
