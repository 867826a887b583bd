# SPDX-License-Identifier: Apache-2.0
"""Which algorithms nodes use, and the files with the choices of `samara tune`."""

from __future__ import annotations

import hashlib
import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samara.pybridge._native import NULL, failure, ffi, library, text
from samara.pybridge.errors import FileError
from samara.pybridge.files import path_of, read_bytes

if TYPE_CHECKING:
    from samara.pybridge.model import Model

_log = logging.getLogger("samara.tuned")
ENVIRONMENT = "SAMARA_TUNED"


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """A node's kernel and the algorithms that could compute it, each with the time in microseconds that
    the cost model estimates: first the one in use, then the others, cheapest first.

    Empty if the operator has only one. tuned: a measurement decided, not the cost model.
    """

    function: str
    node: str
    op: str
    kernel: str
    tuned: bool
    algorithms: tuple[tuple[str, float], ...]


def node_choices(handle: Any) -> tuple[NodeChoice, ...]:
    """The choices of a session."""
    lib = library()
    count = ffi.new("size_t *")
    status = lib.samara_session_algorithms(handle, NULL, 0, count)
    if status:
        raise failure(status, "the session: refused")
    rows = ffi.new("samara_algorithm_row[]", max(1, count[0]))
    lib.samara_session_algorithms(handle, rows, count[0], count)
    found: list[NodeChoice] = []
    for row in rows[0 : count[0]]:
        known = () if row.algorithm == NULL else ((text(row.algorithm), row.estimate_us),)
        if row.rank == 0:
            function, node, op, kernel = map(text, (row.function, row.node, row.op, row.kernel))
            found.append(NodeChoice(function, node, op, kernel, bool(row.tuned), known))
        else:
            found[-1] = replace(found[-1], algorithms=found[-1].algorithms + known)
    return tuple(found)


def tuned_header(model: Model, isa: str | None = None) -> str:
    """The first lines of a file of choices for this model on this CPU, which are its key."""
    lib = library()
    ceiling = NULL if isa is None else ffi.new("char[]", isa.encode())
    return _whole(
        lambda *room: lib.samara_tuned_header(model.handle, ceiling, *room), f"isa {isa!r}"
    )


def _whole(write: Callable[[Any, int, Any], int], what: str) -> str:
    """The text of a C function that first reports its length."""
    length = ffi.new("size_t *")
    status = write(NULL, 0, length)
    if status:
        raise failure(status, f"{what}: refused")
    room = ffi.new("char[]", length[0] + 1)
    write(room, length[0] + 1, length)
    return text(room)


def cache_path(header: str) -> Path:
    """The file with the choices for this key, in the user's cache (XDG_CACHE_HOME)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    digest = hashlib.sha256(header.encode()).hexdigest()[:24]
    return Path(base) / "samara" / "tuned" / f"{digest}.txt"


def tuned_text(
    model: Model, tuned: str | os.PathLike[str] | bytes | bool | None, isa: str | None
) -> bytes | None:
    """The choices that `tuned` asks for, as described at Session; None if there are none. Choices for
    another model or CPU cause a warning and are ignored.
    """
    if isinstance(tuned, bytes):
        return tuned
    if tuned is None:
        tuned = os.environ.get(ENVIRONMENT) or False
    if tuned is False:
        return None
    header = tuned_header(model, isa)
    path = cache_path(header) if tuned is True else path_of(tuned, "tuned")
    if tuned is True and not path.exists():
        _log.info("%s: no choices were measured for this model here", path)
        return None
    try:
        found = read_bytes(path)
    except FileError as error:
        error.fix = f"{error.fix}; samara tune makes one"
        raise
    if not found.startswith(header.encode()):
        warnings.warn(
            f"{path} holds choices for another model, CPU, instruction set or version of samara:"
            " not used; run samara tune here",
            stacklevel=3,
        )
        return None
    _log.info("%s: measured choices are used", path)
    return found
