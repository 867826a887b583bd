# SPDX-License-Identifier: Apache-2.0
"""Create the C session of a Session from Python's options, and destroy it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from samara.pybridge._native import NULL, check, failure, ffi, library, new_error, text
from samara.pybridge._pool import pool_for, whole_number
from samara.pybridge.custom import custom_ops, explained
from samara.pybridge.device import BackendChoice, backends_of
from samara.pybridge.errors import (
    ArgumentError,
    SamaraError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from samara.pybridge.feeds_and_results import check_number, isa_list
from samara.pybridge.files import kind_of
from samara.pybridge.model import Model
from samara.pybridge.names import is_one_of, unknown
from samara.pybridge.tuned import tuned_text

_LIMITS = ("max_arena_bytes", "max_steps", "deadline_s")
_ACCURACIES = ("default", "strict", "bfloat16", "float16", "exact", "bounded")
# Values of samara_exactness. The other accuracies ask for what an exact model excludes.
_EXACTNESS = {"default": 0, "strict": 0, "exact": 1}
_NOT_EXACT = 2


def busy() -> SamaraError:
    """The error for a session in use: only one thread at a time may use it."""
    return SamaraError(
        "the session is in use by another thread", fix="give each thread a session of its own"
    )


def session_check(handle: Any, status: int) -> None:
    """Raise the error that a call on a C session left; nothing for status 0."""
    if status:
        raise failure(status, text(library().samara_session_error(handle)))


def create_session(
    model: Model,
    function: str,
    *,
    threads: int | None,
    backend: BackendChoice,
    wait: bool,
    check_every: int,
    isa: Sequence[str] | str | None,
    keep: Sequence[str] | str,
    accuracy: str,
    limits: Mapping[str, float] | None,
    tuned: str | os.PathLike[str] | bytes | bool | None,
) -> Any:
    """The handle of a new C session. Dropping the handle destroys the session."""
    devices, automatic = backends_of(backend)
    if not 1 <= whole_number(check_every, "check_every") < 1 << 64:
        raise ArgumentError(
            f"check_every is {check_every}, expected at least 1",
            fix="give the runs between two checks, for example 256",
        )
    if not is_one_of(accuracy, _ACCURACIES):
        raise unknown("there is no accuracy", accuracy, _ACCURACIES)
    lib = library()
    strings: list[Any] = []  # kept alive: the options point at them
    limits = {} if limits is None else limits
    ceiling = isa_list(isa)
    options = native_options(function, threads, ceiling, keep, accuracy, limits, strings)
    measured = tuned_text(model, tuned, ceiling)
    if measured is not None:
        strings.append(ffi.new("char[]", measured))
        options.tuned = strings[-1]
    if devices:
        strings.append(ffi.new("samara_backend *[]", [device.handle for device in devices]))
        options.backends, options.backend_count = strings[-1], len(devices)
        options.backend_auto, options.backend_wait = automatic, wait
        options.backend_check_every = check_every
        options.backend_float16 = accuracy == "float16"
    operators = custom_ops()
    options.custom_ops, options.custom_op_count = operators, len(operators)
    out, error = ffi.new("samara_session **"), new_error()
    try:
        check(lib.samara_session_create(model.handle, options, out, error), error)
    except UnsupportedError as refused:
        raise explained(refused) from None
    except UnknownNameError as wrong:
        wrong.fix = 'keep="all" keeps every tensor; print(samara.open_program(path)) names them'
        raise
    return ffi.gc(out[0], _Destroyer(lib, model.handle, (operators, strings, devices)))


class _Destroyer:
    """Destroys the C session when its handle goes. It keeps alive what the session borrows: the model (so
    the model closes later), the custom operators and the devices.
    """

    def __init__(self, lib: Any, model: Any, borrowed: Any) -> None:
        self._destroy = lib.samara_session_destroy
        self._model = model
        self._borrowed = borrowed

    def __call__(self, handle: Any) -> None:
        self._destroy(handle)
        self._model = self._borrowed = None


def native_options(
    function: str,
    threads: int | None,
    isa: str | None,
    keep: Sequence[str] | str,
    accuracy: str,
    limits: Mapping[str, float],
    strings: list[Any],
) -> Any:
    """A samara_session_options. Objects that it points at are added to `strings`."""
    if not isinstance(limits, Mapping):
        raise ArgumentError(
            f"limits is {kind_of(limits)}", fix='give a dict, as limits={"deadline_s": 0.1}'
        )

    def c_string(value: str) -> Any:
        strings.append(ffi.new("char[]", value.encode()))
        return strings[-1]

    options = ffi.new("samara_session_options *")
    options.struct_size = ffi.sizeof("samara_session_options")
    options.function = c_string(function)
    options.pool = pool_for(threads)
    options.isa = NULL if isa is None else c_string(isa)
    if keep == "all":
        options.keep_all = True
    elif keep:
        names = list(keep)
        strings.append(ffi.new("char *[]", [c_string(n) for n in names]))
        options.keep, options.keep_count = strings[-1], len(names)
    options.strict_accuracy = accuracy == "strict"
    options.bfloat16 = accuracy == "bfloat16"
    options.exact = _EXACTNESS.get(accuracy, _NOT_EXACT)
    for key, value in limits.items():
        if key not in _LIMITS:
            raise unknown("there is no limit", key, _LIMITS, "limits are")
        check_number(value, f"limit {key}")
        if not value > 0:
            raise ShapeError(
                f"limit {key} must be positive, got {value}", fix="leave it out for none"
            )
        if key == "deadline_s":
            options.deadline_us = max(1, int(value * 1e6))
        else:
            setattr(options, key, int(value))
    return options
