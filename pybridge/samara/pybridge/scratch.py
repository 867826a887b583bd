# SPDX-License-Identifier: Apache-2.0
"""Temporary folders, and failures of other programs because of a full disk."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from samara.pybridge.errors import FileError, SamaraError
from samara.pybridge.files import unwritable

__all__ = ["raise_if_full", "scratch_folder"]

_ELSEWHERE: Final = "make room there, or set TMPDIR to a folder on another disk"
# If a program failed and less room than this is left, the cause is taken to be the full disk.
_NO_ROOM_BYTES: Final = 65536
# Windows lacks EDQUOT.
_CODES: Final = tuple(getattr(errno, n) for n in ("ENOSPC", "EDQUOT") if hasattr(errno, n))


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary files, removed when the block ends.

    OSErrors about it, or about the system's temporary folder, become a FileError. Other exceptions of
    the block pass through.
    """
    name = ""
    try:
        with tempfile.TemporaryDirectory(prefix="samara-") as name:
            yield Path(name)
    except SamaraError:
        raise
    except OSError as error:
        place = _temporary(error, name)
        if place is None:
            raise
        said = unwritable(place, error)
        message = f"temporary files: {said.message}"
        raise FileError.of(error, place, message, fix=_ELSEWHERE) from None


def _temporary(error: OSError, own: str) -> str | None:
    """The temporary folder that an error is about, if it is about one or about something in `own`; else
    None.
    """
    if error.filename is None:  # Python found no writable temporary folder
        return os.environ.get("TMPDIR", "/tmp") if error.errno == errno.ENOENT else None
    name = os.path.realpath(os.fsdecode(error.filename))
    if own and name.startswith(os.path.realpath(own)):
        return os.path.dirname(own)
    return next((f for f in _temporary_folders() if os.path.realpath(f) == name), None)


def _temporary_folders() -> list[str]:
    """The temporary folders of programs: that of the environment, even if its disk is full, and that of
    Python.
    """
    named = os.environ.get("TMPDIR", "")
    found = [named] if os.path.isdir(named) else []
    with contextlib.suppress(FileNotFoundError):
        found.append(tempfile.gettempdir())
    return found


def raise_if_full(said: str, *folders: Path) -> None:
    """Raise OSError if a program failed because a disk is full; `said` is its stderr.

    folders: where it wrote, besides temporary files. The error names the folder with the least room.
    """
    places = [*map(os.fspath, folders), *_temporary_folders()]
    room = {place: shutil.disk_usage(place).free for place in places if os.path.isdir(place)}
    if not room:
        return
    place = min(room, key=room.__getitem__)
    code = next((c for c in _CODES if os.strerror(c) in said), None)
    if code is None and room[place] < _NO_ROOM_BYTES:
        code = errno.ENOSPC
    if code is not None:
        raise OSError(code, os.strerror(code), place)
