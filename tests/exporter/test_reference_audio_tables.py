# SPDX-License-Identifier: Apache-2.0
"""Tables of the audio reference against float64 formulas of the libraries that made them usual."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samara.exporter import reference_audio_tables as tables
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.errors import ShapeError


def test_constants_are_rounded_down() -> None:
    # Machin's formula for pi and a series for ln 2, in whole numbers of 200 bits.
    one = 1 << 200

    def arctan(inverse: int) -> int:
        total, term, n = 0, one // inverse, 0
        while term:
            total += (-1) ** n * term // (2 * n + 1)
            term, n = term // inverse**2, n + 1
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    ln2 = sum(one // (n << n) for n in range(1, 200))
    assert pi >> 138 == tables.PI
    assert (one << 62) // pi == tables.INVERSE_PI
    assert ln2 >> 138 == tables.LN2


def test_functions_are_those_of_libm() -> None:
    for b in (1, 2, 3, 7, 100, 441, 512, 4096, 120_000):
        for a in range(0, 2 * b, max(1, b // 50)):
            assert tables.sine(a, b) / tables.ONE == pytest.approx(
                math.sin(2 * math.pi * a / b), abs=1e-12
            )
            assert tables.cosine(a, b) / tables.ONE == pytest.approx(
                math.cos(2 * math.pi * a / b), abs=1e-12
            )
    for n in (1, 2, 3, 700 << 32, 2**64 - 1):
        assert tables.log2(n) / 2**48 == pytest.approx(math.log2(n), abs=1e-12)
    for fraction in (0.0, 0.1, 0.5, 0.999999):
        assert tables.exp2(int(fraction * 2**48)) / tables.ONE == pytest.approx(
            2**fraction, abs=1e-12
        )


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("shape", ["hann", "hamming", "povey", "sine", "none"])
def test_windows(shape: str, symmetric: bool) -> None:
    for size in (1, 2, 9, 400):
        word = f"{shape},symmetric" if symmetric else shape
        record = AudioRecord.parse(f"spectrum float32 tf rate=16000 window={size},{word}")
        made = np.array(tables.window(record)) / 2**40
        n = np.arange(size) / max(1, size - 1 if symmetric else size)
        cosine = np.cos(2 * np.pi * n)
        want = {
            "hann": 0.5 - 0.5 * cosine,
            "hamming": 0.54 - 0.46 * cosine,
            "povey": (0.5 - 0.5 * cosine).clip(0) ** 0.85,
            "sine": np.abs(np.sin(np.pi * n)),
            "none": np.ones(size),
        }[shape]
        assert np.abs(made - want).max() < 1e-11


def mel_weights(record: AudioRecord) -> tuple[np.ndarray, np.ndarray]:
    """Bands [bins, fft / 2 + 1] and their edges in hertz, as librosa and Kaldi define them."""
    slaney = record.mel == "slaney"
    step = math.log(6.4) / 27

    def mel(hertz: np.ndarray) -> np.ndarray:
        if not slaney:
            return 2595 * np.log10(1 + hertz / 700)
        linear = hertz * 3 / 200
        return np.where(hertz < 1000, linear, 15 + np.log(np.maximum(hertz, 1e-9) / 1000) / step)

    def hertz_of(mels: np.ndarray) -> np.ndarray:
        if not slaney:
            return 700 * (10 ** (mels / 2595) - 1)
        return np.where(mels < 15, mels * 200 / 3, 1000 * np.exp(step * (mels - 15)))

    ends = mel(np.array([record.low, record.high]))
    mels = np.linspace(ends[0], ends[1], record.bins + 2)
    hertz = hertz_of(mels)
    places = np.arange(record.fft // 2 + 1) * record.rate / record.fft
    edges = hertz
    if record.triangles == "mel":
        places, edges = mel(places), mels
    up = (places - edges[:-2, None]) / np.diff(edges)[:-1, None]
    down = (edges[2:, None] - places) / np.diff(edges)[1:, None]
    weights = np.maximum(0, np.minimum(up, down))
    weights[:, : record.first] = 0
    return weights, hertz


@pytest.mark.parametrize("triangles", ["hz", "mel"])
@pytest.mark.parametrize("scale", ["htk", "slaney"])
def test_mel_bands(scale: str, triangles: str) -> None:
    record = AudioRecord.parse(
        f"mel float32 tf rate=16000 window=400 bins=80 range=20.5,7600 first=2 mel={scale}"
        f" triangles={triangles} norm=slaney"
    )
    made = np.zeros((80, 257))
    norms = np.zeros(80)
    for j, (start, weights, (m, e)) in enumerate(tables.bands(record)):
        made[j, start : start + len(weights)] = np.array(weights) / 2**31
        norms[j] = m * 2.0**e
        assert m >> 31 == 1
    want, hertz = mel_weights(record)
    assert np.abs(made - want).max() < 1e-9
    assert np.allclose(norms, 2 / (hertz[2:] - hertz[:-2]), rtol=1e-9)


@pytest.mark.parametrize("dct", ["ortho", "plain"])
@pytest.mark.parametrize("lifter", [0, 22])
def test_cosine_transforms(dct: str, lifter: int) -> None:
    record = AudioRecord.parse(
        f"mfcc float32 tf rate=16000 window=400 bins=23 coefficients=13 dct={dct} lifter={lifter}"
    )
    k, b = np.arange(13)[:, None], np.arange(23)
    want = math.sqrt(2 / 23) * np.cos(np.pi * k * (b + 0.5) / 23)
    if dct == "ortho":
        want[0] /= math.sqrt(2)
    if lifter:
        want *= 1 + lifter / 2 * np.sin(np.pi * k / lifter)
    assert np.abs(np.array(tables.cosines(record)) / 2**20 - want).max() < 1e-6


@pytest.mark.parametrize(("rate", "to"), [(48000, 16000), (44100, 16000), (8000, 16000)])
def test_resamplers_are_windowed_sincs(rate: int, to: int) -> None:
    up, down, half, table = tables.resampler(rate, to)
    assert up * rate == down * to
    base = 0.95 * min(1, to / rate)  # of the input's rate
    for phase in range(0, up, 7):
        t = (phase / up - np.arange(-half + 1, half + 1)) * base
        taper = np.where(np.abs(t) < 16, np.cos(np.pi * t / 32) ** 2, 0)
        assert np.abs(np.array(table[phase]) / 2**31 - np.sinc(t) * taper * base).max() < 1e-9


def test_rates_that_share_nothing_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"191999.*weights"):
        tables.resampler(191999, 16000)
    with pytest.raises(ShapeError, match=r"1000\.\.192000"):
        tables.resampler(500, 16000)


def test_floats_become_whole() -> None:
    assert tables.fixed(1.0, 40) == 1 << 40
    assert tables.fixed(0.97, 40) == round(float(np.float32(0.97)) * 2**40)
    assert tables.power_of(0.0) == (0, 0)
    m, e = tables.power_of(1e-10)
    assert m * 2.0**e == float(np.float32(1e-10))
