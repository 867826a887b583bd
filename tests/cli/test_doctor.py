# SPDX-License-Identifier: Apache-2.0
"""`samara doctor`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.parser
from tests.exporter.doctor.app.made import PLAIN_MANIFEST, elf, zipped
from typer.testing import Result

Samara = Callable[..., Result]


def test_healthy_model(samara: Samara, onnx_path: Path, samara_path: Path) -> None:
    result = samara("doctor", onnx_path)
    assert result.exit_code == 0, result.output
    assert "will not work: nothing" in result.stdout
    assert "export gives" in result.stdout
    facts = json.loads(samara("doctor", onnx_path, "--json").stdout)
    assert facts["healthy"] is True
    assert facts["prediction"]["file_bytes"] > 0
    assert samara("doctor", samara_path).exit_code == 0


def test_sick_model(samara: Samara, tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    graph = "g (float[2] x) => (float[2] y) { y = Nothing(x) }"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 21]> ' + graph), path)
    result = samara("doctor", path)
    assert result.exit_code == 1
    assert "Nothing" in result.stdout
    assert json.loads(samara("doctor", path, "--json").stdout)["healthy"] is False


def test_shapes_and_bounds(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    result = samara("doctor", onnx_path, "--shape", "image=2x3x8x8")
    assert result.exit_code == 0, result.output
    assert "dims that stay symbolic" not in result.stdout
    assert samara("doctor", onnx_path, "--bound", "batch<=4").exit_code == 0
    assert samara("doctor", tmp_path / "none.onnx").exit_code == 1


def test_records_that_do_not_fit(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    good = ("--preprocess", "image: rgb float32 nchw resize=8x8 mean=127.5 std=127.5")
    asked = samara("doctor", onnx_path, *good, "--postprocess", "classify #0 softmax")
    assert asked.exit_code == 0, asked.output
    wrong = samara("doctor", onnx_path, "--preprocess", "image: rgb float32 nhwc resize=8x8")
    assert wrong.exit_code == 1
    assert "change the record's layout" in wrong.stdout
    labels = tmp_path / "labels.txt"
    labels.write_text("a\n")
    few = samara("doctor", onnx_path, "--postprocess", "classify #0 softmax", "--labels", labels)
    assert "labels for" in few.stdout
    assert samara("doctor", onnx_path, "--postprocess", "classify").exit_code in (1, 2)


def test_an_app(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    text = b"samara-manifest 1\nversion 0.9.0\nops all\nparts all\n\0"
    entries = {
        "AndroidManifest.xml": PLAIN_MANIFEST,
        "jni/x86_64/libsamara_jni.so": elf("x86_64", payload=text),
        "assets/m.samara": samara_path.read_bytes(),
    }
    good = tmp_path / "good.aar"
    good.write_bytes(zipped(entries))
    result = samara("doctor", good)
    assert result.exit_code == 0, result.output
    assert "would fail on devices: nothing; doubtful: nothing" in result.stdout
    facts = json.loads(samara("doctor", good, "--json").stdout)
    assert facts["healthy"] is True
    assert facts["models"][0]["runs_on"] == ["x86_64"]

    old = tmp_path / "old.aar"
    library = elf("x86_64", payload=text, alignment=4096)
    old.write_bytes(zipped({**entries, "jni/x86_64/libsamara_jni.so": library}))
    result = samara("doctor", old)
    assert result.exit_code == 1
    assert "laid out for pages of 4096 bytes" in result.stdout
    assert json.loads(samara("doctor", old, "--json").stdout)["healthy"] is False


def test_what_is_no_app(samara: Samara, tmp_path: Path) -> None:
    (tmp_path / "x.apk").write_bytes(b"nothing")
    result = samara("doctor", tmp_path / "x.apk")
    assert result.exit_code == 1
    assert "not a readable ZIP archive" in result.output
    assert samara("doctor", tmp_path / "none.apk").exit_code == 1
    assert samara("doctor", tmp_path / "x.apk", "--shape", "x=1").exit_code == 2
