# SPDX-License-Identifier: Apache-2.0
"""What a native library says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.pybridge import __version__
from samara.pybridge._native import library_path
from samara.pybridge.errors import BackendError, FileError
from samara.pybridge.probe import inspect_library, open_failure


def test_own_library() -> None:
    info = inspect_library()
    assert info.path == library_path()
    assert ".".join(map(str, info.version)) == __version__
    assert {"conv", "loop", "identity"} <= info.operators
    assert inspect_library(info.path).operators == info.operators


def test_a_folder_with_the_library(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    name = library_path().name
    (tmp_path / "lib" / name).symlink_to(library_path().resolve())
    assert inspect_library(tmp_path).path == tmp_path / "lib" / name


def test_files_that_do_not_open(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    path.write_bytes(b"nothing at all")
    assert open_failure(path) != ""


def test_what_is_no_library(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"library .*none.so: there is no such file"):
        inspect_library(tmp_path / "none.so")
    with pytest.raises(BackendError, match="holds no samara library"):
        inspect_library(tmp_path)
