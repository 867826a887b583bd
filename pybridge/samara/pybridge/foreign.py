# SPDX-License-Identifier: Apache-2.0
"""Recognise files of other formats by their first bytes, and say what to do with them."""

from __future__ import annotations

import os
from pathlib import Path

from samara.pybridge.errors import ModelFormatError
from samara.pybridge.files import AnyPath, check_readable

HEAD_BYTES = 16

_TORCH = (
    "samara.from_torch(module, example_inputs) converts the module in Python, or write an .onnx file"
    " with torch.onnx.export; of a state dict, samara.load reads the tensors"
)
_ARRAYS = "name the model; arrays are inputs"
_ONNX = "write the model as ONNX, and samara export converts it"

# First bytes, their offset, the format, and what to do.
_MAGIC: tuple[tuple[bytes, int, str, str], ...] = (
    (b"SMRA", 4, "a .samara file", "open it with samara.Session, or samara.open_program"),
    (b"\x93NUMPY", 0, "a .npy file", _ARRAYS),
    (b"TFL3", 4, "a TFLite model", "samara.import_tflite or samara export converts it"),
    (b"\x89HDF\r\n\x1a\n", 0, "an HDF5 file, as Keras writes it", _ONNX),
    (b"GGUF", 0, "a GGUF file", _ONNX),
    (b"\x7fELF", 0, "a program or library", "name the model"),
    (b"\x1f\x8b", 0, "a gzip archive", "unpack it"),
    (b"\x80", 0, "a pickle, as torch.save writes it", _TORCH),
)
_TORCH_SUFFIXES = (".pt", ".pth", ".pt2", ".ckpt", ".bin", ".tar")


def what_is(head: bytes, path: AnyPath = "") -> tuple[str, str] | None:
    """The format of a file with these first bytes, and what to do; None if they are unknown."""
    suffix = Path(path).suffix.lower()
    if head.startswith(b"PK\x03\x04"):
        if suffix == ".npz":
            return "an .npz file", _ARRAYS
        if suffix in (".zip", ".keras", ".mlpackage"):
            return "a zip archive", "unpack it and name the model in it"
        return "a file of torch.save or torch.jit.save", _TORCH
    # A safetensors file starts with the size of its header, which is JSON.
    if head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= 100_000_000:
        return "a safetensors file", "samara.load reads its tensors; the model is code around them"
    for magic, start, what, fix in _MAGIC:
        if head[start : start + len(magic)] == magic:
            return what, fix
    if suffix in _TORCH_SUFFIXES:
        return "no model that samara reads; by its name it is PyTorch's", _TORCH
    return None


def refuse_foreign(path: AnyPath, head: bytes, wanted: str) -> None:
    """ModelFormatError if the first bytes show that a file is another format than `wanted`."""
    found = what_is(head, path)
    if found is not None:
        raise ModelFormatError(
            f"{os.fspath(path) or 'the data'} is {found[0]}, not {wanted}", fix=found[1]
        )


def head_of(path: AnyPath, what: str = "") -> bytes:
    """The first bytes of a file. FileError if it cannot be read."""
    check_readable(path, what)
    with open(path, "rb") as file:
        return file.read(HEAD_BYTES)
