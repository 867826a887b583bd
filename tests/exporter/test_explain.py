# SPDX-License-Identifier: Apache-2.0
"""Whatever a report can name has an explanation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter import explain
from samara.exporter.demo import digits_net
from samara.exporter.ops import all_ops
from samara.exporter.quantize.terms import TERMS
from samara.pybridge import errors
from samara.pybridge._native import statuses


def test_every_operator_error_and_status_is_explained() -> None:
    names = [op.name for op in all_ops()] + list(errors.__all__) + list(statuses())
    for name in names:
        found = explain.explain(name)
        assert found.paragraphs
        assert found.text().startswith(found.title)
        assert found.to_json()["topic"] == name
    assert set(names) < set(explain.topics())


def test_words_of_quantization_reports_are_explained() -> None:
    found = explain.explain("range used")
    assert (found.topic, found.kind) == ("range used", "quantization")
    assert found.title == "range used %: a word of the quantization report"
    assert "256 steps" in found.text()
    assert set(TERMS) < set(explain.topics())
    assert {explain.explain(name).kind for name in TERMS} == {"quantization"}


def test_families_have_a_contract() -> None:
    for name, text in explain._families().items():
        assert len(text.split()) >= 4, name


_SETS = ("scalar", "avx512", "avx512vnni", "amxint8", "neon_i8mm", "v128", "v128_udot", "v128_sdot")


@pytest.mark.parametrize("isa", _SETS)
def test_instruction_sets_have_a_description(isa: str) -> None:
    found = explain.explain(f"f32_softmax__{isa}")
    assert found.facts["instructions"] != isa


def test_kernels_that_ran_are_explained(tmp_path: Path) -> None:
    onnx = digits_net.onnx_model(digits_net.net().eval())
    samara.export(samara.import_onnx(onnx), tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    session.set_profiling(True)
    session.run({"image": np.zeros((1, 1, 8, 8), np.float32)})
    kernels = {row.kernel for row in session.profile()}
    assert len(kernels) > 3
    assert {explain.explain(name).kind for name in kernels} == {"kernel"}
