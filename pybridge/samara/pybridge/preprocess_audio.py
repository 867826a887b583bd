# SPDX-License-Identifier: Apache-2.0
"""Convert sound to tensors with the runtime's own code, as on a device."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge import dtypes
from samara.pybridge._native import NULL, check, ffi, function_in, library, new_error
from samara.pybridge.audio import Audio
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.audio_text import KINDS
from samara.pybridge.errors import UnsupportedError

SHAPES: Final = ("none", "hann", "hamming", "povey", "sine")
SPECTRA: Final = ("power", "magnitude", "complex")
LOGS: Final = ("ln", "log10", "db")
# Fields with the same name and value in AudioRecord and samara_audio_record.
_SAME: Final = (
    *(
        "rate",
        "window",
        "hop",
        "fft",
        "lead",
        "symmetric",
        "center",
        "dc",
        "preemphasis",
        "low",
        "high",
    ),
    *("bins", "first", "floor", "offset", "coefficients", "lifter", "frames", "step"),
)
_INT8: Final = 3  # 4 is int8 with a scale
_CODES: Final = {name: code for code, name in dtypes.NAMES.items() if name != "int8"}


def preprocess_audio(record: AudioRecord, audio: Audio) -> npt.NDArray[Any]:
    """The tensors that a record makes of a recording, stacked along the first axis: bit for bit those of
    sessions (docs/guides/preprocessing-audio.md).
    >>> record = AudioRecord.parse("samples float32 nf rate=8000 window=4")
    >>> preprocess_audio(record, Audio(np.arange(8, dtype=np.int16) * 4096, 8000)).shape
    (2, 1, 4)
    """
    lib = library()
    run = function_in(lib, "samara_preprocess_audio")
    if run is None:
        raise UnsupportedError(
            "this build of the runtime takes no sound", fix="build it with --features audio"
        )
    record.quantized()
    native, kept = record_struct(record)
    given, samples = audio_struct(audio)
    count, error = ffi.new("size_t *"), new_error()
    check(run(native, given, NULL, NULL, 0, count, NULL, NULL, error), error)
    made = np.empty((int(count[0]), *record.tensor_shape), record.dtype)
    status = run(native, given, NULL, ffi.from_buffer(made), made.nbytes, count, NULL, NULL, error)
    check(status, error)
    del kept, samples
    return made


def input_shape(record: AudioRecord, rank: int) -> tuple[int, ...]:
    """The shape of an input of that rank: the record's, or all elements in one row."""
    made = record.tensor_shape
    return made if rank == len(made) else (1, math.prod(made))


def audio_struct(audio: Audio) -> tuple[Any, Any]:
    """A samara_audio, and the objects that must live as long."""
    native = ffi.new("samara_audio *")
    native.struct_size = ffi.sizeof("samara_audio")
    buffer = ffi.from_buffer(audio.samples)
    native.samples, native.count = buffer, len(audio)
    native.rate, native.channels = audio.rate, audio.channels
    native.dtype = _CODES["int16" if audio.samples.dtype == np.int16 else "float32"]
    return native, buffer


def record_struct(record: AudioRecord) -> tuple[Any, list[Any]]:
    """A samara_audio_record, and the objects that must live as long."""
    native = ffi.new("samara_audio_record *")
    native.struct_size = ffi.sizeof("samara_audio_record")
    for name in _SAME:
        setattr(native, name, getattr(record, name))
    native.kind = 1 + KINDS.index(record.kind)
    native.dtype = _INT8 if record.dtype == "int8" else _CODES[record.dtype]
    native.layout = record.layout.encode()
    native.shape = SHAPES.index(record.shape)
    native.spectrum, native.log = SPECTRA.index(record.spectrum), LOGS.index(record.log)
    native.wide_unit, native.plain_dct = record.unit != 1, record.dct == "plain"
    native.slaney, native.slaney_norm = record.mel == "slaney", record.norm == "slaney"
    native.mel_triangles = record.triangles == "mel"
    kept = [ffi.new("float[]", list(values)) for values in (record.mean, record.scale)]
    native.mean, native.mean_count = kept[0], len(record.mean)
    native.scale, native.scale_count = kept[1], len(record.scale)
    if record.quant is not None:
        native.quant_scale, native.quant_zero = record.quant
    return native, kept


def audio_record_of(native: Any) -> AudioRecord:
    """The AudioRecord of a samara_audio_record."""
    flags = {name: bool(getattr(native, name)) for name in ("symmetric", "center", "dc")}
    return AudioRecord(
        kind=KINDS[native.kind - 1],
        dtype="int8" if native.dtype == _INT8 else dtypes.NAMES[native.dtype],
        layout=ffi.string(native.layout).decode("ascii"),
        shape=SHAPES[native.shape],
        spectrum=SPECTRA[native.spectrum],
        log=LOGS[native.log],
        unit=32768 if native.wide_unit else 1,
        mel="slaney" if native.slaney else "htk",
        norm="slaney" if native.slaney_norm else "none",
        triangles="mel" if native.mel_triangles else "hz",
        dct="plain" if native.plain_dct else "ortho",
        mean=tuple(native.mean[i] for i in range(native.mean_count)),
        scale=tuple(native.scale[i] for i in range(native.scale_count)),
        quant=(native.quant_scale, native.quant_zero) if native.quant_scale else None,
        **{name: getattr(native, name) for name in _SAME if name not in flags},
        **flags,
    )
