# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of a Session: their present shapes, and the pointers that the C session gets."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import NULL, ffi
from samara.pybridge.bound_outputs import WORTH_BYTES, BoundOutputs
from samara.pybridge.dtypes import PACKED, pack_nibbles, packed_bytes
from samara.pybridge.errors import ShapeError
from samara.pybridge.feeds_and_results import (
    as_input,
    as_output,
    check_shape,
    copied,
    explain_inputs,
    explain_outputs,
    fixed_shape,
    output_shapes,
    refuse_copies,
    resize_inputs,
    unpacked,
)
from samara.pybridge.model import TensorSpec
from samara.pybridge.repeated import Repeated, places
from samara.pybridge.session_create import busy, session_check

Array = npt.NDArray[Any]
Shapes = list[tuple[int, ...] | None]

_log = logging.getLogger("samara.session")


class SessionTensors:
    """Points a C session at arrays and resizes it.

    Methods take the handle, because the Session alone says whether it is closed. Callers hold the lock of
    the Session.
    """

    def __init__(
        self,
        lib: Any,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        lock: threading.Lock,
    ) -> None:
        self._lib, self._lock = lib, lock
        self._inputs, self._outputs = inputs, outputs
        self.ins = ffi.new("void *[]", max(1, len(inputs)))
        self._outs = ffi.new("void *[]", max(1, len(outputs)))
        self._dtypes = [s.numpy_dtype for s in inputs]
        self._out_dtypes = [s.numpy_dtype for s in outputs]
        # int4 and uint4 arrays hold a value per item, the runtime's memory two per byte.
        self._packed = [s.dtype in PACKED for s in inputs]
        self._out_packed = [s.dtype in PACKED for s in outputs]
        self.names = [s.name for s in inputs]
        self.out_names = [s.name for s in outputs]
        self.records = any(s.record is not None for s in inputs)
        self.rank = len(inputs[0].shape) if inputs else 0
        self.out_rank = len(outputs[0].shape) if outputs else 0
        self.shapes: Shapes = [fixed_shape(s) for s in inputs]
        self.out_shapes: Shapes = []
        self.bound = BoundOutputs(lib, len(outputs))
        # Pointers and arrays of the last run, which profile() repeats. A change of shapes invalidates them.
        self.repeat: tuple[Any, Sequence[Array | None]] | None = None
        self.quick: Repeated | None = None

    def prepare(self, handle: Any) -> None:
        """Learn the shapes of the outputs of a new session, if those of its inputs are fixed."""
        if all(s is not None for s in self.shapes):
            self._sized(handle)

    def clear(self, handle: Any) -> None:
        """Forget all arrays; the session is about to close."""
        self.bound.clear(handle)
        self.repeat = self.quick = None

    def feed(self, handle: Any, feeds: Mapping[str, Any]) -> list[Array]:
        """Arrays to read, their pointers set, the session resized when shapes changed."""
        if len(feeds) != len(self.names):
            explain_inputs(feeds, self.names)
        held: list[Array] = []
        shapes: list[tuple[int, ...] | None] = []
        changed = False
        pointers = self.ins
        for i, name in enumerate(self.names):
            array = feeds.get(name)
            if (
                type(array) is not np.ndarray
                or array.dtype != self._dtypes[i]
                or not array.flags.c_contiguous
            ):
                if name not in feeds:
                    explain_inputs(feeds, self.names)
                array = as_input(self._inputs[i], feeds[name], self._dtypes[i])
            elif self.records and array.ndim != len(self._inputs[i].shape):
                array = as_input(self._inputs[i], array, self._dtypes[i])
            shapes.append(array.shape)
            if array.shape != self.shapes[i]:
                changed = True
            if self._packed[i]:
                array = pack_nibbles(array)
            pointers[i] = ffi.from_buffer(array)
            held.append(array)
        if changed:
            self.resize(handle, shapes)
        return held

    def run(self, handle: Any, out: Mapping[str, Array] | None) -> dict[str, Array]:
        """Run on the inputs that `feed` has pointed at, into `out` or fresh arrays."""
        if out is not None:
            explain_outputs(out, self.out_names)
        made: dict[str, Array] = {}
        places: list[Array | None] | None = None  # outputs large enough to be computed in place
        late: list[int] = []
        packed: list[tuple[Array, Array, str]] = []
        pointers = self._outs
        for i, name in enumerate(self.out_names):
            shape = self.out_shapes[i]
            if out is not None and name in out:
                array = as_output(self._outputs[i], out[name], self._out_dtypes[i], shape)
                if array.nbytes >= WORTH_BYTES and not self._out_packed[i]:
                    places = [None] * len(self.out_names) if places is None else places
                    places[i] = array
            elif shape is None:
                late.append(i)
                pointers[i] = NULL
                continue
            else:
                array = np.empty(shape, self._out_dtypes[i])
            made[name] = array
            if self._out_packed[i]:
                packed.append((array, np.empty(packed_bytes(shape or ()), np.uint8), name))
                array = packed[-1][1]
            pointers[i] = ffi.from_buffer(array)
        if places is not None:
            self.bound.put(handle, places)
        elif self.bound.arrays is not None:
            self.bound.clear(handle)
        session_check(handle, self._lib.samara_session_run_with(handle, self.ins, pointers))
        for array, data, name in packed:
            array[...] = unpacked(
                data, self._outputs[self.out_names.index(name)].dtype, array.shape
            )
        for i in late:
            tensor = ffi.new("samara_tensor *")
            session_check(handle, self._lib.samara_session_output(handle, i, tensor))
            made[self.out_names[i]] = copied(tensor)
        return {name: made[name] for name in self.out_names} if late else made

    def resize(self, handle: Any, shapes: Sequence[tuple[int, ...] | None]) -> None:
        """Give all inputs these shapes. ShapeError for one that is unknown or does not fit."""
        if any(s is None for s in shapes):
            missing = [n for n, s in zip(self.names, shapes, strict=True) if s is None]
            raise ShapeError(
                f"the shapes of {missing} are not known yet", fix="give all symbolic inputs a shape"
            )
        for spec, shape in zip(self._inputs, shapes, strict=True):
            assert shape is not None
            check_shape(spec, shape)
        self.bound.clear(handle)  # the resize would unbind them anyway
        resize_inputs(handle, [s for s in shapes if s is not None], partial(session_check, handle))
        arena = int(self._lib.samara_session_arena_bytes(handle))
        _log.debug("resized to %s: the arena has %d bytes", shapes, arena)
        self.shapes = list(shapes)
        self.repeat = None
        self._sized(handle)

    def _sized(self, handle: Any) -> None:
        self.out_shapes = output_shapes(handle, len(self.out_names), partial(session_check, handle))
        self.quick = self._repeated(handle)

    def _repeated(self, handle: Any) -> Repeated | None:
        """The short way for runs in the present shapes; None for types and shapes that it cannot serve."""
        if self.records or any(self._packed) or any(self._out_packed):
            return None
        inputs = places(self.names, self._dtypes, self.shapes)
        outputs = places(self.out_names, self._out_dtypes, self.out_shapes)
        if inputs is None or outputs is None:
            return None
        return Repeated(handle, inputs, outputs, (self.ins, self._outs), self._lock, self.bound)

    def bind(
        self, handle: Any, feeds: Mapping[str, Array], out: Mapping[str, Array]
    ) -> Callable[[], None]:
        """A callable that runs on these arrays (Session.bind)."""
        held = self.feed(handle, feeds)
        refuse_copies(held, feeds, self.names)
        ins = ffi.new("void *[]", max(1, len(held)))
        outs = ffi.new("void *[]", max(1, len(self.out_names)))
        given: list[Array] = []
        for i, array in enumerate(held):
            ins[i] = ffi.from_buffer(array)
        for i, name in enumerate(self.out_names):
            if name not in out:
                raise ShapeError(
                    f"output {name!r} is not bound", fix=f"out= needs {self.out_names}"
                )
            array = as_output(self._outputs[i], out[name], self._out_dtypes[i], self.out_shapes[i])
            outs[i] = ffi.from_buffer(array, require_writable=True)
            given.append(array)
        shapes = self.shapes  # a resize replaces this list
        repeat = (ins, [*held, *given])
        run_with, lock = self._lib.samara_session_run_with, self._lock
        targets = self.bound

        def bound() -> None:
            if not lock.acquire(False):
                raise busy()
            try:
                if self.shapes is not shapes and self.shapes != shapes:
                    raise ShapeError("the session was resized after bind", fix="bind again")
                if targets.arrays is not given:
                    targets.put(handle, given)
                status = run_with(handle, ins, outs)
                self.repeat = repeat
            finally:
                lock.release()
            if status:
                session_check(handle, status)

        return bound
