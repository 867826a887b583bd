# SPDX-License-Identifier: Apache-2.0
"""Audio features beside librosa and SciPy: docs/guides/preprocessing-audio.md has the figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.test_reference_audio import sounds

from samara.exporter import reference_audio as reference
from samara.exporter import reference_audio_tables as tables
from samara.pybridge.audio_record import AudioRecord

librosa: Any = pytest.importorskip("librosa", reason="NOT RUN: audio features beside librosa")
signal: Any = pytest.importorskip("scipy.signal", reason="NOT RUN: resampling beside SciPy")

Array = np.ndarray[Any, np.dtype[Any]]

RECORDS = {
    "stft": "spectrum float32 tf rate=16000 window=400 hop=160 fft=512 center magnitude",
    "mel": "mel float32 tf rate=16000 window=400 hop=160 fft=512 bins=80 mel=slaney"
    " norm=slaney center",
    "mel in dB": "logmel float32 tf rate=16000 window=400 hop=160 fft=512 bins=80 mel=slaney"
    " norm=slaney center log=db",
    "log of HTK mel": "logmel float32 tf rate=16000 window=400 hop=160 fft=512 bins=40 center"
    " range=20,7600",
    "MFCC": "mfcc float32 tf rate=16000 window=400 hop=160 fft=512 bins=40 mel=slaney norm=slaney"
    " center log=db coefficients=20",
}


def by_librosa(record: AudioRecord, x: Array) -> Array:
    """What librosa makes of float64 samples, [frames, features]."""
    spectrum = np.abs(
        librosa.stft(
            x,
            n_fft=record.fft,
            hop_length=record.hop,
            win_length=record.window,
            center=True,
            pad_mode="constant",
            dtype=np.complex128,
        )
    )
    if record.kind == "spectrum":
        return np.asarray(spectrum.T)
    filters = librosa.filters.mel(
        sr=record.rate,
        n_fft=record.fft,
        n_mels=record.bins,
        fmin=record.low,
        fmax=record.high,
        htk=record.mel == "htk",
        norm="slaney" if record.norm == "slaney" else None,
        dtype=np.float64,
    )
    bands = filters @ spectrum**2
    if record.kind == "mel":
        return np.asarray(bands.T)
    if record.log == "ln":
        return np.asarray(np.log(np.maximum(bands, record.floor)).T)
    decibels = librosa.power_to_db(bands, ref=1.0, amin=1e-10, top_db=None)
    if record.kind == "logmel":
        return np.asarray(decibels.T)
    return np.asarray(librosa.feature.mfcc(S=decibels, n_mfcc=record.coefficients).T)


def largest_error(name: str, level: int, rng: np.random.Generator) -> float:
    """Over all sounds, as int16 and float32: the largest difference, of the features' range."""
    record = AudioRecord.parse(RECORDS[name])
    worst = 0.0
    for wave in sounds(rng).values():
        loud = wave * 10 ** (level / 20)
        for samples in (np.rint(loud * 32767).astype(np.int16), loud.astype(np.float32)):
            exact = samples.astype(np.float64) / (32768 if samples.dtype == np.int16 else 1)
            want = by_librosa(record, exact)
            made = reference.features(record, samples, record.rate)
            assert made.shape == want.shape
            worst = max(worst, float(np.abs(made - want).max() / (want.max() - want.min())))
    return worst


@pytest.mark.parametrize("level", [0, -60])
@pytest.mark.parametrize("name", RECORDS)
def test_features_are_librosas(name: str, level: int, rng: np.random.Generator) -> None:
    assert largest_error(name, level, rng) < 1e-4


@pytest.mark.parametrize(("rate", "to"), [(48000, 16000), (44100, 16000), (8000, 16000)])
def test_resampling_is_a_filter_of_scipys(rate: int, to: int, rng: np.random.Generator) -> None:
    up, down = tables.resampler(rate, to)[:2]
    x = rng.uniform(-0.9, 0.9, rate // 10).astype(np.float32)
    # The same windowed sinc at `up` times the rate, by the formula.
    base = 0.95 * min(1, to / rate) / up
    reach = int(np.ceil(16 / base))
    t = np.arange(-reach, reach + 1) * base
    taps = np.where(np.abs(t) < 16, np.cos(np.pi * t / 32) ** 2, 0) * np.sinc(t) * base * up
    want = signal.upfirdn(taps, x.astype(np.float64), up, 1)[reach::down]
    made = reference.resample(reference.mono(x), rate, to) / 2**40
    assert np.abs(made - want[: len(made)]).max() < 1e-8
