# SPDX-License-Identifier: Apache-2.0
"""Files of every kind through one door."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.exporter.importers.tflite.models import small_tflite

from samara.exporter.importers.model_files import diagnose_model, import_model, kind_of_model
from samara.exporter.testing import small_onnx
from samara.exporter.types import FileError, ModelFormatError


def test_kinds(tmp_path: Path) -> None:
    for name, data, kind in (
        ("m.onnx", small_onnx(), "onnx"),
        ("m.tflite", small_tflite(), "tflite"),
        ("renamed.bin", small_tflite(), "tflite"),
        ("damaged.tflite", b"nothing", "tflite"),
        ("notes.txt", b"text", None),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert kind_of_model(path) == kind
    assert import_model(tmp_path / "renamed.bin").entries == ("serving_default",)
    assert diagnose_model(tmp_path / "m.onnx").program is not None
    assert diagnose_model(tmp_path / "m.tflite").problems == ()
    with pytest.raises(
        ModelFormatError, match=r"neither a .samara file nor named .onnx or .tflite"
    ):
        import_model(tmp_path / "notes.txt")
    with pytest.raises(FileError, match="there is no such file"):
        kind_of_model(tmp_path / "none.onnx")
