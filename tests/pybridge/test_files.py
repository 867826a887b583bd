# SPDX-License-Identifier: Apache-2.0
"""What the file system refuses, as one sentence."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.pybridge.errors import ArgumentError, FileError, ModelFormatError, SamaraError
from samara.pybridge.files import (
    check_readable,
    kind_of,
    path_of,
    read_bytes,
    read_text,
    reading,
    unreadable,
    unwritable,
)


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ä\n", encoding="utf-8")
    assert read_text(tmp_path / "a.txt") == "ä\n"
    assert read_bytes(str(tmp_path / "a.txt")) == "ä\n".encode()
    with pytest.raises(FileNotFoundError, match=r"labels .*b.txt: there is no such file") as gone:
        read_text(tmp_path / "b.txt", "labels")
    assert isinstance(gone.value, SamaraError)
    assert "did you mean" in (gone.value.fix or "")
    assert "a.txt" in (gone.value.fix or "")
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        read_bytes(tmp_path)
    with pytest.raises(NotADirectoryError, match=r"a.txt is a file, not a folder"):
        check_readable(tmp_path / "a.txt" / "b")
    (tmp_path / "latin").write_bytes(b"gr\xfcn")
    with pytest.raises(ModelFormatError, match="not UTF-8 text"):
        read_text(tmp_path / "latin")
    with pytest.raises(SamaraError, match="mine"), reading(tmp_path):
        raise SamaraError("mine")


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EISDIR, "it is a folder"),
        (errno.EACCES, "permission denied in"),
        (errno.EPIPE, "nobody reads the pipe"),
        (errno.ENAMETOOLONG, "too long"),
        (errno.EEXIST, "is there"),
        (errno.EIO, "rror"),
    ],
)
def test_writing(tmp_path: Path, number: int, word: str) -> None:
    system = OSError(number, os.strerror(number))
    error = unwritable(tmp_path / "a", system)
    assert word in error.message
    assert error.fix
    assert error.errno == number
    assert isinstance(error, type(system))
    assert error.filename == str(tmp_path / "a")


def test_denied_to_read(tmp_path: Path) -> None:
    error = unreadable(tmp_path / "a", PermissionError(errno.EACCES, "Permission denied"), "labels")
    assert isinstance(error, FileError)
    assert isinstance(error, PermissionError)
    assert error.message == f"labels {tmp_path / 'a'} cannot be read: permission denied"


@pytest.mark.parametrize("value", [None, 1, True, b"a", "", "a\0b", ["a"], {}, np.ones(2)])
def test_what_is_no_path(value: Any) -> None:
    with pytest.raises(ArgumentError, match="the model is") as caught:
        path_of(value, "the model")
    assert caught.value.fix
    assert path_of("a/b", "x") == Path("a/b")


def test_kinds() -> None:
    assert [kind_of(v) for v in (None, 1, "a", [1])] == ["None", "an int", "a str", "a list"]
    assert kind_of(np.ones(2)) == "a numpy.ndarray"
