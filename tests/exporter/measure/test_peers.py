# SPDX-License-Identifier: Apache-2.0
"""Peers: found by name, imported when asked for, and their failures."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import small_tflite

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.tflite_model import import_tflite
from samara.exporter.measure.peers import check_peer, open_peer
from samara.exporter.types import BackendError, ShapeError


def test_onnxruntime_gives_outputs_by_name(onnx_path: Path) -> None:
    peer = open_peer("onnxruntime", onnx_path, 1)
    assert peer.name.startswith("onnxruntime ")
    image = np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    want = import_onnx(onnx_path).run({"image": image})["score"]
    np.testing.assert_allclose(peer.run({"image": image})["score"], want, rtol=1e-4, atol=1e-5)


def test_unknown_peer(onnx_path: Path) -> None:
    with pytest.raises(BackendError, match="no peer 'x'") as caught:
        open_peer("x", onnx_path, 1)
    assert caught.value.fix == "peers are onnxruntime, litert"


def test_litert_gives_outputs_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(small_tflite())
    peer = open_peer("litert", path, 1)
    assert peer.name.startswith("litert ")
    image = np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 8, 8, 1)
    want = import_tflite(path).run({"image": image})["probability"]
    np.testing.assert_allclose(
        peer.run({"image": image})["probability"], want, rtol=1e-4, atol=1e-6
    )
    path.write_bytes(b"no model")
    with pytest.raises(BackendError, match="cannot load"):
        open_peer("litert", path, 1)


def test_each_engine_reads_its_own_kind_of_files() -> None:
    check_peer("litert", "tflite", "m.tflite")
    with pytest.raises(ShapeError, match=r"litert reads .tflite files, and m.onnx is none"):
        check_peer("litert", "onnx", "m.onnx")


def test_model_that_it_cannot_load(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(BackendError, match="cannot load"):
        open_peer("onnxruntime", tmp_path / "m.onnx", 1)


def test_not_installed(onnx_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(BackendError, match="not installed") as caught:
        open_peer("onnxruntime", onnx_path, 1)
    assert caught.value.fix == "pip install onnxruntime"
