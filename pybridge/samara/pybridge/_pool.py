# SPDX-License-Identifier: Apache-2.0
"""One thread pool per thread count and process, shared by all sessions."""

from __future__ import annotations

import operator
import os
from typing import Any

from samara.pybridge._native import NULL, check, ffi, library, new_error
from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.files import kind_of

_pools: dict[tuple[int, int], Any] = {}


def usable_cores() -> int:
    """The number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """SAMARA_NUM_THREADS if the environment sets it, else min(4, cores). ArgumentError for another text."""
    text = os.environ.get("SAMARA_NUM_THREADS", "")
    if not text:
        return min(4, usable_cores())
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ArgumentError(
            f"the environment sets SAMARA_NUM_THREADS to {text!r}",
            fix="set it to a number from 1 on",
        )
    return int(text)


def whole_number(value: object, what: str) -> int:
    """An integer argument. ArgumentError for another kind."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            f"{what} is {kind_of(value)}, not a number", fix=f"write {what}=4"
        ) from None


def pool_for(threads: int | None) -> Any:
    """The process's pool with that many threads (None: default_threads()); NULL for one thread."""
    count = default_threads() if threads is None else whole_number(threads, "threads")
    if count < 1:
        raise ShapeError(
            f"threads must be at least 1, got {threads}", fix="leave it out for up to 4 cores"
        )
    if count == 1:
        return NULL
    key = (os.getpid(), count)
    if key not in _pools:
        options = ffi.new("samara_pool_options *")
        options.struct_size = ffi.sizeof("samara_pool_options")
        options.threads = count
        out, error = ffi.new("samara_pool **"), new_error()
        check(library().samara_pool_create(options, out, error), error)
        _pools[key] = out[0]
    return _pools[key]
