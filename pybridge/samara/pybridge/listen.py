# SPDX-License-Identifier: Apache-2.0
"""Feed sound into an input of a session, tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samara.pybridge._native import ffi, function_in
from samara.pybridge.audio import as_audio
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.errors import UnsupportedError
from samara.pybridge.model import TensorSpec
from samara.pybridge.preprocess_audio import audio_struct, input_shape


class Listener:
    """The part of a recording, or of a portion of one, that an input has not consumed yet."""

    def __init__(self, lib: Any, specs: Sequence[TensorSpec], sound: Any, *, end: bool) -> None:
        """specs: of all inputs; the first with an audio record gets the sound. end: whether the sound ends.

        UnsupportedError if no input has such a record, or the runtime takes no sound. Errors of
        samara.Audio for other values.
        """
        self._push = function_in(lib, "samara_session_push_audio")
        self._end = function_in(lib, "samara_session_end_audio")
        if self._push is None:
            raise UnsupportedError(
                "this build of the runtime takes no sound", fix="build it with --features audio"
            )
        self.index, spec, record = _of_sound(specs)
        self.name = spec.name
        audio = as_audio(sound, record.rate)
        self._native, self._samples = audio_struct(audio)
        self._sample_bytes = audio.channels * audio.samples.itemsize
        self._ends, self._ending = end, False
        self._taken, self._ready = ffi.new("size_t *"), ffi.new("bool *")
        # An array of the right shape; the session reads the sound instead of it.
        self.stand_in = np.empty(input_shape(record, len(spec.shape)), spec.numpy_dtype)

    def next(self, handle: Any, check: Callable[[int], None]) -> bool:
        """Whether the input has a new tensor. Without one all sound is consumed."""
        if not self._ending:
            check(self._push(handle, self.index, self._native, self._taken, self._ready))
            count = int(self._taken[0])
            self._native.samples = (
                ffi.cast("char *", self._native.samples) + count * self._sample_bytes
            )
            self._native.count -= count
            self._ending = self._ends and not self._ready[0]
        if self._ending:
            check(self._end(handle, self.index, self._ready))
        return bool(self._ready[0])

    def drop(self, handle: Any, check: Callable[[int], None]) -> None:
        """Discard sound that an earlier caller left."""
        more = True
        while more:
            check(self._end(handle, self.index, self._ready))
            more = bool(self._ready[0])


def _of_sound(specs: Sequence[TensorSpec]) -> tuple[int, TensorSpec, AudioRecord]:
    for i, spec in enumerate(specs):
        if isinstance(spec.record, AudioRecord):
            return i, spec, spec.record
    raise UnsupportedError(
        "the file does not say how sound becomes one of its inputs "
        f"({', '.join(spec.name for spec in specs)})",
        fix="export it with a record of it (docs/guides/preprocessing-audio.md)",
    )
