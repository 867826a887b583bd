# SPDX-License-Identifier: Apache-2.0
"""Readers of files on disk: their results, and their errors for other files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.frontend.data import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    digits,
    load_wav,
    read_idx,
)
from samara.pybridge.errors import SamaraError


def idx(array: np.ndarray, code: int) -> bytes:
    head = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def images(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 256, (n, 28, 28), np.uint8)


@pytest.mark.parametrize(
    ("dtype", "code"), [("u1", 8), ("i1", 9), ("i2", 11), ("i4", 12), ("f4", 13), ("f8", 14)]
)
def test_idx_files(dtype: str, code: int, tmp_path: Path) -> None:
    array = (np.arange(24).reshape(2, 3, 4) - 5).astype(dtype)
    (tmp_path / "a").write_bytes(idx(array, code))
    got = read_idx(tmp_path / "a")
    assert got.dtype == np.dtype(dtype)
    assert np.array_equal(got, array)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no idx file"),
        (b"\0\0\x08\x09", "no idx file"),
        (b"\x7fELF1234", "no idx file"),
        (idx(images(2), 8)[:-1], "1583 bytes, expected 1584"),
        (b"\0\0\x08\x02\0\0", "bytes, expected"),
    ],
)
def test_what_is_no_idx_file(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(SamaraError, match=message):
        read_idx(tmp_path / "a")
    (tmp_path / "a.gz").write_bytes(gzip.compress(data)[:-5])
    with pytest.raises(SamaraError, match="damaged gzip"):
        read_idx(tmp_path / "a.gz")


def test_mnist_wherever_its_files_are(tmp_path: Path) -> None:
    x, y = images(5), np.array([3, 1, 4, 1, 5], np.uint8)
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(x, 8))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(y, 8)))
    (raw / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(x[:2], 8)))
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx(y[:3], 8))
    data = MNIST(tmp_path, transform=np.float32, target_transform=str)
    assert len(data) == 5
    image, label = data[2]
    assert image.dtype == np.float32
    assert np.array_equal(image, x[2])
    assert label == "4"
    with pytest.raises(SamaraError, match="has no t10k-images"):
        MNIST(tmp_path, train=False)
    with pytest.raises(SamaraError, match="2 images but 3 labels"):
        FashionMNIST(tmp_path, train=False)


def test_cifar_in_its_binary_version(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (3, 3073), np.uint8)
    rows[:, 0] = [7, 8, 9]
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for i in range(1, 6):
        rows.tofile(folder / f"data_batch_{i}.bin")
    data = CIFAR10(tmp_path)
    assert len(data) == 15
    image, label = data[4]
    assert label == 8
    assert image.shape == (32, 32, 3)
    assert image[2, 5, 1] == rows[1, 1 + 1024 + 2 * 32 + 5]
    with pytest.raises(SamaraError, match="binary version"):
        CIFAR10(tmp_path, train=False)
    (folder / "test_batch.bin").write_bytes(rows[:2].tobytes() + b"x")
    with pytest.raises(SamaraError, match="6147 bytes, expected a multiple of 3073"):
        CIFAR10(folder, train=False)
    np.concatenate([np.full((3, 1), 1, np.uint8), rows], axis=1).tofile(tmp_path / "test.bin")
    assert CIFAR100(tmp_path, train=False).targets == [7, 8, 9]


def test_the_digits() -> None:
    pytest.importorskip("sklearn")
    train, test = digits(True), digits(False)
    assert (len(train), len(test), len(digits())) == (1437, 360, 1797)
    image, label = test[1]
    assert image.shape == (1, 8, 8)
    assert image.dtype == np.float32
    assert image.max().item() == 1
    assert label.item() == digits()[5][1].item()


def wav(code: int, bits: int, channels: int, body: bytes, extra: bytes = b"") -> bytes:
    frame = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, 8000, 8000 * frame, frame, bits) + extra
    chunks = b"".join(
        name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
        for name, data in ((b"fmt ", form), (b"LIST", b"odd"), (b"data", body))
    )
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


@pytest.mark.parametrize(
    ("code", "bits", "body", "want"),
    [
        (1, 8, bytes([0, 128, 255, 64]), [[-1, 127 / 128], [0, -0.5]]),
        (1, 16, struct.pack("<4h", -32768, 0, 32767, 16384), [[-1, 32767 / 32768], [0, 0.5]]),
        (1, 24, b"\0\0\x80\0\0\0\xff\xff\x7f\0\0\x40", [[-1, 8388607 / 8388608], [0, 0.5]]),
        (1, 32, struct.pack("<4i", -(2**31), 0, 2**30, 1), [[-1, 0.5], [0, 2.0**-31]]),
        (3, 32, struct.pack("<4f", 1.5, -2, 0.25, 3), [[1.5, 0.25], [-2, 3]]),
        (3, 64, struct.pack("<4d", 1.5, -2, 0.25, 3), [[1.5, 0.25], [-2, 3]]),
    ],
)
def test_sounds(code: int, bits: int, body: bytes, want: list[list[float]], tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    extensible = struct.pack("<HHIH", 22, bits, 3, code) + b"\0" * 14
    for data in (wav(code, bits, 2, body), wav(0xFFFE, bits, 2, body, extensible)):
        file.write_bytes(data)
        sound, rate = load_wav(file)
        assert rate == 8000
        assert sound.dtype == np.float32
        assert sound.tolist() == np.array(want, np.float32).tolist()
    file.write_bytes(wav(code, bits, 2, body)[:-1])
    with pytest.raises(SamaraError, match="truncated"):
        load_wav(file)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"RIFF", "no WAV file"),
        (b"RIFF\0\0\0\0WAVE", "no sound"),
        (b"RIFF\0\0\0\0WAVEdata\0\0\0\0", "before its format"),
        (b"RIFF\0\0\0\0WAVEfmt \x02\0\0\0ab", "format is truncated"),
        (wav(6, 8, 1, b"a"), "format 6 with 8 bits"),
        (wav(1, 16, 0, b"a"), "0 channels"),
    ],
)
def test_what_is_no_sound(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(data)
    with pytest.raises(SamaraError, match=message):
        load_wav(tmp_path / "a.wav")
