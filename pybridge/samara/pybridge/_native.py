# SPDX-License-Identifier: Apache-2.0
"""Load libsamara, and turn its error codes into the public exceptions."""

from __future__ import annotations

import functools
import importlib.resources
import os
import re
import sys
from pathlib import Path
from typing import Any

from samara.pybridge._cdef import ffi as ffi
from samara.pybridge.errors import (
    BackendError,
    CancelledError,
    FileError,
    LimitError,
    ModelFormatError,
    RangeError,
    SamaraError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)

NULL = ffi.NULL

# cffi unloads libraries at interpreter exit, while threads of a pool may still run their code.
DLOPEN_FLAGS = getattr(os, "RTLD_NOW", 0) | getattr(os, "RTLD_NODELETE", 0)

_FILE_NAMES = {"darwin": "libsamara.dylib", "win32": "samara.dll"}

# Public structs that the bridge uses, in the order in which samara_abi() reports their sizes.
_STRUCTS = (
    "samara_error",
    "samara_feed",
    "samara_fetch",
    "samara_tensor",
    "samara_tensor_info",
    "samara_model_options",
    "samara_reader",
    "samara_session_options",
    "samara_allocator",
    "samara_pool_options",
    "samara_writer",
    "samara_profile_row",
    "samara_attribute",
    "samara_custom_call",
    "samara_custom_op",
    "samara_algorithm_row",
    "samara_memory_row",
    "samara_derived_row",
    "samara_meter",
    "samara_op_tensor",
    "samara_op_desc",
    "samara_op_context_options",
    "samara_backend_options",
    "samara_device_info",
    "samara_placement_row",
    "samara_backend_report",
    "samara_plane",
    "samara_image",
    "samara_image_record",
    "samara_audio_record",
    "samara_audio",
    "samara_class",
    "samara_box",
    "samara_point",
    "samara_answer",
    "samara_sampler_options",
    "samara_text_options",
)

_ERRORS: dict[int, type[SamaraError]] = {
    10: ShapeError,
    11: ShapeError,
    12: UnknownNameError,
    20: ModelFormatError,
    21: ModelFormatError,
    22: ModelFormatError,
    30: UnsupportedError,
    40: LimitError,
    41: LimitError,
    42: CancelledError,
    50: FileError,
    70: BackendError,
}
_BAD_DATA = 60


def error_class(status: int) -> type[SamaraError]:
    """The class of the errors that a status of the C runtime becomes."""
    return _ERRORS.get(status, SamaraError)


def statuses() -> dict[str, int]:
    """The statuses of the C runtime: name without SAMARA_ -> code."""
    named: dict[int, str] = ffi.typeof("samara_status").elements
    return {name.removeprefix("SAMARA_"): code for code, name in named.items()}


# How operators report an index that is out of range. The status BAD_DATA alone does not tell.
_INDEX = re.compile(r"\b(index|target) -?\d+ at position \d+")


def library_path() -> Path:
    """The path of the native library: SAMARA_LIBRARY, else beside this package. BackendError if it is missing."""
    given = os.environ.get("SAMARA_LIBRARY")
    if given:
        path = Path(given)
        fix = "point SAMARA_LIBRARY at the library, or unset it"
    else:
        name = _FILE_NAMES.get(sys.platform, "libsamara.so")
        path = Path(str(importlib.resources.files("samara.pybridge").joinpath(name)))
        fix = "reinstall samara, or run `make build` in a checkout"
    if not path.exists():
        raise BackendError(f"the native library is not at {path}", fix=fix)
    return path


@functools.cache
def library() -> Any:
    """The loaded library. BackendError if its struct sizes differ from the declared ones."""
    path = library_path()
    try:
        lib = ffi.dlopen(str(path), DLOPEN_FLAGS)
    except OSError as error:
        raise BackendError(
            f"{path} cannot be loaded: {error}",
            fix="reinstall samara, or build the library on this machine",
        ) from None
    count = lib.samara_abi(NULL, 0)
    sizes = ffi.new("size_t[]", count)
    lib.samara_abi(sizes, count)
    declared = [ffi.sizeof(s) for s in _STRUCTS]
    if list(sizes) != declared:
        raise BackendError(
            f"{path} has structs of {list(sizes)} bytes, this package expects {declared}",
            fix="the library belongs to another version; reinstall samara",
        )
    return lib


def function_in(lib: Any, name: str) -> Any:
    """A function of a library; None if the library lacks it, as a selective build may."""
    try:
        return getattr(lib, name)
    except (AttributeError, ffi.error):  # cffi raises ffi.error for a missing symbol
        return None


def text(pointer: Any) -> str:
    """A C string as str; the empty string for NULL."""
    return "" if pointer == NULL else ffi.string(pointer).decode("utf-8", "replace")


def failure(status: int, message: str) -> SamaraError:
    """The exception for a status and its text."""
    kind = _ERRORS.get(int(status), SamaraError)
    if int(status) == _BAD_DATA and _INDEX.search(message):
        kind = RangeError
    return kind(message or text(library().samara_status_text(status)))


def new_error() -> Any:
    """A samara_error for calls before an object exists."""
    return ffi.new("samara_error *")


def check(status: int, error: Any) -> None:
    """Raise what `error` says unless the status is OK."""
    if status:
        raise failure(status, text(ffi.addressof(error, "text")[0]))
