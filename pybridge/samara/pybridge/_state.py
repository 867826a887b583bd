# SPDX-License-Identifier: Apache-2.0
"""The variables of a session as a mapping."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import NULL, ffi, library, text
from samara.pybridge.atomic import write_bytes
from samara.pybridge.dtypes import NAMES, numpy_dtype
from samara.pybridge.errors import SamaraError, ShapeError
from samara.pybridge.files import path_of, read_bytes
from samara.pybridge.names import unknown

Array = npt.NDArray[Any]


class State(MutableMapping[str, Array]):
    """Variables of a session by name. Reading copies out, assigning writes, deleting is an error."""

    def __init__(self, handle: Any, check: Callable[[int], None]) -> None:
        """check: raises the session's error for a status that is not OK."""
        self._handle = handle
        self._check = check
        self._lib = library()

    def __iter__(self) -> Iterator[str]:
        for i in range(len(self)):
            yield text(self._lib.samara_session_state_name(self._handle, i))

    def __len__(self) -> int:
        return int(self._lib.samara_session_state_count(self._handle))

    def __getitem__(self, name: str) -> Array:
        array = self._like(name)
        self._check(
            self._lib.samara_session_state_read(
                self._handle, name.encode(), ffi.from_buffer(array), array.nbytes
            )
        )
        return array

    def __setitem__(self, name: str, value: Any) -> None:
        like = self._like(name)
        array = np.asarray(value)
        if array.shape != like.shape or array.dtype != like.dtype:
            raise ShapeError(
                f"state {name!r} is {like.dtype} {list(like.shape)}, got {array.dtype} {list(array.shape)}",
                fix="convert the array to that dtype and shape",
            )
        array = np.ascontiguousarray(array).reshape(like.shape)
        self._check(
            self._lib.samara_session_state_write(
                self._handle, name.encode(), ffi.from_buffer(array), array.nbytes
            )
        )

    def __delitem__(self, name: str) -> None:
        raise SamaraError(
            "variables belong to the model and cannot be deleted",
            fix="reset() restores their initial values",
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all variables to one safetensors file, which samara.load reads.

        The file is replaced atomically: a process that is killed leaves the old file or the new one.
        FileError if it cannot be written.
        """
        write_bytes(path, self.to_bytes().data)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Set all variables from a file; on an error none of them changes.

        The file is one of `save`, of samara.save given a dict of arrays by name, or of
        samara_session_state_save in C. It must hold every variable of this session in its dtype and
        shape, and no name that is not a variable of the model. Raises ModelFormatError for a damaged or
        foreign file, ShapeError for a dtype or shape, SamaraError for names, FileError if the file cannot
        be read.
        """
        self.from_bytes(np.frombuffer(read_bytes(path_of(path, "path")), np.uint8))

    def to_bytes(self) -> Array:
        """What `save` writes, uint8."""
        needed = ffi.new("size_t *")
        save = self._lib.samara_session_state_save_memory
        self._check(save(self._handle, NULL, 0, needed))
        data = np.empty(needed[0], np.uint8)
        self._check(save(self._handle, ffi.from_buffer(data), data.nbytes, needed))
        return data

    def from_bytes(self, data: Array) -> None:
        """Set all variables from what `to_bytes` gave, as `load` does."""
        self._check(
            self._lib.samara_session_state_load_memory(
                self._handle, ffi.from_buffer(data), data.nbytes
            )
        )

    def _like(self, name: str) -> Array:
        if not isinstance(name, str):
            raise unknown("the session has no variable", name, self, "it has")
        tensor = ffi.new("samara_tensor *")
        if self._lib.samara_session_state_info(self._handle, name.encode(), tensor):
            raise unknown("the session has no variable", name, self, "it has")
        return np.empty(
            [int(tensor.shape[i]) for i in range(tensor.rank)], numpy_dtype(NAMES[tensor.dtype])
        )
