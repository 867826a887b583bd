# SPDX-License-Identifier: Apache-2.0
"""Images in a folder per class."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend.data import DatasetFolder, ImageFolder, load_image
from samara.pybridge.errors import SamaraError, UnsupportedError

GRAY = np.arange(12, dtype=np.uint8).reshape(3, 4)
COLOR = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)


def fill(root: Path) -> None:
    for name in ("cat/b.npy", "cat/sub/a.npy", "ant/c.pgm", "ant/notes.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    np.save(root / "cat/b.npy", COLOR)
    np.save(root / "cat/sub/a.npy", GRAY)
    (root / "ant/c.pgm").write_bytes(b"P5 # a comment\n4 3\n# more\n255\n" + GRAY.tobytes())
    (root / "ant/notes.txt").write_text("nothing")


def test_classes_and_samples(tmp_path: Path) -> None:
    fill(tmp_path)
    data = ImageFolder(tmp_path, target_transform=lambda label: -label)
    assert data.classes == ["ant", "cat"]
    assert data.class_to_idx == {"ant": 0, "cat": 1}
    assert [Path(path).name for path, _ in data.imgs] == ["c.pgm", "b.npy", "a.npy"]
    assert data.targets == [0, 1, 1]
    assert len(data) == 3
    image, label = data[1]
    assert label == -1
    assert np.array_equal(image, COLOR)
    assert np.array_equal(data[0][0], np.repeat(GRAY[:, :, None], 3, 2))
    chosen = ImageFolder(tmp_path, transform=np.max, is_valid_file=lambda path: path[-5] in "ca")
    assert [chosen[i] for i in range(2)] == [(11, 0), (11, 1)]
    assert len(ImageFolder(tmp_path, is_valid_file=lambda _path: True)) == 4


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(SamaraError, match="one per class"):
        ImageFolder(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SamaraError, match=r"empty has no file(.|\n)*\.png"):
        ImageFolder(tmp_path)
    with pytest.raises(SamaraError, match="either extensions"):
        DatasetFolder(tmp_path, load_image)


def test_netpbm(tmp_path: Path) -> None:
    file = tmp_path / "a.ppm"
    file.write_bytes(b"P6\n4 3 255\n" + COLOR.tobytes())
    got = load_image(file)
    assert np.array_equal(got, COLOR)
    got[0, 0, 0] = 9  # writable
    for data, message in (
        (b"P6\n4 3 255\n" + COLOR.tobytes()[:-1], "35 bytes of pixels, expected 36"),
        (b"P3\n4 3 255\n0", "binary PGM or PPM"),
        (b"P6\n4 3 65535\n", "up to 255"),
        (b"P6\n4", "binary PGM or PPM"),
        (b"P6 #", "binary PGM or PPM"),
        (b"", "binary PGM or PPM"),
    ):
        file.write_bytes(data)
        with pytest.raises(SamaraError, match=message):
            load_image(file)


def test_arrays_that_are_no_images(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2), np.float32))
    with pytest.raises(SamaraError, match="found float32"):
        load_image(tmp_path / "a.npy")
    (tmp_path / "a.npy").write_bytes(b"junk")
    with pytest.raises(SamaraError, match=r"a\.npy"):
        load_image(tmp_path / "a.npy")
    with pytest.raises(FileNotFoundError):
        load_image(tmp_path / "b.npy")


def test_other_formats_through_pillow(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(COLOR).save(tmp_path / "a.png")
    image.fromarray(GRAY).save(tmp_path / "b.png")
    assert np.array_equal(load_image(tmp_path / "a.png"), COLOR)
    assert np.array_equal(load_image(tmp_path / "b.png")[:, :, 2], GRAY)
    (tmp_path / "c.jpg").write_bytes(b"junk")
    with pytest.raises(SamaraError, match="no image that Pillow can read"):
        load_image(tmp_path / "c.jpg")
    with pytest.raises(FileNotFoundError):
        load_image(tmp_path / "d.png")


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "PIL":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UnsupportedError, match="needs pillow, which is not") as caught:
        load_image(tmp_path / "a.png")
    assert caught.value.fix == "pip install pillow"
