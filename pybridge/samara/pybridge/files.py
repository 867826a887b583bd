# SPDX-License-Identifier: Apache-2.0
"""Read files, and explain refusals of the file system in one sentence with a fix."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from samara.pybridge.errors import ArgumentError, FileError, ModelFormatError, SamaraError

AnyPath = str | os.PathLike[str]

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_DENIED = (errno.EACCES, errno.EPERM)


def path_of(path: object, what: str, fix: str | None = None) -> Path:
    """`path` as a Path. ArgumentError if it is not a path; `what` names the argument."""
    if isinstance(path, (str, os.PathLike)):
        given = os.fspath(path)
        if isinstance(given, str) and given and "\0" not in given:
            return Path(given)
        raise ArgumentError(f"{what} is {given!r}, which is not a path", fix=fix or "give a path")
    raise ArgumentError(f"{what} is {kind_of(path)}, not a path", fix=fix or "give a path")


def kind_of(value: object) -> str:
    """The class of a value as users write it, for errors."""
    if value is None:
        return "None"
    kind = type(value)
    module = kind.__module__.split(".")[0]
    name = kind.__name__ if module == "builtins" else f"{module}.{kind.__name__}"
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


@contextlib.contextmanager
def reading(path: AnyPath, what: str = "") -> Iterator[None]:
    """Turn an OSError while the block reads `path` into a FileError with an explanation.

    what: the purpose of the file, such as "calibration data"; it precedes the path in the message.
    """
    try:
        yield
    except SamaraError:
        raise
    except OSError as error:
        raise unreadable(path, error, what) from None


def unreadable(path: AnyPath, error: OSError, what: str = "") -> FileError:
    """The error for a file that cannot be read."""
    name = os.fspath(path)
    shown = f"{what} {name}" if what else name
    fix: str | None = "check the path"
    if isinstance(error, FileNotFoundError):
        said = f"{shown}: there is no such file"
        near = _near(Path(name))
        fix = f"check the path{near}"
    elif isinstance(error, IsADirectoryError) or os.path.isdir(name):
        said, fix = f"{shown} is a folder, not a file", "name a file"
    elif isinstance(error, NotADirectoryError):
        said = f"{shown}: {_file_in_the_way(Path(name))} is a file, not a folder"
    elif error.errno in _DENIED:
        said = f"{shown} cannot be read: permission denied"
        fix = "make it readable for this user, or name a copy"
    else:
        said = f"{shown} cannot be read: {error.strerror or error}"
    return FileError.of(error, path, said, fix=fix)


def read_bytes(path: AnyPath, what: str = "") -> bytes:
    """The content of a file. FileError if it cannot be read."""
    path_of(path, what or "path")
    with reading(path, what):
        return Path(path).read_bytes()


def read_text(path: AnyPath, what: str = "") -> str:
    """The text of a UTF-8 file. FileError if it cannot be read, ModelFormatError for other bytes."""
    data = read_bytes(path, what)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFormatError(
            f"{f'{what} ' if what else ''}{os.fspath(path)} is not UTF-8 text: {error.reason} at"
            f" byte {error.start}",
            fix="check that it is the file you mean, or save it as UTF-8",
        ) from None


def check_readable(path: AnyPath, what: str = "") -> None:
    """FileError if `path` is not a file that can be opened; for readers that raise their own errors."""
    path_of(path, what or "path")  # open() would take an int for an open file and close it
    with reading(path, what):
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with open(path, "rb"):
            pass


def unwritable(path: AnyPath, error: OSError) -> FileError:
    """The error for a file or folder that cannot be written."""
    name = os.fspath(path)
    place = Path(os.path.realpath(path))
    folder = place.parent
    why = error.strerror or str(error)
    fix = "name another place"
    if error.errno == errno.ENAMETOOLONG:
        why, fix = "the name is too long", "name it shorter"
    elif error.errno in _FULL:
        why = "the disk is full" if error.errno == errno.ENOSPC else "the disk quota is used up"
        fix = "make room there, or name a place on another disk; what was there before is unchanged"
    elif error.errno == errno.EROFS:
        why = "the file system is read-only"
        fix = "name a place that can be written"
    elif isinstance(error, IsADirectoryError) or (place.is_dir() and error.errno == errno.EEXIST):
        why, fix = "it is a folder", f"name a file in it: {os.path.join(name, 'NAME')}"
    elif (wall := _file_in_the_way(Path(os.path.abspath(path)))) is not None:
        why, fix = f"{wall} is a file, not a folder", "name a file in a folder"
    elif isinstance(error, NotADirectoryError) and place.is_file():
        why, fix = "it is a file, not a folder", "name a folder, or remove that file"
    elif isinstance(error, FileExistsError):
        why, fix = "a file of that name is there", "name another place, or remove it"
    elif isinstance(error, FileNotFoundError) and not folder.is_dir():
        why, fix = f"there is no folder {_as_given(path)}", "make the folder first, or name another"
    elif error.errno in _DENIED:
        protected = place.exists() and not os.access(place, os.W_OK)
        why = "it is write-protected" if protected else f"permission denied in {_as_given(path)}"
        fix = "name a place that this user may write, or change the permissions"
    elif isinstance(error, BrokenPipeError):
        why, fix = "nobody reads the pipe any more", "keep its reader running"
    return FileError.of(error, path, f"{name} cannot be written: {why}", fix=fix)


def _as_given(path: AnyPath) -> str:
    """The folder of `path`, as the user wrote it."""
    return os.path.dirname(os.fspath(path).rstrip("/")) or os.curdir


def _file_in_the_way(path: Path) -> Path | None:
    """The first parent of `path` that is a file."""
    return next((p for p in reversed(path.parents) if p.exists() and not p.is_dir()), None)


def _near(path: Path) -> str:
    """A hint if the folder has a file with a similar name."""
    try:
        names = [entry.name for entry in os.scandir(path.parent)]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names[:10_000], n=1, cutoff=0.75)
    return f"; did you mean {path.with_name(near[0])}?" if near and near[0] != path.name else ""
