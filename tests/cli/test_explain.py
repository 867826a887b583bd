# SPDX-License-Identifier: Apache-2.0
"""`samara explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from samara.exporter.testing import small_onnx

Samara = Callable[..., Result]


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [
        ("conv", ("operator of the family", "conv(x, w, bias?, residual?) -> y", "attribute pads")),
        ("ShapeError", ("ValueError", "session.inputs", "BAD_SHAPE (11)")),
        ("BAD_MODEL", ("status 20", "ModelFormatError", "samara inspect --verify")),
        ("SAMARA_LIMIT", ("status 41", "LimitError")),
        ("60", ("SAMARA_BAD_DATA", "SamaraError")),
        ("0", ("succeeded",)),
        ("f32_gemm_8x48__avx512", ("family f32_gemm", "8 rows x 48 columns", "AVX-512")),
        ("i8_gemm", ("family of kernels", "i8_gemm")),
        ("view", ("nothing was moved",)),
    ],
)
def test_topics(samara: Samara, topic: str, wanted: tuple[str, ...]) -> None:
    result = samara("explain", topic)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    for text in wanted:
        assert text in said


def test_a_node(samara: Samara, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(small_onnx())
    facts = json.loads(samara("explain", "model.onnx", "relu", "--json").stdout)
    assert facts["kind"] == "node"
    assert facts["facts"]["kernel here"].startswith("f32_")
    # A node that another one computes is explained by that one.
    absorbed = json.loads(samara("explain", "model.onnx", "conv", "--json").stdout)
    assert "conv was fused into relu" in absorbed["paragraphs"][0]
    wrong = samara("explain", "model.onnx", "rel")
    assert wrong.exit_code == 1
    assert "did you mean relu" in wrong.output


def test_what_is_unknown(samara: Samara) -> None:
    wrong = samara("explain", "sofmax")
    assert wrong.exit_code == 1
    assert "softmax" in wrong.output
    assert "samara ops" in samara("explain", "zzzzzzz").output
