# SPDX-License-Identifier: Apache-2.0
"""Sound to tensors by the runtime: the reference's bits, and records in C's structs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import samara
from samara import ArgumentError, Audio, AudioRecord
from samara.exporter import reference_audio
from samara.pybridge import preprocess_audio as made

RECORDS = (
    "samples float32 nf rate=16000 window=512",
    "samples int8 ntf rate=8000 window=40 hop=20 lead=20 frames=3 step=2 quant=0.0078125,-3",
    "spectrum float32 ntfc rate=16000 window=512,none hop=128 complex frames=2",
    "spectrum float16 ntf rate=16000 window=400,sine hop=160 fft=512 magnitude unit=32768",
    "mel float32 nft rate=22050 window=1024 hop=256 bins=40 mel=slaney norm=slaney center frames=5",
    "logmel float32 ntf rate=16000 window=400,povey,symmetric hop=160 fft=512 dc preemphasis=0.97 unit=32768"
    " bins=23 range=20,8000 triangles=mel floor=1.1920929e-07 frames=4 step=1",
    "logmel uint8 nctf rate=16000 window=480 hop=320 bins=32 range=60,7600 log=db first=2 frames=6"
    " mean=-40 scale=0.0125 quant=0.00390625,7",
    "mfcc float32 ntf rate=16000 window=640,hamming hop=640 fft=1024 bins=40 range=20,4000 offset=1e-6"
    " floor=1e-12 log=log10 coefficients=10 dct=plain lifter=22 frames=3 mean=1,2,3,4,5,6,7,8,9,10 scale=0.5",
)


def sound(rng: np.random.Generator, count: int, channels: int = 1) -> np.ndarray:
    return (rng.standard_normal((count, channels)) * 6000).clip(-32768, 32767).astype(np.int16)


@pytest.mark.parametrize("text", RECORDS)
def test_the_bits_of_the_reference(text: str, rng: np.random.Generator) -> None:
    record = AudioRecord.parse(text)
    samples = sound(rng, 6000, 2)
    cases = [
        (samples[:, 0], record.rate),
        (samples, record.rate),
        ((samples / np.float32(32768)).astype(np.float32), record.rate),
        (samples[:, 1], record.rate * 3 // 2),
    ]
    for case, rate in cases:
        got = samara.preprocess(record, Audio(case, rate))
        wanted = reference_audio.tensors(record, np.ascontiguousarray(case), rate)
        assert got.dtype == wanted.dtype
        assert len(got) > 0
        np.testing.assert_array_equal(got, wanted)


def test_what_it_is_made_of(rng: np.random.Generator) -> None:
    samples = sound(rng, 3000)[:, 0]
    wanted = samara.preprocess(RECORDS[0], Audio(samples, 16000))
    assert wanted.shape == (5, 1, 512)
    np.testing.assert_array_equal(samara.preprocess(RECORDS[0], samples), wanted)
    assert samara.preprocess(RECORDS[0], samples[:511]).shape == (0, 1, 512)
    assert samara.preprocess(RECORDS[0], samples[:0]).shape == (0, 1, 512)
    with pytest.raises(ArgumentError, match="float"):
        samara.preprocess(RECORDS[0], 3.5)
    with pytest.raises(ArgumentError, match="need a scale"):
        samara.preprocess("samples int8 nf rate=8000 window=4", samples)


@pytest.mark.parametrize("text", RECORDS)
def test_structs_hold_records(text: str) -> None:
    record = AudioRecord.parse(text)
    native, kept = made.record_struct(record)
    assert made.audio_record_of(native) == record
    del kept


def test_files_hold_records(tmp_path: Path) -> None:
    for text in RECORDS:
        record = AudioRecord.parse(text)
        audio = samara.zeros(*record.tensor_shape, dtype=getattr(samara, record.dtype))
        net = samara.trace(lambda audio: audio + audio, (audio,), input_names=["audio"])
        samara.export(net, tmp_path / "net.samara", preprocess={"audio": record})
        read = samara.Model(tmp_path / "net.samara").function(None).inputs[0].record
        assert read == record


def test_shapes_of_inputs() -> None:
    record = AudioRecord.parse(RECORDS[1])
    assert made.input_shape(record, 3) == (1, 3, 40)
    assert made.input_shape(record, 2) == (1, 120)


def test_runtimes_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "function_in", lambda lib, name: None)
    with pytest.raises(samara.UnsupportedError, match="takes no sound") as caught:
        samara.preprocess(RECORDS[0], np.zeros(512, np.int16))
    assert "--features audio" in str(caught.value.fix)
