# SPDX-License-Identifier: Apache-2.0
"""The safetensors container: files of other programs, and damaged files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend import tensor_file
from samara.exporter.frontend.tensor_file import read_tensors, write_tensors
from samara.exporter.types import ModelFormatError, UnsupportedError

DTYPES = ("?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8", "c8")


def every_dtype() -> dict[str, np.ndarray]:
    return {d: (np.arange(6).reshape(2, 3) % 2).astype(d) for d in DTYPES}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return list(a) == list(b) and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes()
        for k in a
    )


def make(path: Path, header: Any, data: bytes = b"", pad: int = 0) -> Path:
    """A file with this header: a text, or a value to write as JSON."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode() + b" " * pad
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def row(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize("mapped", [False, True])
def test_arrays_come_back(tmp_path: Path, mapped: bool) -> None:
    path = tmp_path / "a"
    arrays = {
        **every_dtype(),
        "scalar": np.array(2.5),
        "empty": np.zeros((0, 3), np.int16),
        'é\n"': np.array([np.nan, -0.0, np.inf], np.float32),
    }
    size = write_tensors(path, arrays, {"note": "hé"})
    assert size == path.stat().st_size
    file = read_tensors(path, mapped=mapped)
    assert same(file.arrays, arrays)
    assert file.metadata == {"note": "hé"}
    assert file.widened == ()
    for array in file.arrays.values():
        assert array.flags.writeable
        assert array.flags.aligned
    file.arrays["f4"][...] = 7  # the reader's own memory
    assert same(read_tensors(path).arrays, arrays)
    path.unlink()
    assert file.arrays["i8"].sum() == arrays["i8"].sum()


def test_order_and_bytes_of_memory_do_not_matter(tmp_path: Path) -> None:
    a = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    arrays = {"t": a.T, "s": a[:, ::-2, 1:3], "b": a.astype(">i4"), "f": np.asfortranarray(a)}
    write_tensors(tmp_path / "a", arrays, {})
    for name, array in read_tensors(tmp_path / "a").arrays.items():
        assert array.dtype == np.int32
        assert array.tolist() == arrays[name].tolist()


def test_the_safetensors_package_agrees(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    safetensors = pytest.importorskip("safetensors")
    arrays = {k: v for k, v in every_dtype().items() if k != "c8"}
    arrays |= {"scalar": np.array(2.5), "empty": np.zeros((0, 3), np.int16)}
    write_tensors(tmp_path / "a", arrays, {"note": "x"})
    theirs = numpy_files.load_file(tmp_path / "a")
    assert same({k: theirs[k] for k in arrays}, arrays)
    with safetensors.safe_open(tmp_path / "a", "numpy") as opened:
        assert opened.metadata() == {"note": "x"}
    numpy_files.save_file(arrays, tmp_path / "b", metadata={"format": "np"})
    ours = read_tensors(tmp_path / "b")
    assert same({k: ours.arrays[k] for k in arrays}, arrays)
    assert ours.metadata == {"format": "np"}


@pytest.mark.parametrize("mapped", [False, True])
def test_bfloat16_is_widened(tmp_path: Path, mapped: bool) -> None:
    bits = np.array([[0x3F80, 0xC049, 0x7F80], [0x0001, 0x8000, 0x7FC1]], np.uint16)
    header = {"x": row("BF16", [2, 3], 0, 12), "one": row("BF16", [], 12, 14)}
    path = make(tmp_path / "a", header, bits.tobytes() + b"\x80\x3f")
    file = read_tensors(path, mapped=mapped)
    assert file.widened == ("x", "one")
    assert file.arrays["x"].dtype == np.float32
    assert file.arrays["x"].view(np.uint32).tolist() == (bits.astype(np.uint32) << 16).tolist()
    assert file.arrays["one"].shape == ()
    assert file.arrays["one"] == 1


def test_dtypes_that_files_or_numpy_lack(tmp_path: Path) -> None:
    for array in (np.zeros(1, np.complex128), np.array(["a"]), np.array([None])):
        with pytest.raises(UnsupportedError, match="array 'x' is"):
            write_tensors(tmp_path / "a", {"x": array}, {})
    assert list(tmp_path.iterdir()) == []
    path = make(tmp_path / "a", {"x": row("F8_E4M3", [1], 0, 1)}, b"\0")
    with pytest.raises(UnsupportedError, match="'x' is F8_E4M3"):
        read_tensors(path)


def test_a_header_that_nobody_would_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensor_file, "MAX_HEADER_BYTES", 64)
    with pytest.raises(UnsupportedError, match="more than 64"):
        write_tensors(tmp_path / "a", {}, {"note": "x" * 64})


@pytest.mark.parametrize(
    ("header", "data", "text"),
    [
        ("[]", b"", "not a JSON object"),
        (" {}", b"", "not a JSON object"),
        ("{", b"", "the header is damaged"),
        ("{} {}", b"", "the header is damaged"),
        ("[" * 100_000, b"", "the header is damaged"),
        ('{"x":' + "9" * 5000 + "}", b"", "the header is damaged"),
        ('{"x":{},"x":{}}', b"", "'x' occurs twice"),
        ({"__metadata__": {"a": 1}}, b"", "not an object of texts"),
        ({"__metadata__": []}, b"", "not an object of texts"),
        ({"x": 1}, b"", "expected dtype, shape and data_offsets"),
        ({"x": {**row("U8", [1], 0, 1), "y": 1}}, b"\0", "expected dtype, shape and data_offsets"),
        ({"x": row("U9", [1], 0, 1)}, b"\0", "there is no dtype 'U9'"),
        ({"x": {**row("U8", [1], 0, 1), "dtype": []}}, b"\0", "there is no dtype"),
        ({"x": row("U8", [-1], 0, 1)}, b"\0", r"the shape is \[-1\]"),
        ({"x": {**row("U8", [1], 0, 1), "shape": [True]}}, b"\0", "the shape is"),
        ({"x": {**row("U8", [1], 0, 1), "shape": [1.0]}}, b"\0", "the shape is"),
        ({"x": {**row("U8", [1], 0, 1), "shape": "1"}}, b"\0", "the shape is"),
        ({"x": row("U8", [1] * 33, 0, 1)}, b"\0", "the shape is"),
        ({"x": row("U8", [1 << 62, 0], 0, 0)}, b"", "the shape is"),
        ({"x": row("U8", [1 << 61, 0, 1 << 61], 0, 0)}, b"", "tensor 'x'"),
        ({"x": row("U8", [1], 1, 0)}, b"\0", "data_offsets are"),
        ({"x": {**row("U8", [1], 0, 1), "data_offsets": [0]}}, b"\0", "data_offsets are"),
        ({"x": row("F32", [1], 0, 3)}, b"\0" * 3, "has 3 bytes, its shape needs 4"),
        ({"x": row("U8", [2], 0, 2), "y": row("U8", [2], 1, 3)}, b"\0" * 3, "'y' begins at byte 1"),
        ({"x": row("U8", [1], 1, 2)}, b"\0\0", "'x' begins at byte 1"),
        ({"x": row("U8", [1], 0, 1)}, b"\0\0", "too long"),
        ({"x": row("U8", [1], 0, 1)}, b"", "cut off: the tensors have 1 bytes, the file 0"),
        ({"x": row("BOOL", [2], 0, 2)}, b"\1\2", "bytes other than 0 and 1"),
        ({"n" * 1000: 1}, b"", "'" + "n" * 199 + "…"),
    ],
)
def test_damage_is_named(tmp_path: Path, header: Any, data: bytes, text: str) -> None:
    path = make(tmp_path / "a", header, data, pad=3)
    for mapped in (False, True):
        with pytest.raises(ModelFormatError, match=text) as raised:
            read_tensors(path, mapped=mapped)
        assert str(path) in raised.value.message


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "cut off after 0 bytes"),
        (b"\x02\0\0", "cut off after 3 bytes"),
        (b"\x01\0\0\0\0\0\0\0{", "not a safetensors file"),
        (b"\x09\0\0\0\0\0\0\0{}", "cut off after 10 bytes; the header alone has 9"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "not a safetensors file"),  # a pickle
        (b"PK\x03\x04" + b"\0" * 60, "a zip archive, as torch.save"),
        (b"\x40\0\0\0SMRA" + b"\0" * 60, "that is a model; use samara.Session"),
    ],
)
def test_foreign_files_are_told_apart(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ModelFormatError, match=text):
        read_tensors(tmp_path / "a")


def test_every_truncation_and_many_flips(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_tensors(path, {"w": np.ones((2, 3), np.float32), "m": np.ones(3, bool)}, {"k": "v"})
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFormatError):
            read_tensors(path)
    r = random.Random(1)
    header = 8 + int.from_bytes(whole[:8], "little")
    loaded = 0
    for bit in range(8 * header):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        if r.random() < 0.3:
            damaged[r.randrange(header)] = r.choice(b'"{}[]:,0-9\\\xff')
        path.write_bytes(damaged)
        try:
            read_tensors(path, mapped=bool(bit % 2))
            loaded += 1  # a name or a text changed
        except ModelFormatError:
            pass
    assert 0 < loaded < 2 * header
