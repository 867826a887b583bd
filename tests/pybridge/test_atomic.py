# SPDX-License-Identifier: Apache-2.0
"""Writing files atomically: failures, kills, leftovers, writers side by side."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from samara.pybridge import FileError, atomic
from samara.pybridge.atomic import (
    check_writable,
    put,
    replacing,
    replacing_files,
    replacing_folder,
    write_text,
)


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
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "usual")}
    assert len(modes) == 1


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


# ---- targets that are no plain files


def test_permissions_are_kept_and_protection_is_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    for mode in (0o600, 0o664, 0o755):
        path.write_bytes(b"old")
        path.chmod(mode)
        write_text(path, "new")
        assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")
    access = os.access
    monkeypatch.setattr("os.access", lambda p, m: p != path and access(p, m))  # root may do all
    with pytest.raises(PermissionError, match="write-protected") as caught, replacing(path):
        pass
    assert isinstance(caught.value, FileError)
    with pytest.raises(FileError, match="write-protected"):
        check_writable(path)
    assert names(tmp_path) == ["a"]


def test_devices_and_pipes_are_written_directly(tmp_path: Path) -> None:
    write_text("/dev/null", "x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(FileError, match="/dev/full cannot be written: the disk is full"):
        write_text("/dev/full", "x")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert found == ["through"]
    assert names(tmp_path) == ["pipe"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output(tmp_path: Path, name: str) -> None:
    code = (
        "import sys\n"
        "from samara.pybridge.atomic import write_text\n"
        "print('before')\n"
        "write_text(sys.argv[1], 'written\\n')\n"
        "print('after')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, name]
    with (tmp_path / "out").open("wb") as out:  # a redirection to a file, which stays in place
        subprocess.run(command, env=environment, stdout=out, check=True)
    piped = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    assert piped.stdout == (tmp_path / "out").read_bytes() == b"before\nwritten\nafter\n"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    wrong = {
        tmp_path / "none" / "a": (FileNotFoundError, "there is no folder"),
        tmp_path: (IsADirectoryError, "it is a folder"),
        tmp_path / "file" / "a": (NotADirectoryError, "is a file, not a folder"),
        tmp_path / ("a" * 300): (OSError, "the name is too long"),
    }
    for path, (kind, words) in wrong.items():
        for write in (lambda p: write_text(p, "x"), check_writable):
            if "too long" in words and write is check_writable:
                continue
            with pytest.raises(kind, match=words) as caught:
                write(path)
            assert isinstance(caught.value, FileError)
            assert caught.value.fix
    with pytest.raises(FileError, match="it is a folder"):
        write_text(f"{tmp_path}/a/", "x")
    with pytest.raises(FileNotFoundError, match="of another file"), replacing(tmp_path / "a"):
        raise FileNotFoundError(2, "of another file", "/elsewhere/b")
    assert names(tmp_path) == ["file"]


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    for text in ("one", "two"):
        write_text(path, text)
        assert path.read_text() == text
    assert names(tmp_path) == [path.name]


# ---- folders


def _fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        put(folder / name, text)


def _content(folder: Path) -> dict[str, str]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_text() for p in files}


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_is_replaced_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    if not exchanges:
        monkeypatch.setattr(atomic, "_exchanged", lambda _a, _b: False)
    path = tmp_path / "deep" / "out"
    for version in ({"a": "1", "b/c": "2"}, {"a": "3"}):
        before = _content(path)
        with replacing_folder(path, ours=lambda _: None) as fresh:
            _fill(fresh, version)
            assert _content(path) == before
        assert _content(path) == version
    with pytest.raises(FileError), replacing_folder(path, ours=lambda _: None) as fresh:
        _fill(fresh, {"a": "half", "a/b": "no folder"})
    assert _content(path) == {"a": "3"}
    (tmp_path / "file").write_text("")
    not_mine = "is there already and is not mine"
    with (
        pytest.raises(FileExistsError, match=not_mine),
        replacing_folder(path, ours=lambda _: "is not mine"),
    ):
        pass
    at = tmp_path / "file"
    with (
        pytest.raises(FileError, match="a file of that"),
        replacing_folder(at, ours=lambda _: None),
    ):
        pass
    assert names(path.parent) == ["out"]


def test_a_folder_that_was_moved_away_comes_back(tmp_path: Path) -> None:
    old = tmp_path / f".out.{'0' * 16}.old"
    _fill(old, {"a": "1"})
    with replacing_folder(tmp_path / "out", ours=lambda _: None) as fresh:
        assert _content(tmp_path / "out") == {"a": "1"}
        _fill(fresh, {"a": "2"})
    assert names(tmp_path) == ["out"]


def test_a_folder_that_cannot_be_renamed_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> bool:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(atomic, "_exchanged", busy)
    path = tmp_path / "out"
    _fill(path, {"a": "1", "gone/b": "2"})
    with replacing_folder(path, ours=lambda _: None) as fresh:
        _fill(fresh, {"a": "3", "c/d": "4"})
    assert _content(path) == {"a": "3", "c/d": "4"}
    assert names(tmp_path) == ["out"]


def test_files_join_those_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "src"
    _fill(path, {"mine.c": "own", "a.c": "old"})
    inode = path.stat().st_ino
    for version in ({"a.c": "1", "a.h": "1"}, {"a.c": "2", "a.h": "2"}):
        with replacing_files(path) as fresh:
            _fill(fresh, version)
        assert _content(path) == {"mine.c": "own", **version}
    assert path.stat().st_ino == inode
    with replacing_files(tmp_path / "new") as fresh:
        _fill(fresh, {"a.c": "1"})
    monkeypatch.chdir(tmp_path / "new")  # a shell that stands there must still see it
    inode = (tmp_path / "new").stat().st_ino
    with replacing_files(Path()) as fresh:
        _fill(fresh, {"a.c": "2"})
    assert (Path("a.c").read_text(), (tmp_path / "new").stat().st_ino) == ("2", inode)
    with pytest.raises(NotADirectoryError, match="it is a file"), replacing_files(path / "a.c"):
        pass
    assert names(path) == ["a.c", "a.h", "mine.c"]


def test_files_that_cannot_all_be_replaced_stay(tmp_path: Path) -> None:
    path = tmp_path / "src"
    _fill(path, {"a.c": "old", "b.h/mine": "own"})
    with pytest.raises(FileError) as caught, replacing_files(path) as fresh:
        _fill(fresh, {"a.c": "new", "b.h": "new", "c.c": "new"})
    assert f"{path / 'b.h'} cannot be written: it is a folder" in str(caught.value)
    assert _content(path) == {"a.c": "old", "b.h/mine": "own"}
    assert names(path) == ["a.c", "b.h"]
