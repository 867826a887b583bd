# SPDX-License-Identifier: Apache-2.0
"""What a native library says of itself."""

from __future__ import annotations

import subprocess
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


def test_a_selective_library(small_dist: Path) -> None:
    """It has no functions that list operators: its manifest does."""
    info = inspect_library(small_dist)
    assert ".".join(map(str, info.version)) == __version__
    assert {"conv", "matmul", "reduce_mean"} <= info.operators
    assert "lstm" not in info.operators
    assert open_failure(small_dist.parent / "small.samara", small_dist) == ""


@pytest.mark.slow
def test_a_library_that_opens_no_files(small_dist: Path, tmp_path: Path) -> None:
    source, whole = tmp_path / "alone.c", (small_dist / "src" / "samara.c").read_text()
    source.write_text(whole.replace("open_path", "open_none"))
    library = tmp_path / "libsamara.so"
    subprocess.run(
        ["cc", "-Og", "-shared", "-fPIC", "-w", source, "-lm", "-o", library], check=True
    )
    assert open_failure(small_dist.parent / "small.samara", library) == ""
    damaged = tmp_path / "m.samara"
    damaged.write_bytes(b"nothing at all")
    assert "not a samara file" in open_failure(damaged, library)
    with pytest.raises(FileError, match="no such file"):
        open_failure(tmp_path / "none.samara", library)


def test_what_is_no_library(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"library .*none.so: there is no such file"):
        inspect_library(tmp_path / "none.so")
    with pytest.raises(BackendError, match="holds no samara library"):
        inspect_library(tmp_path)
    subprocess.run(["cc", "-shared", "-o", tmp_path / "other.so", "-xc", "/dev/null"], check=True)
    with pytest.raises(BackendError, match=r"other.so is not a samara library"):
        inspect_library(tmp_path / "other.so")
