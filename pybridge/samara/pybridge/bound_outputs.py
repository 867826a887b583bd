# SPDX-License-Identifier: Apache-2.0
"""Outputs that runs compute directly in arrays of the caller."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from samara.pybridge._native import NULL, ffi, function_in

Array = npt.NDArray[Any]

WORTH_BYTES = 256 << 10
"""Size in bytes from which run(out=) binds an output. Binding a new array takes 2 us, copying 64 KiB
within a cache 1 us.
"""


class BoundOutputs:
    """Which outputs of a C session are bound to which arrays (`samara_session_bind_output`).

    The session computes bound outputs without a copy. Runs pass the pointers of all arrays as well,
    because the session must copy outputs that it could not bind: those whose array is not aligned to
    its elements, or all if a selective library lacks the feature `bind`. The arrays are kept alive while
    they are bound.
    """

    def __init__(self, lib: Any, count: int) -> None:
        self._bind: Any = function_in(lib, "samara_session_bind_output")
        self._buffers: list[Any] = [None] * count  # of bound outputs; None for the others
        self.arrays: Sequence[Array | None] | None = None
        """The arrays of the last call of `put`; None if no output is bound."""

    def put(self, handle: Any, arrays: Sequence[Array | None]) -> None:
        """Bind output i to arrays[i], or unbind it if that is None. `arrays` has one item per output."""
        now = self.arrays
        if now is not None and all(a is b for a, b in zip(now, arrays, strict=True)):
            return
        self.clear(handle)
        self.arrays = arrays
        if self._bind is None or _overlap(arrays):
            return  # overlapping: the session copies in the order of outputs, so that the last one wins
        for i, array in enumerate(arrays):
            if array is None or array.nbytes == 0:
                continue
            buffer = ffi.from_buffer(array, require_writable=True)
            if self._bind(handle, i, buffer, array.nbytes) == 0:
                self._buffers[i] = buffer

    def clear(self, handle: Any) -> None:
        """Unbind all outputs."""
        for i, buffer in enumerate(self._buffers):
            if buffer is not None:
                self._bind(handle, i, NULL, 0)
                self._buffers[i] = None
        self.arrays = None


def _overlap(arrays: Sequence[Array | None]) -> bool:
    """Whether any two of these contiguous arrays overlap in memory."""
    if len(arrays) == 1:
        return False
    spans = sorted((a.ctypes.data, a.nbytes) for a in arrays if a is not None and a.nbytes)
    return any(
        start + size > following for (start, size), (following, _) in itertools.pairwise(spans)
    )
