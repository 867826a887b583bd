# SPDX-License-Identifier: Apache-2.0
"""Temporary folders, and other programs that fail because a disk is full."""

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
# A disk with less room than this is full, whatever a program says that died there.
_NO_ROOM_BYTES: Final = 65536
# Windows has no disk quotas of this kind.
_CODES: Final = tuple(getattr(errno, n) for n in ("ENOSPC", "EDQUOT") if hasattr(errno, n))


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary files, which vanishes when the block ends.

    What the file system says of it, and of the folder of temporary files around it, becomes a
    FileError; what the block raises otherwise passes through.
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
    """The folder of temporary files that an error is of, where it is of one or of something in `own`;
    None for one of another file.
    """
    if error.filename is None:  # Python found no folder that it could write
        return os.environ.get("TMPDIR", "/tmp") if error.errno == errno.ENOENT else None
    name = os.path.realpath(os.fsdecode(error.filename))
    if own and name.startswith(os.path.realpath(own)):
        return os.path.dirname(own)
    return next((f for f in _temporary_folders() if os.path.realpath(f) == name), None)


def _temporary_folders() -> list[str]:
    """Where programs put temporary files: by the environment, which they may follow onto a full disk,
    and where Python does.
    """
    named = os.environ.get("TMPDIR", "")
    found = [named] if os.path.isdir(named) else []
    with contextlib.suppress(FileNotFoundError):
        found.append(tempfile.gettempdir())
    return found


def raise_if_full(said: str, *folders: Path) -> None:
    """OSError where a program failed because a disk is full; `said` is what it wrote to stderr.

    folders: where it wrote, beside temporary files. The error names the one with the least room.
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
