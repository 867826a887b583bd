# SPDX-License-Identifier: Apache-2.0
"""Temporary folders, and programs that fail because a disk is full."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from samara.pybridge import BackendError
from samara.pybridge.atomic import put
from samara.pybridge.errors import FileError
from samara.pybridge.scratch import raise_if_full, scratch_folder

FULL = os.strerror(errno.ENOSPC)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of the test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def room(monkeypatch: pytest.MonkeyPatch, **free: int) -> None:
    """Let folders of these names have so much room, others plenty."""
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=free.get(Path(path).name, 1 << 40))
    )


def test_it_goes_with_the_block(temporary: Path) -> None:
    with scratch_folder() as folder:
        put(folder / "deep" / "a", "text")
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []
    with pytest.raises(BackendError), scratch_folder():
        raise BackendError("of the block")
    assert list(temporary.iterdir()) == []


def test_what_the_system_says_is_one_sentence(temporary: Path) -> None:
    with pytest.raises(FileError) as caught, scratch_folder() as folder:
        raise OSError(errno.ENOSPC, FULL, str(folder / "a.o"))
    said = f"temporary files: {temporary} cannot be written"
    assert caught.value.message == f"{said}: the disk is full"
    assert caught.value.fix == "make room there, or set TMPDIR to a folder on another disk"
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(FileError, match="the disk is full"), scratch_folder():
        raise OSError(errno.ENOSPC, FULL, str(temporary))
    # An error about another file passes unchanged, even if that file lies in the same folder.
    with pytest.raises(OSError, match="No space") as other, scratch_folder():
        raise OSError(errno.ENOSPC, FULL, str(temporary / "dist"))
    assert not isinstance(other.value, FileError)


def test_no_folder_can_be_written(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    said = f"temporary files: {temporary} cannot be written"
    with pytest.raises(FileError, match=said) as caught:
        scratch_folder().__enter__()
    assert "TMPDIR" in (caught.value.fix or "")


def test_a_program_that_found_no_room(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = temporary.parent / "out"
    out.mkdir()
    room(monkeypatch, out=3 << 20, temporary=5 << 20)
    raise_if_full("ld: undefined reference to `f'", out)
    with pytest.raises(OSError, match="No space left") as caught:
        raise_if_full(f"ld: final link failed: {FULL}", out)
    assert caught.value.filename == str(out)
    room(monkeypatch, out=5 << 20, temporary=0)
    with pytest.raises(OSError, match="No space left") as caught:  # killed by SIGBUS
        raise_if_full("", out)
    assert caught.value.filename == str(temporary)
    room(monkeypatch)
    raise_if_full("", temporary.parent / "gone")
