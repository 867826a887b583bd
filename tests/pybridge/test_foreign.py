# SPDX-License-Identifier: Apache-2.0
"""Files that are no models: what they are, and what to do with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import samara
from samara.pybridge.foreign import head_of, refuse_foreign, what_is


def test_each_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones(2))
    np.save(tmp_path / "a.npy", np.ones(2))
    samara.save({"w": np.ones(2, np.float32)}, tmp_path / "a.safetensors")
    words = {"a.npz": ".npz", "a.npy": ".npy", "a.safetensors": "safetensors"}
    for name, data, word in (
        ("new.pt", b"PK\x03\x04 torch.save writes zip archives", "torch.save"),
        ("old.pth", b"\x80\x02 and wrote pickles", "pickle"),
        ("empty.pt", b"", "PyTorch's"),
        ("m.h5", b"\x89HDF\r\n\x1a\n and so on", "HDF5"),
        ("m.tflite", b"\x1c\0\0\0TFL3 and so on", "a TFLite model"),
        ("m.gguf", b"GGUF and so on", "GGUF"),
    ):
        (tmp_path / name).write_bytes(data)
        words[name] = word
    for name, word in words.items():
        path = tmp_path / name
        found = what_is(head_of(path), path)
        assert found is not None, name
        assert word in found[0], name
        for read in (samara.Session, samara.open_program):
            with pytest.raises(samara.ModelFormatError) as caught:
                read(path)
            if name != "empty.pt":
                assert word in caught.value.message, name
    (tmp_path / "text").write_text("hello, this is text")
    assert what_is(head_of(tmp_path / "text"), tmp_path / "text") is None
    refuse_foreign("text", b"hello, this is text", "a model")


def test_a_torch_file_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the importer needs the extra onnx")
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04 torch.save writes zip archives")
    with pytest.raises(samara.ModelFormatError, match="not an ONNX model") as caught:
        samara.import_onnx(path)
    for word in ("samara.from_torch", "torch.onnx.export", "samara.load"):
        assert word in (caught.value.fix or "")
