# SPDX-License-Identifier: Apache-2.0
"""Reports of quantization as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.exporter.quantize.programs import cnn, samples

from samara.exporter.inspect.quantization_report import read_program, write_report
from samara.exporter.ir import save_program
from samara.exporter.quantize.quantize import quantize
from samara.exporter.testing import small_onnx
from samara.exporter.types import QuantizationError, ShapeError


def test_the_name_says_the_format(tmp_path: Path) -> None:
    report = quantize(cnn(), samples(4)).report
    for name in ("r.html", "r.json", "r.txt", "r.toml"):
        write_report(report, tmp_path / name, "title")
    assert json.loads((tmp_path / "r.json").read_text())["scheme"] == "int8"
    assert (tmp_path / "r.txt").read_text() == f"{report}\n"
    assert (tmp_path / "r.toml").read_text() == report.to_toml()
    with pytest.raises(QuantizationError, match=r"\.pdf"):
        write_report(report, tmp_path / "r.pdf", "title")
    assert not (tmp_path / "r.pdf").exists()


def test_programs_of_both_kinds_of_file(tmp_path: Path) -> None:
    save_program(cnn(), tmp_path / "m.samara")
    assert read_program(tmp_path / "m.samara").main.nodes
    with pytest.raises(ShapeError):
        read_program(tmp_path / "m.samara", {"x": (2, 8, 8, 3)})
    (tmp_path / "m.onnx").write_bytes(small_onnx())
    shaped = read_program(tmp_path / "m.onnx", {"image": (5, 3, 8, 8)})
    assert shaped.main.inputs[0].type.static_shape() == (5, 3, 8, 8)
