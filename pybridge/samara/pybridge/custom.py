# SPDX-License-Identifier: Apache-2.0
"""Custom operators in C: shared libraries from which sessions of this process take operators."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.pybridge._native import NULL, ffi, text
from samara.pybridge.errors import BackendError, UnsupportedError

__all__ = ["register_kernel", "registered_kernels"]

_MODE = getattr(os, "RTLD_NOW", 0) | getattr(os, "RTLD_NODELETE", 0)
_NEEDS = re.compile(
    r"node '(?P<node>.*)' \(custom(?:, .*)?\): needs the custom operator '(?P<name>.*)', which"
)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A loaded operator: its samara_custom_op, and the library that must stay loaded."""

    path: str
    struct: Any
    library: ctypes.CDLL


_KERNELS: dict[str, _Kernel] = {}


def register_kernel(name: str, library: str | os.PathLike[str], symbol: str | None = None) -> None:
    """Let sessions made from now on use the C operator `name` of a shared library.

    `symbol` is an exported `samara_custom_op` (default: the part of the name after "::"). The library
    stays loaded. It needs neither a numpy reference nor the exporter, so a program that only runs files
    can call it. Raises BackendError if the library cannot be loaded or lacks the symbol, or if the
    struct belongs to another operator or another version.
    """
    wanted = name.rpartition("::")[2] if symbol is None else symbol
    path = Path(library)
    # The loader would search the system's paths for a bare name, and may find another library.
    full = str(path.resolve()) if path.exists() else os.fspath(library)
    try:
        loaded = ctypes.CDLL(full, mode=_MODE)
    except OSError as error:
        raise BackendError(
            f"library {full} of custom operator {name} cannot be loaded: {error}",
            fix="build it as a shared library for this machine, and check the path: a relative one starts"
            " at the current folder",
        ) from None
    try:
        address = ctypes.addressof(ctypes.c_char.in_dll(loaded, wanted))
    except ValueError:
        raise BackendError(
            f"library {full} has no symbol {wanted!r}",
            op=name,
            fix=f"export `const samara_custom_op {wanted}`, or name the one that it has with symbol=",
        ) from None
    struct = ffi.cast("samara_custom_op *", address)
    size, declared = int(struct.struct_size), ffi.sizeof("samara_custom_op")
    if size != declared or struct.name == NULL or struct.run == NULL:
        raise BackendError(
            f"symbol {wanted!r} of {full} is not a samara_custom_op of this version: struct_size is"
            f" {size}, expected {declared}, and it needs a name and run",
            op=name,
            fix="set .struct_size = sizeof(samara_custom_op) and build it with this samara's header",
        )
    if text(struct.name) != name:
        raise BackendError(
            f"symbol {wanted!r} of {full} is the operator {text(struct.name)!r}",
            op=name,
            fix="register it under its own name, or name the right one with symbol=",
        )
    _KERNELS[name] = _Kernel(full, struct, loaded)


@contextlib.contextmanager
def lent_kernels(library: str | os.PathLike[str], symbols: Iterable[str]) -> Iterator[None]:
    """While the block runs, sessions find the operators of a library under these symbols, by the names in
    their structs. BackendError as in register_kernel."""
    before = dict(_KERNELS)
    try:
        for symbol in symbols:
            register_kernel(_own_name(library, symbol), library, symbol)
        yield
    finally:
        _KERNELS.clear()
        _KERNELS.update(before)


def _own_name(library: str | os.PathLike[str], symbol: str) -> str:
    """The name in an operator's struct; "?" if it cannot be read."""
    try:
        loaded = ctypes.CDLL(os.fspath(Path(library).resolve()), mode=_MODE)
        address = ctypes.addressof(ctypes.c_char.in_dll(loaded, symbol))
    except (OSError, ValueError):
        return "?"
    struct = ffi.cast("samara_custom_op *", address)
    return text(struct.name) if int(struct.struct_size) == ffi.sizeof("samara_custom_op") else "?"


def registered_kernels() -> Mapping[str, str]:
    """The names of the operators that sessions find, with the library of each."""
    return {name: kernel.path for name, kernel in _KERNELS.items()}


def custom_ops() -> Any:
    """The registered operators as one C array, for session options; it must outlive the session."""
    kernels = tuple(_KERNELS.values())
    array = ffi.new("samara_custom_op[]", len(kernels))
    for i, kernel in enumerate(kernels):
        array[i] = kernel.struct[0]
    return array


def explained(error: UnsupportedError) -> UnsupportedError:
    """The error with a fix, if it says that a session lacks a custom operator."""
    found = _NEEDS.search(error.message)
    if found is None or error.fix is not None:
        return error
    name = found["name"]
    return UnsupportedError(
        f"the model needs the custom operator '{name}', for which this process has no C kernel",
        op=name,
        node=found["node"],
        fix="register its library before the session is made:"
        f' samara.register_op("{name}", reference=…, library="….so");'
        " a reference without a library runs only in Program.run",
    )
