# SPDX-License-Identifier: Apache-2.0
"""Times of the last run of a session, node by node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from samara.pybridge._native import NULL, ffi, library, text
from samara.pybridge.names import module_of


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """Time of one node in the last run, in microseconds; for a loop's body the sum over `count`
    executions. `source` is the author's "file:line" and `module` the path of the module, such as
    "layers.0.conv", if the model has them.
    """

    node: str
    op: str
    kernel: str
    function: str
    start_us: float
    total_us: float
    count: int
    source: str = ""
    module: str = ""


def profile_rows(handle: Any, check: Callable[[int], None]) -> list[ProfileRow]:
    """The rows of the last, timed run of a C session; `check` raises the error of a status."""
    lib, count = library(), ffi.new("size_t *")
    check(lib.samara_session_profile(handle, NULL, 0, count))
    rows = ffi.new("samara_profile_row[]", max(1, count[0]))
    check(lib.samara_session_profile(handle, rows, count[0], count))
    files = ffi.new("const char *[]", max(1, count[0]))
    details = ffi.new("const char *[]", max(1, count[0]))
    lines = ffi.new("uint32_t[]", max(1, count[0]))
    check(lib.samara_session_profile_sources(handle, files, lines, details, count[0], count))
    return [
        ProfileRow(
            text(r.node),
            text(r.op),
            text(r.kernel),
            text(r.function),
            r.start_ns / 1e3,
            r.total_ns / 1e3,
            r.count,
            f"{name}:{lines[i]}" if (name := text(files[i])) else "",
            module_of(text(details[i])),
        )
        for i, r in enumerate(rows[0 : count[0]])
    ]


def trace_text(handle: Any, check: Callable[[int], None]) -> str:
    """The same as Chrome trace JSON."""
    lib, needed = library(), ffi.new("size_t *")
    lib.samara_session_profile_trace(handle, NULL, 0, needed)
    buffer = ffi.new("char[]", needed[0])
    check(lib.samara_session_profile_trace(handle, buffer, needed[0], needed))
    return text(buffer)
