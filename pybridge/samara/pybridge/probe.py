# SPDX-License-Identifier: Apache-2.0
"""The version and operators of a native library: this process's own, or another build."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.pybridge._native import (
    DLOPEN_FLAGS,
    NULL,
    ffi,
    function_in,
    library_path,
    new_error,
    text,
)
from samara.pybridge.errors import BackendError
from samara.pybridge.files import check_readable, read_bytes

_NAMES = ("libsamara.so", "libsamara.dylib", "samara.dll")


@dataclass(frozen=True, slots=True)
class LibraryInfo:
    """A native library: `operators` are the names of docs/reference/ops.md that it contains."""

    path: Path
    version: tuple[int, ...]
    operators: frozenset[str]


def inspect_library(path: str | os.PathLike[str] | None = None) -> LibraryInfo:
    """The library at `path` or in the folder `path`; for None the one that this package uses.

    BackendError if there is none, if it is not a samara library, or is built for another machine.
    """
    found = _find(path)
    lib = _load(found)
    version = text(lib.samara_version())
    return LibraryInfo(
        found, tuple(int(part) for part in version.split(".")), frozenset(_operators(lib))
    )


def _operators(lib: Any) -> Iterator[str]:
    """The library's operators. A selective build lists them in its manifest only."""
    if function_in(lib, "samara_op_count"):
        yield from (text(lib.samara_op_name(i)) for i in range(lib.samara_op_count()))
    else:
        for line in text(lib.samara_manifest()).splitlines():
            if line.startswith("op "):
                yield line.split()[1]


def open_failure(model: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> str:
    """The library's error when it opens a `.samara` file; empty if it opens.

    BackendError if it is not a library, FileError if the file cannot be read.
    """
    lib = _load(_find(path))
    out, error = ffi.new("samara_model **"), new_error()
    if function_in(lib, "samara_model_open_path"):
        failed = lib.samara_model_open_path(os.fsencode(model), NULL, out, error)
    else:  # a selective build without the feature "files" opens models from memory only
        data = read_bytes(Path(model))
        failed = lib.samara_model_open_memory(ffi.from_buffer(data), len(data), NULL, out, error)
    if failed:
        return text(ffi.addressof(error[0], "text")[0]) or "it cannot be opened"
    lib.samara_model_close(out[0])
    return ""


def _find(path: str | os.PathLike[str] | None) -> Path:
    if path is None:
        return library_path()
    given = Path(path)
    if not given.is_dir():
        return given
    for name in _NAMES:
        for found in (given / name, given / "lib" / name):
            if found.is_file():
                return found
    raise BackendError(
        f"{given} holds no samara library", fix=f"give a folder with {' or '.join(_NAMES)}"
    )


def _load(path: Path) -> Any:
    check_readable(path, "library")
    try:
        lib = ffi.dlopen(os.fspath(path.absolute()), DLOPEN_FLAGS)
        lib.samara_version, lib.samara_model_open_memory  # noqa: B018  (looked up when named)
    except OSError as error:
        raise BackendError(
            f"{path} cannot be loaded here: {error}",
            fix="give a library that is built for this machine",
        ) from None
    except (AttributeError, ffi.error):
        raise BackendError(
            f"{path} is not a samara library", fix="give the library of a build, or of the package"
        ) from None
    return lib
