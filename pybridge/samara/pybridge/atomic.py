# SPDX-License-Identifier: Apache-2.0
"""The one place that writes files and folders: a name shows the old content or the new one, whole,
at every moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from samara.pybridge.errors import FileError, SamaraError
from samara.pybridge.files import AnyPath, path_of, unwritable

if sys.platform != "win32":
    import fcntl

_LONGEST_NAME = 255  # bytes, on the file systems that people use
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # of Linux' renameat2
_RENAME_SWAP = 2  # of macOS' renamex_np
# What file systems say that cannot do something: exchange names, lock, sync a folder.
_CANNOT = frozenset(
    getattr(errno, name, -1) for name in ("EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EBADF")
)
# What keeps a folder from being renamed, though files in it can be made: a mount point, a parent
# that may not be written.
_FIXED = frozenset((errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS))


# ---- one file


def write_bytes(path: AnyPath, data: bytes | memoryview) -> None:
    """Write a whole file, as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: AnyPath, text: str) -> None:
    """Write a whole file in UTF-8, as `replacing` does."""
    write_bytes(path, text.encode("utf-8"))


@contextlib.contextmanager
def replacing(path: AnyPath) -> Iterator[BinaryIO]:
    """A file to write, which becomes `path` when the block ends well and vanishes when it raises.

    It is written under another name in the same folder, synced, and renamed; then the folder is
    synced, so that the new content survives a power cut as well. A process that is killed in
    between leaves a `.NAME.….saving` behind, which the next writer of that name removes. A link is
    followed. An existing file keeps its permissions, and one that is write-protected is refused; a
    new one gets the usual ones. A target that is no regular file (a device, a pipe, /dev/stdout)
    gets the content when the block ends.

    Raises FileError, which says what the file system refuses; what the block raises otherwise
    passes through.
    """
    given = path_of(path, "path")
    with _named(given):
        if os.fspath(path).endswith(os.sep):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        direct, target = _target(given)
        with _to_device(given) if direct else _to_file(target) as file:
            yield file


@contextlib.contextmanager
def _to_file(target: Path) -> Iterator[BinaryIO]:
    with _successor(target) as file:
        yield file
        _complete(file, target)
        Path(file.name).replace(target)
    _sync_folder(target.parent)


@contextlib.contextmanager
def _successor(target: Path) -> Iterator[BinaryIO]:
    """A new file beside `target`, which vanishes when the block raises before it was renamed."""
    if _status(target) is not None and not os.access(target, os.W_OK):
        code = errno.EROFS if _is_read_only(target.parent) else errno.EACCES
        raise OSError(code, os.strerror(code))
    remove_leftovers(target)
    with _fresh(target) as file:
        try:
            yield file
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _complete(file: BinaryIO, target: Path) -> None:
    """Sync a successor, with the owner and the permissions of `target`: renaming is all that is left."""
    file.flush()
    old = _status(target)
    if old is not None:
        _like(file.fileno(), old)
    os.fsync(file.fileno())


@contextlib.contextmanager
def _to_device(path: Path) -> Iterator[BinaryIO]:
    """A temporary file, whose content goes to what cannot be renamed away, once it is whole."""
    with tempfile.NamedTemporaryFile(prefix="samara-") as file:
        yield file  # type: ignore[misc]
        file.flush()
        file.seek(0)
        if sys.stdout is not None:
            sys.stdout.flush()  # what was printed before comes before
        handle = _own_handle(path)
        opened = os.dup(handle) if handle is not None else os.open(path, os.O_WRONLY | os.O_TRUNC)
        with open(opened, "wb") as device:
            shutil.copyfileobj(file, device)


def _target(path: Path) -> tuple[bool, Path]:
    """Whether `path` must be written directly; else the file to replace, links followed."""
    status = _status(path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if status is not None and (not stat.S_ISREG(status.st_mode) or _own_handle(path) is not None):
        return True, path
    return False, Path(os.path.realpath(path))


def _own_handle(path: Path) -> int | None:
    """The open file of this process that `path` names: 1 for /dev/stdout; None for another name."""
    name = os.path.abspath(path)
    for _ in range(40):  # links deep, as the system allows
        found = re.fullmatch(rf"/(?:dev|proc/(?:self|{os.getpid()}))/fd/(\d+)", name)
        if found:
            return int(found[1])
        try:
            link = os.readlink(name)
        except OSError:
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), link))
    return None


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _like(handle: int, old: os.stat_result) -> None:
    """Give an open file the owner, where that is allowed, and the permissions of another."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        if (old.st_uid, old.st_gid) != (os.getuid(), os.getgid()):
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def check_writable(path: AnyPath) -> None:
    """FileError where `replacing` would refuse `path` right away: for a result that takes long to
    make.
    """
    given = path_of(path, "path")
    with _named(given):
        direct, target = _target(given)
        if direct:
            return
        for place in (target, target.parent):
            if place is target and not target.exists():
                continue
            status = os.stat(place)
            if place is target.parent and not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if not os.access(place, os.W_OK):
                code = errno.EROFS if _is_read_only(target.parent) else errno.EACCES
                raise OSError(code, os.strerror(code))


def check_folder(path: AnyPath) -> None:
    """FileError where `replacing_folder` would refuse `path` right away, whatever is in it."""
    given = path_of(path, "path")
    with _named(given):
        place = Path(os.path.realpath(given))
        while not place.exists() and place != place.parent:
            place = place.parent
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place, os.W_OK):
            code = errno.EROFS if _is_read_only(place) else errno.EACCES
            raise OSError(code, os.strerror(code))


def _is_read_only(folder: Path) -> bool:
    """Whether the file system of a folder is mounted so."""
    if not hasattr(os, "statvfs"):
        return False
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def remove_leftovers(target: Path) -> None:
    """Remove what killed writers of `target` left; what living ones are writing is locked."""
    for leftover in _leftovers(target, "saving"):
        with contextlib.suppress(OSError), open(leftover, "rb") as file:
            lock(file.fileno(), wait=False)
            os.unlink(leftover)


@contextlib.contextmanager
def _fresh(target: Path) -> Iterator[BinaryIO]:
    """A new, locked file beside `target`, with the permissions that new files get."""
    while True:
        name = _beside(target, "saving")
        with open(name, "xb") as file:
            with contextlib.suppress(OSError):  # not every file system has locks
                lock(file.fileno(), wait=True)
            # Between its creation and its lock the file looks like a leftover to another writer.
            if is_there(file.fileno(), file.name):
                yield file
                return


# ---- a folder


@contextlib.contextmanager
def replacing_folder(path: AnyPath, *, ours: Callable[[Path], str | None]) -> Iterator[Path]:
    """A new folder to fill, which becomes `path` when the block ends well and vanishes when it raises.

    ours: says why an existing folder may not be replaced, None where it may; an empty one always
    may. Folders above it are made. All files are synced, then the names of old and new folder are
    exchanged. A process that is killed leaves a `.NAME.….building` behind, which the next writer of
    that name removes. Where the system cannot exchange names, the old folder is moved away first,
    and put back by the next writer if nobody put the new one in its place. A folder that cannot be
    renamed (a mount point) is filled file by file.

    Raises FileError as `replacing` does, and where something else is at `path`.
    """
    given = path_of(path, "path")
    with _named(given), _staged(given) as fresh:
        target = Path(os.path.realpath(given))
        _refuse(given, target, ours)
        yield fresh
        _refuse(given, target, ours)  # it may have come meanwhile
        _put_folder(fresh, target)


@contextlib.contextmanager
def replacing_files(path: AnyPath) -> Iterator[Path]:
    """A folder to fill, whose files replace those of the same name in `path` when the block ends
    well; other files in `path` stay.

    A folder that has none but these is replaced at once, as `replacing_folder` does. Else, and
    where `path` is the working directory, the folder stays, for others may stand in it or add to it
    meanwhile: all files are written, then each is replaced whole, one right after the other. Whoever
    is killed between these renames leaves some files new and others old.
    """
    given = path_of(path, "path")
    with _named(given), _staged(given) as fresh:
        target = Path(os.path.realpath(given))
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        yield fresh
        names = set(os.listdir(fresh))
        if _is_whole(target, names):
            _put_folder(fresh, target)
        else:
            _put_files(fresh, target)


def put(path: Path, data: bytes | str) -> None:
    """Write a file in a folder that is not shown yet: of `replacing_folder`, or a temporary one.

    The folders above it are made. An OSError names the file, for whoever made the folder to say what
    the user knows it by.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


def make_folder(path: AnyPath) -> Path:
    """Make a folder and those above it, where they are missing. FileError as `replacing`."""
    folder = path_of(path, "path")
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn what the file system says of `path`, and of files beside it, into a FileError."""
    try:
        yield
    except SamaraError:
        raise
    except OSError as error:
        where = error.filename if isinstance(error.filename, (str, bytes)) else None
        if where is not None and not _is_beside(os.fsdecode(where), path):
            raise  # of another file, which the block used
        raise unwritable(path, error) from None


def _is_beside(name: str, path: Path) -> bool:
    folder = os.path.dirname(os.path.realpath(path))
    return os.path.realpath(name).startswith(os.path.join(folder, "")) or folder.startswith(
        os.path.realpath(name)
    )


@contextlib.contextmanager
def _staged(given: Path) -> Iterator[Path]:
    """A folder to fill beside the target, or in it where its parent cannot be written."""
    target = Path(os.path.realpath(given))
    target.parent.mkdir(parents=True, exist_ok=True)
    _recover(target)
    try:
        fresh, handle = _fresh_folder(_beside(target, "building"))
    except OSError as error:
        if error.errno not in _FIXED or not target.is_dir():
            raise
        fresh, handle = _fresh_folder(target / _beside(target, "building").name)
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _fresh_folder(name: Path) -> tuple[Path, int | None]:
    """A new folder, open and locked, where folders can be."""
    while True:
        name.mkdir()
        try:
            handle = os.open(name, os.O_RDONLY)
        except FileNotFoundError:
            continue
        except OSError:  # Windows
            return name, None
        with contextlib.suppress(OSError):
            lock(handle, wait=True)
        # Between its creation and its lock the folder looks like a leftover to another writer.
        if is_there(handle, name):
            return name, handle
        os.close(handle)


def _recover(target: Path) -> None:
    """Put back or remove what killed writers of the folder left; living ones have locked theirs."""
    for old in _leftovers(target, "old"):
        with contextlib.suppress(OSError):
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
            else:
                os.rename(old, target)
    for place in (target, target / target.name):  # beside it, and in it
        for leftover in _leftovers(place, "building", of=target.name):
            with contextlib.suppress(OSError):
                handle = os.open(leftover, os.O_RDONLY)
                try:
                    lock(handle, wait=False)
                    shutil.rmtree(leftover, ignore_errors=True)
                finally:
                    os.close(handle)


def _refuse(given: Path, target: Path, ours: Callable[[Path], str | None]) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise FileError.of(
            FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)),
            given,
            f"{given} cannot be written: it is there already and is no folder",
            fix="name another folder, or remove that file",
        )
    if not _content(target):
        return
    why = ours(target)
    if why is not None:
        raise FileError.of(
            FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)),
            given,
            f"{given} is there already and {why}",
            fix="name another folder, or remove that one",
        )


def _content(folder: Path) -> set[str]:
    """The names in a folder, without those of folders being filled."""
    return {name for name in os.listdir(folder) if not name.endswith(".building")}


def _is_whole(target: Path, names: Collection[str]) -> bool:
    """Whether the folder may be replaced by one with these names: it has no others, and is not
    where this process or one above it stands.
    """
    if not target.exists():
        return True
    if Path.cwd() == target or target in Path.cwd().parents:
        return False
    return all(name in names and not (target / name).is_dir() for name in _content(target))


def _put_folder(fresh: Path, target: Path) -> None:
    """`fresh` in the place of `target`, at once where the system can."""
    _sync_all(fresh)
    old = _status(target)
    if old is not None:
        os.chmod(fresh, stat.S_IMODE(old.st_mode))
    try:
        if fresh.parent == target:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        if old is None or not os.listdir(target):
            os.rename(fresh, target)
        elif not _exchanged(fresh, target):
            _renamed_in_turn(fresh, target)
    except OSError as error:
        if old is None or error.errno not in _FIXED:
            raise
        _put_entries(fresh, target)
        return
    _sync_folder(target.parent)


def _exchanged(a: Path, b: Path) -> bool:
    """Whether the names of two folders were exchanged; False where the system cannot."""
    names = os.fsencode(a), os.fsencode(b)
    ctypes.set_errno(0)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = system.renamex_np(*names, ctypes.c_uint(_RENAME_SWAP))
        else:
            failed = system.renameat2(
                _AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)
            )
    except (OSError, AttributeError, TypeError):
        return False
    if failed == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code))


def _renamed_in_turn(fresh: Path, target: Path) -> None:
    old = fresh.with_suffix(".old")
    os.rename(target, old)
    try:
        os.rename(fresh, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _put_entries(fresh: Path, target: Path) -> None:
    """The content of `fresh` for that of `target`, which stays in its place."""
    names = _content(fresh)
    for name in _content(target) - names:
        if (target / name).is_dir():
            shutil.rmtree(target / name)
        else:
            (target / name).unlink()
    for name in sorted(names):
        if (target / name).is_dir():
            shutil.rmtree(target / name)
        shutil.move(fresh / name, target / name)
    _sync_folder(target)


def _put_files(fresh: Path, target: Path) -> None:
    """Each file of `fresh` into `target`: all are complete before the first is renamed, and nothing
    comes between the renames.
    """
    with contextlib.ExitStack() as stack:
        ready: list[tuple[Path, Path]] = []
        for name in sorted(os.listdir(fresh)):
            with _named(target / name), open(fresh / name, "rb") as source:
                direct, place = _target(target / name)
                if direct:
                    shutil.copyfileobj(source, stack.enter_context(_to_device(place)))
                    continue
                file = stack.enter_context(_successor(place))
                shutil.copyfileobj(source, file)
                _complete(file, place)
                ready.append((Path(file.name), place))
        for made, place in ready:
            made.replace(place)
        for folder in {place.parent for _, place in ready}:
            _sync_folder(folder)


def _sync_all(folder: Path) -> None:
    """Sync every file and folder under `folder`, and itself."""
    for root, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(root, name), "rb") as file:
                _sync(file.fileno())
        _sync_folder(Path(root))


# ---- names beside a target


def _beside(target: Path, suffix: str) -> Path:
    """A fresh name in the folder of `target`, which `_leftovers` knows again."""
    return target.parent / f".{_short(target.name)}.{secrets.token_hex(8)}.{suffix}"


def _leftovers(target: Path, suffix: str, of: str | None = None) -> list[Path]:
    """What is beside `target` under a name of `_beside`."""
    name = re.escape(_short(target.name if of is None else of))
    pattern = re.compile(rf"\.{name}\.[0-9a-f]{{16}}\.{suffix}")
    try:
        there = os.listdir(target.parent)
    except (PermissionError, FileNotFoundError, NotADirectoryError):
        return []  # what is wrong with the folder shows when it is written
    return [target.parent / each for each in there if pattern.fullmatch(each)]


def _short(name: str) -> str:
    """`name`, or a digest of it where a name with an ending would be too long."""
    encoded = os.fsencode(name)
    if len(encoded) + len(".") + len(".0123456789abcdef.building") <= _LONGEST_NAME:
        return name
    return hashlib.sha256(encoded).hexdigest()[:32]


def is_there(handle: int, name: AnyPath) -> bool:
    """Whether an open file or folder still has its name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False


def lock(handle: int, *, wait: bool) -> None:
    """Lock an open file or folder until it is closed. OSError when another process holds it and
    `wait` is not set, and where there are no locks.
    """
    if sys.platform == "win32":
        if not wait:
            raise OSError("open files cannot be told from leftovers here")
    else:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # folders cannot be opened there
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # a folder that may be written and not read
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
