# SPDX-License-Identifier: Apache-2.0
"""Inject faults into a device: a table of functions that calls those of any backend, or fails."""

from __future__ import annotations

import os
import threading
from typing import Any

from samara.pybridge._native import ffi
from samara.pybridge.device import Backend

# Functions of a table that can fail, with the position of `error` among their arguments.
FUNCTIONS = ("compile", "load", "allocate", "copy", "submit", "wait")
_BACKEND, _OUT_OF_MEMORY = 70, 40
_FOREVER = 2**64 - 1
# Tables must outlive the sessions on them, which may outlive the Faults that made them.
_tables: list[Any] = []


class Faults:
    """Makes functions of a device's table fail. source: as a Backend takes it.

        faults = Faults("opencl")
        faults.fail("submit", 2)  # the second call from here on
        session = Session(model, backend=faults.open())
        session.run(inputs)  # the CPU's answer
        faults.reset()

    The settings apply to all devices that open() returns. Any thread may change them.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self._source = source
        self._inner = Backend(source, cache=False)
        self._lock = threading.Lock()
        self._left: dict[str, int] = {}  # calls until a call fails; -1: all calls fail
        self._lost_after = 0  # submissions until the device is lost; 0: never
        self._lost = False
        self._tickets: dict[int, int] = {}  # by device: the last ticket
        self.table = ffi.new("samara_backend_table *", self._inner.table[0])
        calls = {name: self._callback(name) for name in FUNCTIONS}
        calls["probe"] = ffi.callback(ffi.typeof(self.table.probe), self._probe, error=_BACKEND)
        for name, call in calls.items():
            setattr(self.table, name, call)
        _tables.append((self.table, calls, self._inner))

    def fail(self, function: str, at_call: int) -> None:
        """Make call number `at_call` of the function fail, counted from now; -1: every call."""
        with self._lock:
            self._left[function] = at_call

    def lose(self, at_submission: int) -> None:
        """Lose the device at submission number `at_submission`, counted from now: from then on all work fails."""
        with self._lock:
            self._lost_after = at_submission

    def reset(self) -> None:
        """Stop injecting faults."""
        with self._lock:
            self._left.clear()
            self._lost, self._lost_after = False, 0

    def open(self) -> Backend:
        """The device, opened again, without anything kept from earlier calls."""
        return _Faulty(self._source, self.table)

    def _fails(self, function: str) -> bool:
        with self._lock:
            if function == "submit" and self._lost_after > 0:
                self._lost_after -= 1
                self._lost = self._lost_after == 0
            left = self._left.get(function, 0)
            if left > 0:
                self._left[function] = left - 1
            return left in (1, -1) or self._lost

    def _probe(self, request: Any, device: Any, info: Any, error: Any) -> int:
        """Open a device without pending work, even if an earlier one had the same address."""
        status = int(self._inner.table.probe(request, device, info, error))
        if status == 0:
            with self._lock:
                self._tickets[_number(device[0])] = 0
        return status

    def _callback(self, function: str) -> Any:
        """Call the function of the inner table, or fail."""
        inner = getattr(self._inner.table, function)
        kind = ffi.typeof(inner)

        def call(device: Any, *arguments: Any) -> int:
            *_, error = arguments
            if self._fails(function):
                self._settle(device)
                memory = function in ("load", "allocate")
                return _failed(error, function, _OUT_OF_MEMORY if memory else _BACKEND)
            status = int(inner(device, *arguments))
            if function in ("copy", "submit") and status == 0:
                with self._lock:
                    at = _number(device)
                    self._tickets[at] = max(self._tickets[at], arguments[-2][0])
            return status

        return ffi.callback(kind, call, error=_BACKEND)

    def _settle(self, device: Any) -> None:
        """Wait until no work is pending. A lost device neither reads nor writes any more."""
        with self._lock:
            ticket = self._tickets[_number(device)]
        done, error = ffi.new("bool *"), ffi.new("samara_error *")
        while ticket and not done[0]:
            if self._inner.table.wait(device, ticket, _FOREVER, done, error):
                return


def _number(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _failed(error: Any, function: str, status: int) -> int:
    if error:
        said = f"{function} was told to fail".encode()
        ffi.memmove(error.text, said + b"\0", len(said) + 1)
        error.status = status
    return status


class _Faulty(Backend):
    """A device opened through a table of this module."""

    def __init__(self, source: str | os.PathLike[str], table: Any) -> None:
        self._table = table
        super().__init__(source, cache=False)

    def _choose(self, options: Any, name: Any) -> None:
        super()._choose(options, name)
        if options.library:
            options.library, options.name = ffi.NULL, ffi.NULL
        options.table = self._table
