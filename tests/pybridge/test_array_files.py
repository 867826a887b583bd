# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npy and .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.pybridge.array_files import read_arrays, write_array, write_arrays
from samara.pybridge.errors import FileError, ModelFormatError


def test_round_trip(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"file": np.arange(3), "": np.float32(3)}
    arrays["a/b"] = np.ones((2, 2), np.float16)
    write_arrays(tmp_path / "a.npz", arrays)
    found = read_arrays(tmp_path / "a.npz")
    assert isinstance(found, dict)
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in arrays.items()}
    write_array(tmp_path / "a.npy", np.arange(4))
    alone = read_arrays(tmp_path / "a.npy")
    assert isinstance(alone, np.ndarray)
    assert alone.tolist() == [0, 1, 2, 3]


def test_what_is_none(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npz").write_text("hello")
    whole = tmp_path / "whole.npz"
    write_arrays(whole, {"x": np.ones(1000)})
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:500])
    damaged = bytearray(whole.read_bytes())
    damaged[200] ^= 255
    (tmp_path / "damaged.npz").write_bytes(damaged)
    for name in ("objects.npy", "text.npz", "cut.npz", "damaged.npz"):
        with pytest.raises(ModelFormatError, match=rf"labels .*{name} is not a \.npy or \.npz"):
            read_arrays(tmp_path / name, "labels")
    with pytest.raises(FileError, match="is a folder"):
        read_arrays(tmp_path)
    with pytest.raises(FileError, match="there is no such file"):
        read_arrays(tmp_path / "none.npy")
