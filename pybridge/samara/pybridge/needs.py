# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a session need of a runtime: operators, element types, parts."""

from __future__ import annotations

from dataclasses import dataclass

from samara.pybridge._native import NULL, ffi, text
from samara.pybridge.errors import UnsupportedError
from samara.pybridge.session import Session


@dataclass(frozen=True, slots=True)
class NodeNeeds:
    """One node. `state`: "prepared"; "view" or "placed" (nothing to run); "control"; "device": a device
    runs it, so that its needs on the CPU are unknown; "unprepared": its dims are unknown, and so are its
    parts. `work`: multiply-adds, 0 if few or unknown; `elements`: of its first output.
    """

    function: str
    node: str
    op: str
    state: str
    dtypes: frozenset[str]
    parts: frozenset[str]
    work: int = 0
    elements: int = 0


def session_needs(session: Session) -> tuple[frozenset[str], list[NodeNeeds]]:
    """Parts that the model needs as a whole, and its nodes, for all functions that the session's function
    calls.

    They do not depend on the session's instruction sets. UnsupportedError if the library has no such
    lists; selective builds have none.
    """
    lib = session._lib
    length = ffi.new("size_t *")
    if lib.samara_session_needs(session.handle, NULL, 0, length):
        raise UnsupportedError(
            "this library does not list what a model needs", fix="use the library of the package"
        )
    room = ffi.new("char[]", length[0] + 1)
    lib.samara_session_needs(session.handle, room, length[0] + 1, length)
    whole: frozenset[str] = frozenset()
    nodes: list[NodeNeeds] = []
    for line in text(room).splitlines():
        function, node, op, state, dtypes, parts, *numbers = line.split("\t")
        if not op:
            whole = _names(parts)
        else:
            work, elements = map(int, numbers)
            lists = _names(dtypes), _names(parts)
            nodes.append(NodeNeeds(function, node, op, state, *lists, work, elements))
    return whole, nodes


def backend_needs(session: Session, backend: str) -> frozenset[str]:
    """Parts that the session's nodes need in addition to run on a backend of the library ("opencl").

    UnsupportedError if the library has no such backend, or no such lists.
    """
    lib = session._lib
    length = ffi.new("size_t *")
    name = backend.encode("utf-8")
    status = lib.samara_session_backend_needs(session.handle, name, NULL, 0, length)
    if status:
        raise UnsupportedError(
            f"this library does not list what nodes need of the backend {backend!r}",
            fix='use the library of the package, and the name "opencl"',
        )
    room = ffi.new("char[]", length[0] + 1)
    lib.samara_session_backend_needs(session.handle, name, room, length[0] + 1, length)
    return _names(text(room))


def _names(joined: str) -> frozenset[str]:
    return frozenset(name for name in joined.split(",") if name)
