# SPDX-License-Identifier: Apache-2.0
"""Writing files atomically: failures, kills, leftovers, writers side by side."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from samara.pybridge.atomic import replacing


def _write_and_fail(file: BinaryIO, error: type[BaseException]) -> None:
    file.write(b"new")
    raise error


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content in (b"one", b"two, which is longer", b""):
        before = path.read_bytes() if path.exists() else None
        with replacing(path) as file:
            file.write(content)
            file.flush()
            assert (path.read_bytes() if path.exists() else None) == before
            assert len(names(tmp_path)) == (1 if before is None else 2)
        assert path.read_bytes() == content
        assert names(tmp_path) == ["a"]


def test_new_files_get_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    with replacing(tmp_path / "a"):
        pass
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "usual").stat().st_mode
    )


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), replacing(path) as file:
            _write_and_fail(file, error)

    def full(_: int) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="disk full"), replacing(path) as file:
            file.write(b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_file_and_its_folder_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def record(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), names(tmp_path) == ["a"]))

    monkeypatch.setattr("os.fsync", record)
    with replacing(tmp_path / "a") as file:
        file.write(b"x")
    assert synced == [(False, False), (True, True)]  # the folder after the renaming


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "a")
    with replacing(tmp_path / "link") as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a").read_bytes() == b"x"


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"), replacing(tmp_path / "none" / "a"):
        pass


def test_leftovers_of_killed_writers_go(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from samara.pybridge.atomic import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "a.b"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code, path], env=environment, check=False)
        assert done.returncode == -9
        (left,) = names(tmp_path)  # the second writer removed what the first left
        assert left.startswith(".a.b.")
    (tmp_path / ".a.b.note.saving").write_bytes(b"the user's own")
    (tmp_path / ".a.0123456789abcdef.saving").write_bytes(b"of another name")
    with replacing(path) as file:
        file.write(b"whole")
    assert names(tmp_path) == [".a.0123456789abcdef.saving", ".a.b.note.saving", "a.b"]
    assert path.read_bytes() == b"whole"


def test_a_living_writer_is_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with replacing(path) as slow:
        slow.write(b"slow")
        with replacing(path) as quick:
            quick.write(b"quick")
        assert path.read_bytes() == b"quick"
    assert path.read_bytes() == b"slow"
    assert names(tmp_path) == ["a"]


def test_a_writer_that_lost_its_file_before_its_lock_takes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from samara.pybridge import atomic

    lost: list[Path] = []

    def lock(handle: int, *, wait: bool) -> None:
        if wait and not lost:  # another writer is quicker
            lost.extend(tmp_path.glob(".a.*"))
            lost[0].unlink()

    monkeypatch.setattr(atomic, "lock", lock)
    with replacing(tmp_path / "a") as file:
        assert file.name != str(lost[0])
        file.write(b"x")
    assert (tmp_path / "a").read_bytes() == b"x"
