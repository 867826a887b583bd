# SPDX-License-Identifier: Apache-2.0
"""Runs of a session on arrays of the same dtypes and shapes as before, with the least work in Python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import ffi, library
from samara.pybridge.bound_outputs import BoundOutputs
from samara.pybridge.session_create import session_check

Array = npt.NDArray[Any]
Place = tuple[
    str, np.dtype[Any], tuple[int, ...]
]  # the name, dtype and shape of an input or output


def places(
    names: Sequence[str],
    dtypes: Sequence[np.dtype[Any]],
    shapes: Sequence[tuple[int, ...] | None],
) -> list[Place] | None:
    """The inputs or outputs; None if a shape is not known."""
    known = [shape for shape in shapes if shape is not None]
    return [*zip(names, dtypes, known, strict=True)] if len(known) == len(names) else None


class Repeated:
    """Runs a session on plain arrays in its present shapes, into fresh arrays.

    `run` takes {name: array}, `call` the arrays in order; both return the outputs by name. They return None without
    a run where the general way must decide: an array of another type, dtype or shape, one that is not C-contiguous,
    other names, a session in use, or bound outputs. `state` has the pointers and the arrays of the last run.
    """

    __slots__ = ("call", "run", "state")

    def __init__(
        self,
        handle: Any,
        inputs: Sequence[Place],
        outputs: Sequence[Place],
        tables: tuple[Any, Any],
        lock: threading.Lock,
        bound: BoundOutputs,
    ) -> None:
        held: list[Array | None] = [None] * len(inputs)
        self.state = (tables[0], held)
        run_with, from_buffer, plain = (
            library().samara_session_run_with,
            ffi.from_buffer,
            np.ndarray,
        )
        acquire, release = lock.acquire, lock.release
        count = len(inputs)
        given = tuple((i, *place) for i, place in enumerate(outputs))
        ins, outs = tables

        def runner(keys: Sequence[Any]) -> Callable[[Any], dict[str, Array] | None]:
            """The function for feeds whose arrays have these keys. It finds all that it uses in local variables."""
            pairs = zip(keys, inputs, strict=True)
            taken = tuple((i, key, *place[1:]) for i, (key, place) in enumerate(pairs))

            def run(feeds: Any) -> dict[str, Array] | None:
                if len(feeds) != count or bound.arrays is not None or not acquire(False):
                    return None
                try:
                    try:
                        for i, key, dtype, shape in taken:
                            array = feeds[key]
                            if (
                                type(array) is not plain
                                or array.shape != shape
                                or array.dtype is not dtype
                            ):
                                return None
                            ins[i] = from_buffer(array)
                            held[i] = array
                    except (KeyError, ValueError):  # another name, or not C-contiguous
                        return None
                    made = {}
                    for i, name, dtype, shape in given:
                        made[name] = array = plain(shape, dtype)
                        outs[i] = from_buffer(array)
                    status = run_with(handle, ins, outs)
                    if status:
                        session_check(handle, status)
                finally:
                    release()
                return made

            return run

        self.run = runner([name for name, _, _ in inputs])
        self.call = runner(range(count))
