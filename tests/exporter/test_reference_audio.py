# SPDX-License-Identifier: Apache-2.0
"""The audio reference against float64 formulas: every step, and whole front ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.exporter.test_reference_audio_tables import mel_weights

from samara.exporter import reference_audio as reference
from samara.exporter import reference_audio_tables as tables
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.errors import ArgumentError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]


# ---- steps ----


def test_channels_are_averaged() -> None:
    stereo = np.array([[32767, -32768], [3, 4], [0, -1]], np.int16)
    unit = 1 << 25  # of int16 in samples
    assert reference.mono(stereo).tolist() == [-unit // 2, 7 * unit // 2, -unit // 2]
    floats = np.array([0.5, -1.0, np.nan, np.inf, -np.inf, 3, 2.0**-41], np.float32)
    assert reference.mono(floats).tolist() == [
        *(1 << 39, -(1 << 40), 0, 2 << 40, -(2 << 40), 2 << 40, 1)
    ]
    small = np.array([[1, 0, 0], [2, 0, 0], [-1, 0, 0], [-2, 0, 0]], np.float32)
    assert reference.mono(small * np.float32(2.0**-40)).tolist() == [0, 1, 0, -1]
    with pytest.raises(ShapeError, match=r"float64 \[3\], expected int16 or float32"):
        reference.mono(np.zeros(3))


def test_frames_begin_where_the_record_says() -> None:
    signal = np.arange(1, 11, dtype=np.int64)

    def cut(words: str) -> list[list[int]]:
        return [list(map(int, row)) for row in reference.cut(AudioRecord.parse(words), signal)]

    samples = "samples float32 tf rate=8000 "
    assert cut(samples + "window=4 hop=3") == [[1, 2, 3, 4], [4, 5, 6, 7], [7, 8, 9, 10]]
    assert cut(samples + "window=4 hop=6 lead=2") == [[0, 0, 1, 2], [5, 6, 7, 8]]
    assert cut(samples + "window=11") == []
    assert cut("spectrum float32 tf rate=8000 window=4 hop=5 center") == [
        *([0, 0, 1, 2], [4, 5, 6, 7], [9, 10, 0, 0])
    ]


@pytest.mark.parametrize(("rate", "to"), [(48000, 16000), (44100, 16000), (16000, 48000)])
def test_resampling_keeps_a_tone(rate: int, to: int) -> None:
    signal = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(rate // 10) / rate)
    made = reference.resample(reference.mono(signal.astype(np.float32)), rate, to) / 2**40
    assert len(made) == -(-len(signal) * to // rate)
    want = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(len(made)) / to)
    inner = slice(200, len(made) - 200)
    assert np.abs(made - want)[inner].max() < 1e-4


def test_resampling_removes_what_the_rate_cannot_hold() -> None:
    signal = np.sin(2 * np.pi * 9000 * np.arange(4800) / 48000).astype(np.float32)
    made = reference.resample(reference.mono(signal), 48000, 16000) / 2**40
    assert np.abs(made[50:-50]).max() < 3e-3  # -50 dB


def test_products_are_rounded_once(rng: np.random.Generator) -> None:
    x = rng.integers(-(2**43) + 1, 2**43, 1000)
    w = rng.integers(-(2**40), 2**40 + 1, 1000)
    for bits in (23, 40, 52):
        want = [tables.rounded(int(a) * int(b), bits) for a, b in zip(x, w, strict=True)]
        assert reference.product(x, w, bits).tolist() == want


def test_roots_and_lengths(rng: np.random.Generator) -> None:
    x = np.concatenate([rng.integers(0, 2**63, 500), np.arange(50) ** 2, [2**63 - 1]]).astype(
        np.uint64
    )
    x = np.concatenate([x, x >> np.uint64(31), [np.uint64(2**63)]])
    made = reference.bit_length(x)
    assert made.tolist() == [int(v).bit_length() for v in x]
    record = AudioRecord.parse("spectrum float32 tf rate=8000 window=16 magnitude")
    parts = np.array([[3, 0, 2**42, 5]], np.int64)
    other, bits = np.array([[4, 0, 2**42, -12]], np.int64), np.array([33])
    m, e = reference.magnitudes(record, parts, other, bits)
    assert (m * 2.0**e * 2**33)[0].tolist() == pytest.approx([5, 0, 2**42.5, 13], rel=1e-8)


def test_elements_are_quantized() -> None:
    record = AudioRecord.parse("samples int8 tf rate=8000 window=1 quant=0.015625,10")
    values = np.array([[0.5], [1.5], [-0.5], [128], [-129]], np.float32) / 64
    assert reference.elements(record, values)[:, 0].tolist() == [10, 12, 10, 127, -119]
    with pytest.raises(ArgumentError, match="quant=SCALE,ZERO"):
        reference.elements(dataclasses.replace(record, quant=None), values)
    halves = AudioRecord.parse("samples float16 tf rate=8000 window=1 mean=0.5 std=0.25")
    assert reference.elements(halves, np.ones((1, 1), np.float32)).tolist() == [[2.0]]


def test_tensors_are_frames_in_a_layout(rng: np.random.Generator) -> None:
    text = "spectrum float32 {} rate=8000 window=16 hop=8 complex frames=3 step=2"
    samples = rng.integers(-999, 999, 100).astype(np.int16)
    frames = reference.features(AudioRecord.parse(text.format("ntfc")), samples, 8000)
    assert frames.shape == (11, 18)
    for layout in ("ntfc", "cft", "fnct"):
        record = AudioRecord.parse(text.format(layout))
        made = reference.tensors(record, samples, 8000)
        assert made.shape == (5, *record.tensor_shape)
        for i in range(5):
            want = frames[2 * i : 2 * i + 3].reshape(1, 3, 9, 2)
            axes = ["ntfc".index(letter) for letter in layout]
            left = [axis for axis in range(4) if axis not in axes]
            assert np.array_equal(made[i], want.transpose(*axes, *left).reshape(made[i].shape))
    assert reference.tensors(record, samples[:20], 8000).shape == (0, *record.tensor_shape)


# ---- whole front ends ----


def formula(record: AudioRecord, x: Array) -> Array:
    """Features by float64, as librosa, Kaldi and TensorFlow define them; x in the record's unit."""
    lead = reference.lead_of(record)
    count = reference.cut(record, np.zeros(len(x), np.int64)).shape[0]
    padded = np.concatenate([np.zeros(lead), x, np.zeros(record.fft)])
    frames = np.stack(
        [padded[t * record.hop : t * record.hop + record.window] for t in range(count)]
    )
    if record.dc:
        frames = frames - frames.mean(axis=1, keepdims=True)
    if record.preemphasis:
        before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
        frames = frames - record.preemphasis * before
    window = np.array(tables.window(record)) / 2**40
    spectrum = np.fft.rfft(frames * window, n=record.fft)
    if record.spectrum == "complex":
        return np.stack([spectrum.real, spectrum.imag], axis=2).reshape(count, -1)
    size = np.abs(spectrum) ** (2 if record.spectrum == "power" else 1)
    if record.kind == "spectrum":
        return np.asarray(size)
    weights, hertz = mel_weights(record)
    if record.norm == "slaney":
        weights = weights * (2 / (hertz[2:] - hertz[:-2]))[:, None]
    bands = size @ weights.T
    if record.kind == "mel":
        return np.asarray(bands)
    logs = np.log10(np.maximum(bands + record.offset, record.floor))
    logs *= {"ln": np.log(10), "log10": 1, "db": 10}[record.log]
    if record.kind == "logmel":
        return np.asarray(logs)
    return np.asarray(logs @ (np.array(tables.cosines(record)) / 2**20).T)


FRONT_ENDS = {
    "librosa": "logmel float32 tf rate=16000 window=400 hop=160 fft=512 bins=80 mel=slaney"
    " norm=slaney center log=db",
    "htk": "logmel float32 tf rate=16000 window=400 hop=160 fft=512 bins=40",
    "mfcc": "mfcc float32 tf rate=16000 window=400 hop=160 fft=512 bins=40 coefficients=20"
    " lifter=22",
    "kaldi": "logmel float32 tf rate=16000 window=400,povey,symmetric hop=160 dc preemphasis=0.97"
    " bins=80 range=20,8000 triangles=mel floor=1.1920929e-07 unit=32768",
    "speech_commands": "mfcc float32 tf rate=16000 window=480 hop=160 fft=512 magnitude bins=40"
    " range=20,4000 first=2 triangles=mel floor=1e-12 coefficients=10 dct=plain",
    "mel": "mel float32 tf rate=16000 window=1024 hop=256 bins=128 mel=slaney norm=slaney center",
    "complex": "spectrum float32 tfc rate=16000 window=512,sine hop=256 complex",
    "magnitude": "spectrum float32 tf rate=16000 window=512,none hop=128 magnitude",
    "offset": "logmel float32 tf rate=16000 window=400 hop=160 bins=40 offset=1e-6 floor=1e-20",
}


def sounds(rng: np.random.Generator) -> dict[str, Array]:
    """0.3 s each of a tone, noise, a chirp and something like a voice, at full scale."""
    t = np.arange(4800) / 16000
    pitch = 2 * np.pi * np.cumsum(120 + 20 * np.sin(4 * np.pi * t)) / 16000
    voice = sum(np.sin(k * pitch) / k**1.2 for k in range(1, 40)) * np.sin(3 * np.pi * t) ** 2
    voice = voice + 0.01 * rng.standard_normal(len(t))
    return {
        "tone": np.sin(2 * np.pi * 1000.37 * t),
        "noise": rng.uniform(-1, 1, len(t)),
        "chirp": np.sin(2 * np.pi * (50 * t + 3900 * t * t)),
        "voice": voice / np.abs(voice).max(),
    }


@pytest.mark.parametrize("level", [0, -60])
@pytest.mark.parametrize("name", FRONT_ENDS)
def test_features_are_those_of_float64(name: str, level: int, rng: np.random.Generator) -> None:
    record = AudioRecord.parse(FRONT_ENDS[name])
    for sound, wave in sounds(rng).items():
        loud = wave * 10 ** (level / 20)
        for samples in (np.rint(loud * 32767).astype(np.int16), loud.astype(np.float32)):
            exact = samples.astype(np.float64) / (32768 if samples.dtype == np.int16 else 1)
            want = formula(record, exact * record.unit)
            made = reference.features(record, samples, 16000)
            error = np.abs(made - want).max() / (want.max() - want.min())
            assert error < 1e-4, (sound, samples.dtype, error)


def test_the_loudest_sound_does_not_overflow() -> None:
    record = AudioRecord.parse(
        "spectrum float32 tfc rate=16000 window=8192,none complex dc preemphasis=1"
    )
    wave = np.where(np.arange(8192) % 2 == 0, 2, -2).astype(np.float32)
    made = reference.features(record, wave, 16000)
    want = formula(record, wave.astype(np.float64))
    assert np.abs(made - want).max() < 1e-6 * np.abs(want).max()


def test_silence_is_the_floor() -> None:
    record = AudioRecord.parse(FRONT_ENDS["htk"])
    made = reference.features(record, np.zeros(400, np.int16), 16000)
    assert np.allclose(made, np.log(1e-10), atol=1e-6)
