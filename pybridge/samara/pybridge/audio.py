# SPDX-License-Identifier: Apache-2.0
"""Sound in the forms that callers have: samples at any rate, with any number of channels."""

from __future__ import annotations

import io
import wave
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge.errors import ArgumentError, FileError, ShapeError, UnsupportedError
from samara.pybridge.files import AnyPath, check_readable, kind_of, path_of

_MOST_CHANNELS: Final = 32
_RATES: Final = (1000, 192000)


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Audio:
    """A recording, or a part of one.

    samples: int16 [count] or [count, channels], or floats of the same shape, whose full scale is 1.0.
    rate: samples of a channel per second, 1000..192000.

    ArgumentError for other kinds, ShapeError for another shape. The samples are borrowed where they are
    int16 or float32 and contiguous.

    >>> Audio(np.zeros((16000, 2), np.int16), 8000)
    Audio(2.000 s, 8000 Hz, 2 channels, int16)
    """

    samples: npt.NDArray[np.int16] | npt.NDArray[np.float32]
    rate: int

    def __init__(self, samples: Any, rate: int) -> None:
        if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)):
            raise ArgumentError(
                f"the rate is {kind_of(rate)}", fix="give samples per second: 16000"
            )
        if not _RATES[0] <= rate <= _RATES[1]:
            raise ArgumentError(
                f"the rate is {rate}, expected {_RATES[0]} to {_RATES[1]} samples per second",
                fix="for example 16000",
            )
        array = np.asarray(samples)
        if array.dtype != np.int16 and array.dtype.kind != "f":
            raise ArgumentError(
                f"the samples are {array.dtype}, expected int16 or floats of -1 to 1",
                fix="scale them: (samples / full_scale).astype(np.float32)",
            )
        if array.ndim not in (1, 2) or (
            array.ndim == 2 and not 1 <= array.shape[1] <= _MOST_CHANNELS
        ):
            raise ShapeError(
                f"the samples are {list(array.shape)}, expected [count] or [count, channels] with at"
                f" most {_MOST_CHANNELS} channels",
                fix="transpose them where channels come first: samples.T",
            )
        kept = array if array.dtype == np.int16 else array.astype(np.float32, copy=False)
        object.__setattr__(self, "samples", np.ascontiguousarray(kept))
        object.__setattr__(self, "rate", int(rate))

    @property
    def channels(self) -> int:
        """The number of channels; models get their mean."""
        return 1 if self.samples.ndim == 1 else int(self.samples.shape[1])

    def __len__(self) -> int:
        return len(self.samples)

    def __repr__(self) -> str:
        channels = "1 channel" if self.channels == 1 else f"{self.channels} channels"
        seconds = len(self) / self.rate
        return f"Audio({seconds:.3f} s, {self.rate} Hz, {channels}, {self.samples.dtype})"

    @classmethod
    def open(cls, path: AnyPath) -> Audio:
        """The recording in a WAV file of PCM with 8, 16, 24 or 32 bits; 16 bits stay int16, others become
        float32.

        FileError if the file cannot be read or is not a WAV file, UnsupportedError for another encoding.
        """
        file = path_of(path, "the recording")
        check_readable(file, "the recording")
        try:
            with wave.open(io.BytesIO(_plain(file.read_bytes())), "rb") as opened:
                width, channels = opened.getsampwidth(), opened.getnchannels()
                rate, data = opened.getframerate(), opened.readframes(opened.getnframes())
        except wave.Error as error:
            if "unknown format" in str(error):
                raise UnsupportedError(
                    f"the recording {file} is not PCM ({error})",
                    fix=f"convert it: ffmpeg -i {file} -c:a pcm_s16le out.wav",
                ) from None
            raise FileError(
                f"the recording {file} is not a WAV file: {error}",
                fix=f"convert it: ffmpeg -i {file} -c:a pcm_s16le out.wav",
            ) from None
        except EOFError:
            raise FileError(f"the recording {file} is cut off", fix="copy it again") from None
        whole = len(data) - len(data) % (width * channels)
        return cls(_of_pcm(data[:whole], width).reshape(-1, channels), rate)


def _plain(data: bytes) -> bytes:
    """Replace the extended format of a WAV header, which is common above 16 bits, by plain PCM.

    Python before 3.12 does not read the extended format.
    """
    at = data.find(b"fmt ", 12)
    if at < 0 or len(data) < at + 48 or data[at + 8 : at + 10] != b"\xfe\xff":
        return data
    return data[: at + 8] + data[at + 32 : at + 34] + data[at + 10 :]


def _of_pcm(data: bytes, width: int) -> npt.NDArray[Any]:
    """Samples of PCM bytes: unsigned if they have one byte, else signed and little-endian."""
    if width == 2:
        return np.frombuffer(data, "<i2").astype(np.int16, copy=False)
    if width == 1:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / np.float32(128)
    if width == 4:
        return np.frombuffer(data, "<i4").astype(np.float32) / np.float32(2**31)
    parts = np.frombuffer(data, np.uint8).reshape(-1, 3)
    wide = np.zeros((len(parts), 4), np.uint8)
    wide[:, 1:] = parts
    return wide.view("<i4")[:, 0].astype(np.float32) / np.float32(2**31)


def is_audio(value: object, rank: int) -> bool:
    """Whether a value for an input with an audio record is sound and not a tensor of that rank: an Audio,
    a path, or an array [count] of int16 or floats.
    """
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.ndim != rank
    import os

    return isinstance(value, (Audio, str, os.PathLike))


def as_audio(value: Any, rate: int) -> Audio:
    """Anything that holds sound as an Audio. An array is taken to have the record's `rate`."""
    if isinstance(value, Audio):
        return value
    if isinstance(value, np.ndarray):
        return Audio(value, rate)
    return Audio.open(value)
