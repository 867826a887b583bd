# SPDX-License-Identifier: Apache-2.0
"""Operators out of scope get one clear sentence, before anything else is said of them."""

from __future__ import annotations

import onnx
import pytest
from tests.exporter.importers.onnx.models import parse, refused

from samara.exporter.importers.onnx import supported_operators
from samara.exporter.importers.onnx.scope_limits import find_limit, limits
from samara.exporter.types import UnsupportedError

NAMES = [op for _, operators in limits() for op in operators if not op.endswith(".*")]


@pytest.mark.parametrize("operator", NAMES)
def test_limited_operators_exist_and_have_no_rule(operator: str) -> None:
    assert onnx.defs.has(operator)
    assert ("", operator) not in supported_operators()
    assert find_limit("", operator) is find_limit("ai.onnx", operator)


def test_whole_domains() -> None:
    assert find_limit("ai.onnx.ml", "Scaler") is not None
    assert find_limit("com.example", "Scaler") is None
    assert find_limit("", "Conv") is None


def test_the_answer_names_operator_reason_and_way_out() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Bernoulli(x) }")
    caught = refused(model, UnsupportedError)
    text = str(caught)
    assert "Bernoulli is out of scope: it draws random numbers" in text
    assert "RandomUniformLike" not in text  # what its definition is made of
    assert "fix: make the numbers an input" in text
