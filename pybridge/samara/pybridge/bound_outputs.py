# SPDX-License-Identifier: Apache-2.0
"""Outputs that runs compute in place, in arrays of the caller's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from samara.pybridge._native import NULL, ffi, function_in

Array = npt.NDArray[Any]

WORTH_BYTES = 256 << 10
"""From this size on run(out=) binds: arrays that change from run to run are bound anew each time,
which takes 2 us, and a copy of 64 KiB within a cache 1 us.
"""


class BoundOutputs:
    """Which outputs of a C session are bound to which arrays (`samara_session_bind_output`).

    The session computes those without a copy. Runs give the pointers of all arrays besides, so that
    it copies the outputs that it could not bind: an array that is not aligned to its elements, or a
    selective library without the feature `bind`. Arrays stay alive here while they are bound.
    """

    def __init__(self, lib: Any, count: int) -> None:
        self._bind: Any = function_in(lib, "samara_session_bind_output")
        self._buffers: list[Any] = [None] * count  # of the outputs that are bound
        self.arrays: Sequence[Array | None] | None = None
        """What was put last; None where no output is bound."""

    def put(self, handle: Any, arrays: Sequence[Array | None]) -> None:
        """Bind output i to arrays[i], or unbind it for None. `arrays` has one for every output."""
        now = self.arrays
        if now is not None and all(a is b for a, b in zip(now, arrays, strict=True)):
            return
        self.clear(handle)
        self.arrays = arrays
        if self._bind is None or _overlap(arrays):
            return  # copies are made in the order of outputs, so that the last one stays
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
    """Whether any two of the arrays, which are dense, share memory."""
    if len(arrays) == 1:
        return False
    spans = sorted((a.ctypes.data, a.nbytes) for a in arrays if a is not None and a.nbytes)
    return any(
        start + size > following for (start, size), (following, _) in itertools.pairwise(spans)
    )
