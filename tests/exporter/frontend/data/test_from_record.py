# SPDX-License-Identifier: Apache-2.0
"""FromRecord makes what the runtime makes, of pictures and of sound."""

from __future__ import annotations

import pickle
import wave
from pathlib import Path

import numpy as np
import pytest

import samara
from samara import ShapeError
from samara.data.transforms import FromRecord
from samara.exporter.frontend.input_records import marks
from samara.pybridge.audio import Audio
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.preprocess_audio import preprocess_audio

PICTURE = "rgb float32 nchw resize=8x8 mean=127.5 std=127.5"
SOUND = "logmel float32 ntf rate=16000 window=400 hop=160 bins=16 frames=4"


def test_pictures(rng: np.random.Generator) -> None:
    picture = rng.integers(0, 256, (20, 30, 3), np.uint8)
    transform = pickle.loads(pickle.dumps(FromRecord(PICTURE)))
    made = transform(picture)
    assert np.array_equal(made.numpy(), samara.preprocess(PICTURE, picture)[0])
    assert marks(made) == (str(samara.ImageRecord.parse(PICTURE)),)
    unbatched = FromRecord(PICTURE.replace("nchw", "hwc"))(picture)
    assert tuple(unbatched.shape) == (8, 8, 3)


def test_sound(rng: np.random.Generator, tmp_path: Path) -> None:
    samples = rng.integers(-9000, 9000, 880, np.int16)  # 4 frames: 3 * 160 + 400
    record = AudioRecord.parse(SOUND)
    (wanted,) = preprocess_audio(record, Audio(samples, 16000))
    transform = FromRecord(SOUND)
    made = transform(samples)
    assert tuple(made.shape) == (4, 16)
    assert np.array_equal(made.numpy(), wanted[0])
    assert marks(made) == (str(record),)
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.tobytes())
    for given in (Audio(samples, 16000), tmp_path / "a.wav", str(tmp_path / "a.wav")):
        assert np.array_equal(transform(given).numpy(), wanted[0])
    half = Audio(np.repeat(samples, 2), 32000)
    assert np.array_equal(transform(half).numpy(), preprocess_audio(record, half)[0][0])


@pytest.mark.parametrize(("count", "made"), [(0, 0), (879, 0), (4 * 160 + 880, 2)])
def test_a_sample_of_sound_is_one_tensor(count: int, made: int) -> None:
    with pytest.raises(ShapeError, match=rf"makes {made} tensors of 'logmel"):
        FromRecord(SOUND)(np.zeros(count, np.int16))
