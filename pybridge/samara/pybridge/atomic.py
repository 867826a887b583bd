# SPDX-License-Identifier: Apache-2.0
"""Writing a file so that its name shows the old content or the new one, whole, at every moment."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which becomes `path` when the block ends well and vanishes when it raises.

    It is written under another name in the same folder, synced, and renamed; then the folder is
    synced, so that the new content survives a power cut as well. A process that is killed in
    between leaves a `.NAME.….saving` behind, which the next writer of that name removes. A link is
    followed. Raises OSError as the file system does.
    """
    target = Path(os.path.realpath(path))
    remove_leftovers(target)
    with _fresh(target) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    _sync_folder(target.parent)


def remove_leftovers(target: Path) -> None:
    """Remove what killed writers of `target` left; what living ones are writing is locked."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.saving")
    for name in os.listdir(target.parent):
        if pattern.fullmatch(name) is None:
            continue
        with contextlib.suppress(OSError), open(target.parent / name, "rb") as file:
            lock(file.fileno(), wait=False)
            os.unlink(file.name)


@contextlib.contextmanager
def _fresh(target: Path) -> Iterator[BinaryIO]:
    """A new, locked file beside `target`, with the permissions that new files get."""
    while True:
        name = target.parent / f".{target.name}.{secrets.token_hex(8)}.saving"
        with open(name, "xb") as file:
            with contextlib.suppress(OSError):  # not every file system has locks
                lock(file.fileno(), wait=True)
            # Between its creation and its lock the file looks like a leftover to another writer.
            if is_there(file.fileno(), file.name):
                yield file
                return


def is_there(handle: int, name: str | os.PathLike[str]) -> bool:
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
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
