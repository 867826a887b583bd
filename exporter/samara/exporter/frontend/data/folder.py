# SPDX-License-Identifier: Apache-2.0
"""Datasets of one file per sample, in a folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.frontend.data.dataset import Dataset
from samara.exporter.types import missing
from samara.pybridge.errors import SamaraError
from samara.pybridge.files import check_readable, path_of, read_bytes, reading

__all__ = ["IMG_EXTENSIONS", "DatasetFolder", "ImageFolder", "load_image"]

IMG_EXTENSIONS: Final = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".pgm", ".npy")
_NETPBM: Final = {b"P5": 1, b"P6": 3}  # channels


def load_image(path: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    """An image file as uint8 [height, width, 3].

    .npy (uint8 [H, W] or [H, W, 3]) and binary PGM and PPM are read directly, anything else through Pillow
    (UnsupportedError if it is not installed). Raises SamaraError for a file that is damaged or not an image.
    """
    file = path_of(path, "path")
    kind = file.suffix.lower()
    if kind == ".npy":
        check_readable(file)
        try:
            array = np.load(file, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise SamaraError(f"{file}: {error}") from None
    elif kind in (".pgm", ".ppm"):
        array = _netpbm(file)
    else:
        array = _pillow(file)
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
        raise SamaraError(
            f"{file}: an image is uint8 [H, W] or [H, W, 3], found {array.dtype} {list(array.shape)}"
        )
    return array


def _netpbm(file: Path) -> Any:
    """Binary PGM or PPM with 8 bits (https://netpbm.sourceforge.net/doc/ppm.html)."""
    data = read_bytes(file)
    channels = _NETPBM.get(data[:2])
    numbers: list[int] = []
    at = 2
    while channels is not None and len(numbers) < 3:
        while data[at : at + 1].isspace() or data[at : at + 1] == b"#":
            at = _line_end(data, at) if data[at : at + 1] == b"#" else at + 1
        start = at
        while data[at : at + 1].isdigit():
            at += 1
        if at == start or at - start > 9:
            break
        numbers.append(int(data[start:at]))
    if channels is None or len(numbers) < 3 or numbers[2] != 255:
        raise SamaraError(f"{file}: expected a binary PGM or PPM (P5, P6) with values up to 255")
    width, height, _most = numbers
    size = width * height * channels
    pixels = data[at + 1 : at + 1 + size]  # one white space follows the numbers
    if len(pixels) != size:
        raise SamaraError(f"{file}: {len(pixels)} bytes of pixels, expected {size}")
    shape = (height, width) if channels == 1 else (height, width, 3)
    return np.frombuffer(bytearray(pixels), np.uint8).reshape(shape)


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def _pillow(file: Path) -> Any:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise missing(f"{file}: reading {file.suffix}", "pillow") from None
    check_readable(file)
    try:
        with Image.open(file) as image:
            return np.array(image.convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise SamaraError(f"{file}: no image that Pillow can read ({error})") from None


class DatasetFolder(Dataset):
    """Samples `root/class/…/file`: (loader(path), number of the class).

    Classes are the folders in `root`, sorted; files are those of the given extensions (or that
    `is_valid_file` accepts), sorted, in subfolders too. `transform` and `target_transform` are
    applied to the two parts. SamaraError if there are no classes, or a class has no file.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[str], Any],
        extensions: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        if (extensions is None) == (is_valid_file is None):
            raise SamaraError("give either extensions or is_valid_file")
        self.root = os.fspath(root)
        self.loader = loader
        self.transform = transform
        self.target_transform = target_transform
        with reading(root):
            self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        if not self.classes:
            raise SamaraError(f"{self.root} has no folders, one per class is expected")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        if is_valid_file is None:
            assert extensions is not None
            endings = tuple(ending.lower() for ending in extensions)

            def is_valid_file(path: str) -> bool:
                return path.lower().endswith(endings)

        self.samples: list[tuple[str, int]] = []
        for name, i in self.class_to_idx.items():
            found = sorted(
                os.path.join(folder, file)
                for folder, _folders, files in os.walk(os.path.join(self.root, name))
                for file in files
                if is_valid_file(os.path.join(folder, file))
            )
            if not found:
                raise SamaraError(
                    f"{os.path.join(self.root, name)} has no file of this dataset",
                    fix=None if extensions is None else f"extensions are {', '.join(extensions)}",
                )
            self.samples += [(path, i) for path in found]
        self.targets = [target for _path, target in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)


class ImageFolder(DatasetFolder):
    """Images in a folder per class. A sample is the result of `loader`: uint8 [H, W, 3]."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = load_image,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file)
        self.imgs = self.samples
