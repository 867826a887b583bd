# SPDX-License-Identifier: Apache-2.0
"""Sound of callers: arrays, and WAV files of every width."""

from __future__ import annotations

import struct
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import ArgumentError, Audio, FileError, ShapeError, UnsupportedError
from samara.pybridge.audio import as_audio, is_audio

MONO = np.array([0, 1, -32768, 32767], np.int16)


def wav(path: Path, data: bytes, width: int, channels: int = 1, rate: int = 8000) -> Path:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(width)
        out.setframerate(rate)
        out.writeframes(data)
    return path


def test_arrays() -> None:
    audio = Audio(MONO, 16000)
    assert (len(audio), audio.channels, audio.rate) == (4, 1, 16000)
    assert np.shares_memory(audio.samples, MONO)
    stereo = Audio(np.zeros((5, 2), np.float32), 44100)
    assert (len(stereo), stereo.channels, stereo.rate) == (5, 2, 44100)
    assert Audio(np.zeros(3), 8000).samples.dtype == np.float32
    assert Audio(np.zeros((4, 2), np.int16)[:, ::-1], 8000).samples.flags.c_contiguous
    assert repr(Audio(MONO, 8000)) == "Audio(0.001 s, 8000 Hz, 1 channel, int16)"
    assert samara.Audio is Audio


@pytest.mark.parametrize(
    ("samples", "rate", "error", "message"),
    [
        (MONO, 0, ArgumentError, "the rate is 0, expected 1000 to 192000"),
        (MONO, 192001, ArgumentError, "the rate is 192001"),
        (MONO, 8000.0, ArgumentError, "the rate is a float"),
        (MONO, True, ArgumentError, "the rate is a bool"),
        (MONO.astype(np.int32), 8000, ArgumentError, "the samples are int32"),
        (MONO.astype(np.uint8), 8000, ArgumentError, "the samples are uint8"),
        (MONO.reshape(1, 2, 2), 8000, ShapeError, r"\[1, 2, 2\]"),
        (np.int16(3), 8000, ShapeError, r"\[\]"),
        (np.zeros((4, 33), np.int16), 8000, ShapeError, r"\[4, 33\]"),
        (np.zeros((4, 0), np.int16), 8000, ShapeError, r"\[4, 0\]"),
    ],
)
def test_what_is_no_sound(samples: Any, rate: Any, error: type[ShapeError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        Audio(samples, rate)
    assert caught.value.fix


def test_files_of_every_width(tmp_path: Path) -> None:
    wide = np.array([[0, 1 << 30], [-(1 << 31), 3 << 16]], np.int64)  # of 32 bits
    for width in (1, 2, 3, 4):
        kept = wide >> (32 - 8 * width)
        signed = kept.ravel().tolist()  # a byte is unsigned: 128 is silence
        data = bytes(v + 128 for v in signed) if width == 1 else b"".join(
            v.to_bytes(width, "little", signed=True) for v in signed)  # fmt: skip
        audio = Audio.open(wav(tmp_path / f"{width}.wav", data, width, channels=2, rate=22050))
        assert (audio.rate, audio.channels, len(audio)) == (22050, 2, 2)
        if width == 2:
            assert audio.samples.dtype == np.int16
            assert np.array_equal(audio.samples, kept)
        else:
            assert np.array_equal(audio.samples, (kept / 2.0 ** (8 * width - 1)).astype(np.float32))


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        Audio.open(tmp_path / "none.wav")
    (tmp_path / "text.wav").write_text("no RIFF header, and long enough for one")
    with pytest.raises(FileError, match="is not a WAV file") as caught:
        Audio.open(tmp_path / "text.wav")
    assert "ffmpeg" in str(caught.value.fix)
    (tmp_path / "empty.wav").write_bytes(b"")
    with pytest.raises(FileError, match="is cut off"):
        Audio.open(tmp_path / "empty.wav")
    whole = wav(tmp_path / "whole.wav", bytes(64), 2).read_bytes()
    floats = bytearray(whole)
    struct.pack_into("<H", floats, 20, 3)  # the format's tag: IEEE float
    (tmp_path / "floats.wav").write_bytes(floats)
    with pytest.raises(UnsupportedError, match="is not PCM") as refused:
        Audio.open(tmp_path / "floats.wav")
    assert "pcm_s16le" in str(refused.value.fix)


def test_the_extended_header_of_pcm(tmp_path: Path) -> None:
    samples = np.arange(-300, 300, dtype="<i4") << 16
    frames = b"".join(int(v).to_bytes(4, "little", signed=True)[1:] for v in samples)
    for kind, taken in ((1, True), (3, False)):
        extended = struct.pack("<HHIIHH", 0xFFFE, 1, 48000, 144000, 3, 24)
        extended += struct.pack("<HHIH", 22, 24, 4, kind)
        extended += bytes.fromhex("000000001000800000aa00389b71")
        body = b"WAVEfmt " + struct.pack("<I", len(extended)) + extended
        body += b"data" + struct.pack("<I", len(frames)) + frames
        path = tmp_path / "extended.wav"
        path.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
        if not taken:
            with pytest.raises(UnsupportedError, match="is not PCM"):
                Audio.open(path)
            continue
        audio = Audio.open(path)
        assert audio.rate == 48000
        assert np.array_equal(audio.samples[:, 0], (samples / 2.0**31).astype(np.float32))


def test_every_cut_of_a_file_is_an_error_or_shorter(tmp_path: Path) -> None:
    whole = wav(tmp_path / "whole.wav", MONO.tobytes() * 4, 2, channels=2).read_bytes()
    for length in range(len(whole)):
        (tmp_path / "cut.wav").write_bytes(whole[:length])
        try:
            assert len(Audio.open(tmp_path / "cut.wav")) < 8
        except FileError:
            assert length < 44 + 4


def test_what_a_session_takes_for_sound(tmp_path: Path) -> None:
    audio = Audio(MONO, 8000)
    assert as_audio(audio, 16000) is audio
    assert as_audio(MONO, 16000).rate == 16000
    path = wav(tmp_path / "a.wav", MONO.tobytes(), 2)
    assert np.array_equal(as_audio(path, 16000).samples[:, 0], MONO)
    assert all(is_audio(value, 2) for value in (audio, "a.wav", path, MONO))
    assert not is_audio(MONO, 1)  # a tensor
    assert not is_audio(MONO.reshape(2, 2), 3)
    assert not is_audio([1, 2], 3)
    with pytest.raises(ArgumentError):
        as_audio(3, 16000)
