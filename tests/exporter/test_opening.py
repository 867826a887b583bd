# SPDX-License-Identifier: Apache-2.0
"""Opening what a report is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.ir import open_program
from samara.exporter.opening import opened
from samara.exporter.types import ModelFormatError, SamaraError


def test_samara_file_is_given_as_it_is(samara_path: Path) -> None:
    notes: list[str] = []
    with opened(samara_path, note=notes.append) as file:
        assert file.path == samara_path
        assert file.source is None
    assert notes == []


def test_suffix_does_not_matter_for_a_samara_file(samara_path: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "model.bin"
    renamed.write_bytes(samara_path.read_bytes())
    with opened(renamed) as file:
        assert file.path == renamed


def test_onnx_is_converted_and_said_so(onnx_path: Path) -> None:
    notes: list[str] = []
    with opened(onnx_path, shapes={"image": (2, 3, 8, 8)}, note=notes.append) as file:
        kept = file.path
        assert file.source == onnx_path
        assert open_program(kept).main.inputs[0].type.static_shape() == (2, 3, 8, 8)
    assert not kept.exists()
    assert len(notes) == 1
    assert "converted in memory" in notes[0]
    assert f"samara export {onnx_path}" in notes[0]


def test_unoptimized_conversion_keeps_every_tensor(onnx_path: Path) -> None:
    with opened(onnx_path, optimize=False) as file:
        names = {v.name for v in open_program(file.path).main.values()}
    assert "relu" in names


def test_neither(tmp_path: Path) -> None:
    other = tmp_path / "model.tflite"
    other.write_bytes(b"TFL3" * 10)
    with (
        pytest.raises(ModelFormatError, match=r"an offset .* leads out of the file|bytes at"),
        opened(other),
    ):
        pass
    with pytest.raises(SamaraError, match="there is no such file"), opened(tmp_path / "no.onnx"):
        pass
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff" * 50)
    with pytest.raises(ModelFormatError), opened(broken):
        pass
