# SPDX-License-Identifier: Apache-2.0
"""Well-known datasets and sounds, from files that are already on disk."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.frontend.data.dataset import Dataset, TensorDataset
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import missing
from samara.pybridge.errors import BackendError, SamaraError
from samara.pybridge.files import path_of, read_bytes

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "digit_arrays",
    "digits",
    "load_wav",
    "read_idx",
]


class _Arrays(Dataset):
    """Images and labels in memory; transforms see one sample."""

    def __init__(
        self,
        data: Any,
        targets: list[int],
        transform: Callable[[Any], Any] | None,
        target_transform: Callable[[Any], Any] | None,
    ) -> None:
        self.data = data
        self.targets = targets
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = self.data[index], self.targets[index]
        if self.transform is not None:
            image = self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)


# ---- idx: MNIST and its kin ----

_IDX_TYPES: Final = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """The array of an idx file (http://yann.lecun.com/exdb/mnist), which may be gzipped.

    Raises SamaraError for a file that is damaged or not an idx file.
    """
    file = path_of(path, "path")
    data = read_bytes(file)
    try:
        data = gzip.decompress(data) if file.suffix == ".gz" else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SamaraError(f"{file}: a damaged gzip file ({error})") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX_TYPES or data[3] > 8:
        raise SamaraError(f"{file}: no idx file")
    rank, dtype = data[3], np.dtype(_IDX_TYPES[data[2]])
    begin = 4 + 4 * rank
    shape = struct.unpack(f">{rank}I", data[4:begin]) if len(data) >= begin else ()
    size = dtype.itemsize
    for dim in shape:
        size *= dim
    if len(shape) != rank or len(data) - begin != size:
        raise SamaraError(f"{file}: {len(data)} bytes, expected {begin + size}")
    return np.frombuffer(data, dtype, offset=begin).reshape(shape).astype(dtype.newbyteorder("="))


class MNIST(_Arrays):
    """The handwritten digits of the idx files below `root`: uint8 [28, 28] and the digit.

    The files (`train-images-idx3-ubyte`, `t10k-labels-idx1-ubyte` …, with or without .gz) are in
    `root`, `root/raw` or `root/<name of the class>/raw`. SamaraError if they are missing.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        part = "train" if train else "t10k"
        images = read_idx(self._find(Path(root), f"{part}-images-idx3-ubyte"))
        labels = read_idx(self._find(Path(root), f"{part}-labels-idx1-ubyte"))
        if len(images) != len(labels):
            raise SamaraError(f"{len(images)} images but {len(labels)} labels in {root}")
        super().__init__(images, labels.tolist(), transform, target_transform)

    def _find(self, root: Path, name: str) -> Path:
        for folder in (root, root / "raw", root / type(self).__name__ / "raw"):
            for path in (folder / name, folder / f"{name}.gz"):
                if path.exists():
                    return path
        raise _absent(root, name)


class FashionMNIST(MNIST):
    """Zalando's pictures of clothes, in MNIST's format."""


def _absent(root: Path, name: str) -> SamaraError:
    return SamaraError(f"{root} has no {name}", fix="download the dataset first; samara does not")


# ---- CIFAR ----

_PIXELS: Final = 3 * 32 * 32


class CIFAR10(_Arrays):
    """Small colour images, from the binary version below `root`: uint8 [32, 32, 3] and the class.

    The python version of the files is not read, because unpickling a file can run code. SamaraError if the binary
    files (`cifar-10-batches-bin/data_batch_1.bin` …) are missing or incomplete.
    """

    _folder = "cifar-10-batches-bin"
    _train = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
    _test = ("test_batch.bin",)
    _label_bytes = 1

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        rows = np.concatenate(
            [self._rows(Path(root), n) for n in (self._train if train else self._test)]
        )
        labels = rows[:, self._label_bytes - 1]
        images = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        super().__init__(np.ascontiguousarray(images), labels.tolist(), transform, target_transform)

    def _rows(self, root: Path, name: str) -> Any:
        row = self._label_bytes + _PIXELS
        for path in (root / name, root / self._folder / name):
            if path.exists():
                data = np.frombuffer(read_bytes(path), np.uint8)
                if len(data) == 0 or len(data) % row:
                    raise SamaraError(f"{path}: {len(data)} bytes, expected a multiple of {row}")
                return data.reshape(-1, row)
        raise SamaraError(
            f"{root} has no {self._folder}/{name}", fix="download and unpack the binary version"
        )


class CIFAR100(CIFAR10):
    """The same with 100 classes (the fine labels)."""

    _folder = "cifar-100-binary"
    _train = ("train.bin",)
    _test = ("test.bin",)
    _label_bytes = 2  # coarse, fine


# ---- digits ----


def digit_arrays() -> tuple[Any, Any]:
    """scikit-learn's 1797 digits: float32 [N, 1, 8, 8] in 0..1, and int64 [N].

    BackendError if scikit-learn is not installed.
    """
    try:
        from sklearn import datasets
    except ImportError:
        raise missing("the data set of digits", "scikit-learn", kind=BackendError) from None
    images, labels = datasets.load_digits(return_X_y=True)
    return np.asarray(images / 16.0, np.float32).reshape(-1, 1, 8, 8), np.asarray(labels, np.int64)


def digits(train: bool | None = None) -> TensorDataset:
    """Handwritten digits of 8x8 pixels: tensors [1, 8, 8] in 0..1 and their int64 labels.

    train: every fifth image is kept for the test; None gives all. Raises like `digit_arrays`.
    """
    images, labels = digit_arrays()
    if train is not None:
        kept = (np.arange(len(images)) % 5 != 0) == train
        images, labels = images[kept], labels[kept]
    return TensorDataset(wrap(images), wrap(labels))


# ---- sounds ----

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE


def load_wav(path: str | os.PathLike[str]) -> tuple[Tensor, int]:
    """A WAV file: float32 [channels, frames] and the frames per second.

    PCM of 8, 16, 24 and 32 bits becomes -1..1 (divided by 2^(bits - 1)); floats of 32 and 64 bits
    stay as they are. Chunks as in Microsoft's RIFF/WAVE description; unknown ones are skipped. Raises SamaraError
    for other formats and truncated files.
    """
    file = path_of(path, "path")
    data = read_bytes(file)
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise SamaraError(f"{file}: no WAV file")
    form: tuple[int, int, int, int] | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        body = data[at + 8 : at + 8 + size]
        if name == b"fmt ":
            form = _wav_format(file, body)
        elif name == b"data":
            if form is None or len(body) < size:
                raise SamaraError(f"{file}: the sound is truncated, or comes before its format")
            return _wav_samples(file, body, *form)
        at += 8 + size + size % 2
    raise SamaraError(f"{file}: there is no sound in it")


def _wav_format(file: Path, body: bytes) -> tuple[int, int, int, int]:
    """Code, channels, rate, bits."""
    if len(body) < 16:
        raise SamaraError(f"{file}: the format is truncated")
    code, channels, rate, _bytes, _align, bits = struct.unpack_from("<HHIIHH", body)
    if code == _EXTENSIBLE and len(body) >= 26:
        code = struct.unpack_from("<H", body, 24)[0]
    return code, channels, rate, bits


def _wav_samples(
    file: Path, body: bytes, code: int, channels: int, rate: int, bits: int
) -> tuple[Tensor, int]:
    kinds = {(_PCM, 8): "u1", (_PCM, 16): "<i2", (_PCM, 24): "u1", (_PCM, 32): "<i4"}
    kind = (kinds | {(_FLOAT, 32): "<f4", (_FLOAT, 64): "<f8"}).get((code, bits))
    if kind is None or channels == 0:
        raise SamaraError(
            f"{file}: format {code} with {bits} bits and {channels} channels cannot be read",
            fix="convert it to PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64",
        )
    frame = channels * bits // 8
    raw = np.frombuffer(body, kind, count=len(body) // frame * frame // np.dtype(kind).itemsize)
    if code == _FLOAT:
        samples = raw.astype(np.float32)
    elif bits == 24:
        wide = np.zeros((len(raw) // 3, 4), np.uint8)
        wide[:, 1:] = raw.reshape(-1, 3)
        samples = (wide.view("<i4")[:, 0] / 2.0**31).astype(np.float32)
    elif bits == 8:
        samples = ((raw.astype(np.int16) - 128) / 2.0**7).astype(np.float32)
    else:
        samples = (raw / 2.0 ** (bits - 1)).astype(np.float32)
    return wrap(np.ascontiguousarray(samples.reshape(-1, channels).T)), rate
