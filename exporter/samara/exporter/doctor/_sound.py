# SPDX-License-Identifier: Apache-2.0
"""Faults of an audio input's record: implausible sizes and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from samara.exporter.doctor._runs_on import Finding
from samara.exporter.ir import Value
from samara.exporter.ir.records import check_record
from samara.exporter.types import SamaraError
from samara.pybridge.audio_record import AudioRecord

# Common sampling rates.
_RATES: Final = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000)
_WINDOW_MS: Final = (4.0, 260.0)  # of a spectrum: 64 samples at 16 kHz, 4096 at 16 kHz
_SPEECH_MS: Final = 25  # a usual window


def sound_findings(value: Value, record: AudioRecord) -> Iterator[Finding]:
    """Findings for an input with an audio record: shapes that never fit, odd rates, windows and frames."""
    try:
        check_record(record, value)
    except SamaraError as error:
        yield Finding("missing", "record", (value.name,), error.message, error.fix or "")
        return
    for reason, fix in (*_rate(record), *_window(record), *_frames(value, record)):
        yield Finding("doubtful", "record", (value.name,), reason, fix)


def _rate(record: AudioRecord) -> Iterator[tuple[str, str]]:
    if record.rate not in _RATES:
        near = min(_RATES, key=lambda rate: abs(rate - record.rate))
        yield (
            f"rate={record.rate} samples per second is not a common rate of recordings",
            f"common rates are {near}; sound is resampled to the rate of the record",
        )


def _window(record: AudioRecord) -> Iterator[tuple[str, str]]:
    if record.kind == "samples":
        return
    milliseconds = 1000 * record.window / record.rate
    if not _WINDOW_MS[0] <= milliseconds <= _WINDOW_MS[1]:
        usual = _SPEECH_MS * record.rate // 1000
        yield (
            f"a window of {record.window} samples lasts {milliseconds:.3g} ms at {record.rate} samples per second",
            f"window and hop are in samples: {_SPEECH_MS} ms are {usual}",
        )
    if record.hop > record.window:
        yield (
            f"hop={record.hop} is longer than the window of {record.window}: samples between frames are"
            " skipped",
            "a usual hop is a quarter of the window up to all of it",
        )


def _frames(value: Value, record: AudioRecord) -> Iterator[tuple[str, str]]:
    shape = value.type.shape
    if "t" not in record.layout or len(shape) != len(record.layout) or record.frames != 1:
        return
    dim = shape[record.layout.index("t")]
    if not dim.is_static:
        yield (
            f"the record makes 1 frame, and the input takes any number ({dim}): the net gets"
            f" {1000 * record.window / record.rate:.3g} ms at a time",
            "give the number that it was trained on, for example frames=98",
        )
