# SPDX-License-Identifier: Apache-2.0
"""Write files and folders atomically: a reader sees the old content or the new one, never a mix.

No other module writes files.
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

_LONGEST_NAME = 255  # bytes, on common file systems
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # flag of Linux' renameat2
_RENAME_SWAP = 2  # flag of macOS' renamex_np
# Errors of file systems that do not support an operation: exchanging names, locking, syncing a folder.
_CANNOT = frozenset(
    getattr(errno, name, -1) for name in ("EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EBADF")
)
# Errors when a folder cannot be renamed although files in it can be created: it is a mount point, or
# its parent is not writable.
_FIXED = frozenset((errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS))


# ---- one file


def write_bytes(path: AnyPath, data: bytes | memoryview) -> None:
    """Write a whole file atomically, as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: AnyPath, text: str) -> None:
    """Write a whole UTF-8 file atomically, as `replacing` does."""
    write_bytes(path, text.encode("utf-8"))


@contextlib.contextmanager
def replacing(path: AnyPath) -> Iterator[BinaryIO]:
    """Yield a file to write. It becomes `path` when the block ends, and is removed if the block raises.

    It is written under another name in the same folder, synced, and renamed; then the folder is
    synced, so that the new content survives a power cut as well. A process that is killed before that
    leaves a file `.NAME.….saving`, which the next writer of that name removes. Links are followed. An
    existing file keeps its permissions, and a write-protected one is refused; a new one gets the usual
    permissions. A target that is not a regular file (a device, a pipe, /dev/stdout) gets the content
    when the block ends.

    Raises FileError if the file system refuses something. Other exceptions of the block pass through.
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
    """A new file beside `target`, which is removed if the block raises before the rename."""
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
    """Sync the new file and give it owner and permissions of `target`, so that only the rename is left."""
    file.flush()
    old = _status(target)
    if old is not None:
        _like(file.fileno(), old)
    os.fsync(file.fileno())


@contextlib.contextmanager
def _to_device(path: Path) -> Iterator[BinaryIO]:
    """A temporary file for a target that cannot be renamed onto; its content is copied at the end."""
    with tempfile.NamedTemporaryFile(prefix="samara-") as file:
        yield file  # type: ignore[misc]
        file.flush()
        file.seek(0)
        if sys.stdout is not None:
            sys.stdout.flush()  # earlier prints must come first
        handle = _own_handle(path)
        opened = os.dup(handle) if handle is not None else os.open(path, os.O_WRONLY | os.O_TRUNC)
        with open(opened, "wb") as device:
            shutil.copyfileobj(file, device)


def _target(path: Path) -> tuple[bool, Path]:
    """Whether `path` must be written directly, and the file to replace with links followed."""
    status = _status(path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if status is not None and (not stat.S_ISREG(status.st_mode) or _own_handle(path) is not None):
        return True, path
    return False, Path(os.path.realpath(path))


def _own_handle(path: Path) -> int | None:
    """The number of this process's open file that `path` names (1 for /dev/stdout); else None."""
    name = os.path.abspath(path)
    for _ in range(40):  # the system's limit of nested links
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
    """Copy permissions, and the owner if the system permits it, to an open file."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        if (old.st_uid, old.st_gid) != (os.getuid(), os.getgid()):
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def check_writable(path: AnyPath) -> None:
    """Raise the FileError that `replacing` would raise at once; for results that take long to make."""
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
    """Raise the FileError that `replacing_folder` would raise at once, whatever the folder contains."""
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
    """Whether the file system of a folder is mounted read-only."""
    if not hasattr(os, "statvfs"):
        return False
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def remove_leftovers(target: Path) -> None:
    """Remove files that killed writers of `target` left. Files of running writers are locked."""
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
            # Until it is locked, another writer may take the new file for a leftover and remove it.
            if is_there(file.fileno(), file.name):
                yield file
                return


# ---- a folder


@contextlib.contextmanager
def replacing_folder(path: AnyPath, *, ours: Callable[[Path], str | None]) -> Iterator[Path]:
    """Yield a new folder to fill. It becomes `path` when the block ends, and is removed if it raises.

    ours: returns why an existing folder may not be replaced, or None if it may; an empty folder is
    always replaced. Missing parent folders are made. All files are synced, then old and new folder
    exchange names. A process that is killed leaves a folder `.NAME.….building`, which the next writer
    of that name removes. If the system cannot exchange names, the old folder is moved away first; if
    the process dies before the new one is in place, the next writer puts the old one back. A folder
    that cannot be renamed (a mount point) is filled file by file.

    Raises FileError as `replacing` does, and if `path` is something else than a folder.
    """
    given = path_of(path, "path")
    with _named(given), _staged(given) as fresh:
        target = Path(os.path.realpath(given))
        _refuse(given, target, ours)
        yield fresh
        _refuse(given, target, ours)  # it may have been created meanwhile
        _put_folder(fresh, target)


@contextlib.contextmanager
def replacing_files(path: AnyPath) -> Iterator[Path]:
    """Yield a folder to fill. When the block ends, its files replace those of the same name in `path`.

    Other files in `path` stay. If there are none, the folder is replaced at once, as `replacing_folder`
    does. If there are some, or if `path` is the working directory, the folder itself stays, because
    other processes may use it: all files are written, then each is renamed, one right after the other.
    A process that is killed between these renames leaves a mix of new and old files.
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
    """Write a file in a folder that is not visible yet: one of `replacing_folder`, or a temporary one.

    Missing parent folders are made. An OSError names the file; the owner of the folder translates it
    into a path that the user knows.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


def make_folder(path: AnyPath) -> Path:
    """Make a folder and its missing parents. FileError as in `replacing`."""
    folder = path_of(path, "path")
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn an OSError about `path`, or about files beside it, into a FileError."""
    try:
        yield
    except SamaraError:
        raise
    except OSError as error:
        where = error.filename if isinstance(error.filename, (str, bytes)) else None
        if where is not None and not _is_beside(os.fsdecode(where), path):
            raise  # it is about another file that the block used
        raise unwritable(path, error) from None


def _is_beside(name: str, path: Path) -> bool:
    folder = os.path.dirname(os.path.realpath(path))
    return os.path.realpath(name).startswith(os.path.join(folder, "")) or folder.startswith(
        os.path.realpath(name)
    )


@contextlib.contextmanager
def _staged(given: Path) -> Iterator[Path]:
    """A folder to fill beside the target, or inside it if its parent is not writable."""
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
    """A new folder, opened and locked if the system can open folders."""
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
        # Until it is locked, another writer may take the new folder for a leftover and remove it.
        if is_there(handle, name):
            return name, handle
        os.close(handle)


def _recover(target: Path) -> None:
    """Put back or remove folders that killed writers left. Folders of running writers are locked."""
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
            f"{given} cannot be written: a file of that name exists",
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
    """The names in a folder, without folders that are being filled."""
    return {name for name in os.listdir(folder) if not name.endswith(".building")}


def _is_whole(target: Path, names: Collection[str]) -> bool:
    """Whether a folder with these names may replace `target`: it has no other names, and is not the
    working directory of this process or a parent of it.
    """
    if not target.exists():
        return True
    if Path.cwd() == target or target in Path.cwd().parents:
        return False
    return all(name in names and not (target / name).is_dir() for name in _content(target))


def _put_folder(fresh: Path, target: Path) -> None:
    """Move `fresh` to the place of `target`, in one step if the system can."""
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
    """Exchange the names of two folders. False if the system cannot."""
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
    """Replace the content of `target` by that of `fresh`; the folder `target` itself stays."""
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
    """Move each file of `fresh` into `target`. All are complete before the first rename, and the renames
    follow each other directly.
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
    """Sync `folder` and everything below it."""
    for root, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(root, name), "rb") as file:
                _sync(file.fileno())
        _sync_folder(Path(root))


# ---- names beside a target


def _beside(target: Path, suffix: str) -> Path:
    """A fresh name in the folder of `target`, which `_leftovers` recognises."""
    return target.parent / f".{_short(target.name)}.{secrets.token_hex(8)}.{suffix}"


def _leftovers(target: Path, suffix: str, of: str | None = None) -> list[Path]:
    """The files beside `target` whose names were made by `_beside`."""
    name = re.escape(_short(target.name if of is None else of))
    pattern = re.compile(rf"\.{name}\.[0-9a-f]{{16}}\.{suffix}")
    try:
        there = os.listdir(target.parent)
    except (PermissionError, FileNotFoundError, NotADirectoryError):
        return []  # writing will report what is wrong with the folder
    return [target.parent / each for each in there if pattern.fullmatch(each)]


def _short(name: str) -> str:
    """`name`, or a digest of it if the name with its suffix would be too long."""
    encoded = os.fsencode(name)
    if len(encoded) + len(".") + len(".0123456789abcdef.building") <= _LONGEST_NAME:
        return name
    return hashlib.sha256(encoded).hexdigest()[:32]


def is_there(handle: int, name: AnyPath) -> bool:
    """Whether an open file or folder still exists under its name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False


def lock(handle: int, *, wait: bool) -> None:
    """Lock an open file or folder until it is closed. OSError if there are no locks, or if another
    process holds the lock and `wait` is not set.
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
        return  # a folder that is writable but not readable
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
