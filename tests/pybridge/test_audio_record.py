# SPDX-License-Identifier: Apache-2.0
"""Audio records: what texts say, the text that they are written as, and what is refused."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from samara.pybridge.audio_record import AudioRecord, per_feature
from samara.pybridge.errors import ArgumentError

MEL = "logmel float32 ntf rate=16000 window=400 hop=160 bins=40"


@pytest.mark.parametrize(
    "text",
    [
        f"{MEL} frames=98 step=49",
        "mel float16 ft rate=22050 window=1024 hop=512 bins=128 mel=slaney norm=slaney center"
        " frames=3",
        "logmel float32 ntf rate=16000 window=400,povey,symmetric hop=160 dc preemphasis=0.97"
        " bins=80 range=20,7600.5 triangles=mel floor=1.1920929e-07 offset=1e-06"
        " unit=32768 log=db",
        "mfcc int8 ntfc rate=16000 window=480 hop=160 fft=1024 magnitude bins=40 range=20,4000"
        " first=2 triangles=mel log=log10 coefficients=10 dct=plain lifter=22"
        " frames=49 quant=0.5,83",
        "spectrum float32 nftc rate=16000 window=512,sine hop=256 complex",
        "spectrum float32 ntf rate=16000 window=512,none hop=128 magnitude",
        "samples float32 nf rate=16000 window=576 hop=512 lead=64 mean=0.1 scale=3.5",
        "mfcc float32 tf rate=8000 window=200 bins=3 coefficients=2 mean=1,-2.25 scale=0.1,1e-10",
    ],
)
def test_the_text_reads_back(text: str) -> None:
    record = AudioRecord.parse(text)
    again = AudioRecord.parse(str(record))
    assert again == record
    assert str(again) == str(record)
    # Nothing was lost on the way: every word with a value is among the canonical ones.
    given, written = ({w.partition("=")[0] for w in t.split()} for t in (text, str(record)))
    assert given <= written


def test_the_records_of_the_page(repo: Path) -> None:
    page = (repo / "docs" / "guides" / "preprocessing-audio.md").read_text(encoding="utf-8")
    kinds = "samples|spectrum|mel|logmel|mfcc"
    texts = re.findall(rf"`((?:{kinds}) [a-z0-9]+ [ntfc]+ rate=[^`]*)`", page)
    assert len(texts) == 9
    for text in texts:
        assert AudioRecord.parse(str(AudioRecord.parse(text))) == AudioRecord.parse(text)


def test_what_is_left_out() -> None:
    record = AudioRecord.parse("mfcc float32 tf rate=16000 window=400 bins=40")
    assert (record.hop, record.fft, record.shape, record.coefficients) == (400, 512, "hann", 13)
    assert (record.low, record.high, record.frames, record.step) == (0.0, 8000.0, 1, 1)
    assert AudioRecord.parse("samples float32 f rate=8000 window=7").shape == "none"


def test_shapes_of_tensors() -> None:
    parse = AudioRecord.parse
    assert parse(f"{MEL} frames=98").tensor_shape == (1, 98, 40)
    spectrum = parse("spectrum float32 nftc rate=16000 window=512 complex")
    assert spectrum.tensor_shape == (1, 257, 1, 2)
    assert parse("samples float32 f rate=16000 window=512").tensor_shape == (512,)
    assert parse(f"{MEL.replace('ntf', 'nctf')}").tensor_shape == (1, 1, 1, 40)


def test_numbers_are_float32() -> None:
    record = AudioRecord.parse(f"{MEL} mean=0.1 std=3")
    assert record.mean == (0.10000000149011612,)
    assert record.scale == (0.3333333432674408,)
    assert "scale=0.33333334" in str(record)
    assert dataclasses.replace(record, mean=(0.1,)) == record
    assert per_feature(record.mean, 2) == (*record.mean, *record.mean)


def test_quantization_of_the_input() -> None:
    record = AudioRecord.parse("samples int8 nf rate=16000 window=512")
    assert record.needs_quant
    assert record.quantized(0.5, -3).quant == (0.5, -3)
    said = dataclasses.replace(record, quant=(0.25, 1))
    assert said.quantized(0.5, -3) is said
    floats = AudioRecord.parse(MEL)
    assert floats.quantized(0.5, 3) is floats
    with pytest.raises(ArgumentError, match=r"need a scale and a zero point.*\n.*quant=SCALE,ZERO"):
        record.quantized()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("logmel", "1 words, expected kind, type and layout"),
        ("logmell float32 tf rate=16000", "kind is 'logmell'.*\n.*logmel"),
        ("logmel float23 tf rate=16000 window=4 bins=1", "dtype is 'float23'"),
        ("logmel float32 nchw rate=16000 window=4 bins=1", "layout is 'nchw'"),
        ("logmel float32 nt rate=16000 window=4 bins=1", "no axis f for 1 features"),
        ("logmel float32 nf rate=16000 window=4 bins=1 frames=3", "no axis t for 3 frames"),
        ("spectrum float32 tf rate=16000 window=4 complex", "no axis c for 2 parts"),
        (f"{MEL} bin=3", "no word 'bin=3'.*\n.*bins"),
        (f"{MEL} bins=4", "'bins=4' stands after 'bins=40'"),
        (f"{MEL} std=1 scale=3", "'scale=3' stands after 'std=1'"),
        (f"{MEL} power magnitude", "'magnitude' stands after 'power'"),
        (f"{MEL} complex", "complex does not belong to logmel"),
        (f"{MEL} coefficients=3", "coefficients does not belong to logmel"),
        (f"{MEL} center=1", "'center=1' has a value"),
        (f"{MEL} center lead=3", "center and lead"),
        (f"{MEL} fft=500", "fft=500 for a window of 400.*\n.*fft=512"),
        (f"{MEL} fft=256", "fft=256"),
        (f"{MEL} range=20", "'range=20' is not understood.*\n.*range=20,8000"),
        (f"{MEL} range=20,8001", "range=20,8001 hertz.*0..8000"),
        (f"{MEL} range=30,20", "range=30,20"),
        (f"{MEL} range=a,20", "'a' is not a decimal number"),
        (f"{MEL} floor=0", "floor=0"),
        (f"{MEL} floor=1e-60", "outside the normal range of float32"),
        (f"{MEL} mel=bark", "mel is 'bark', expected one of htk, slaney"),
        (f"{MEL} mean=1,2", "mean has 2 values, expected 1, or one per feature, 40"),
        (f"{MEL} scale=0", "a scale is 0"),
        (f"{MEL} std=-1", "'std=-1' is not understood"),
        (f"{MEL} quant=0.5,0", "quant is given for float32"),
        (f"{MEL} unit=2", "unit is 2, expected 1 or 32768"),
        (f"{MEL} frames=0", "frames is 0, expected a whole number of 1..4096"),
        (f"{MEL} frames=2.5", "'frames=2.5' is not a whole number"),
        (f"{MEL} frames=4 step=5", "step=5 is more than the 4 frames"),
        (f"{MEL} preemphasis=2", "preemphasis is 2, expected 0..1"),
        ("logmel float32 tf rate=16000 window=400,kaiser bins=40", "'kaiser', expected a shape"),
        ("logmel float32 tf rate=16000 window=400,hann,sine bins=40", "'sine'"),
        ("logmel float32 tf rate=16000 window=x bins=40", "'window=x' is not a number of samples"),
        ("logmel float32 tf rate=16000 bins=40", "does not say window"),
        ("logmel float32 tf window=400 bins=40", "does not say rate"),
        ("logmel float32 tf rate=999 window=400 bins=40", "rate is 999"),
        ("logmel float32 tf rate=16000 window=400", "bins is 0, expected a whole number of 1..256"),
        (
            "mfcc float32 tf rate=16000 window=400 bins=4 coefficients=5",
            "=5 is more than the 4 bins",
        ),
        ("samples float32 f rate=16000 window=400,hann", "shape of the window does not belong"),
        ("samples float32 f rate=16000 window=400 bins=4", "bins does not belong to samples"),
        (
            "samples float32 f rate=16000 window=400 lead=400",
            "leaves only zeros in the first window",
        ),
        ("samples int8 f rate=16000 window=400 quant=0.5,128", "zero point of quant is 128"),
        ("samples int8 f rate=16000 window=400 quant=0,1", "scale of quant is 0"),
    ],
)
def test_bad_texts_are_refused(text: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as caught:
        AudioRecord.parse(text)
    assert caught.value.fix


def test_bad_fields_are_refused() -> None:
    record = AudioRecord.parse(MEL)
    for name, value in (
        *(("coefficients", 3), ("lifter", 2), ("spectrum", "phase"), ("log", "log2"), ("hop", -1)),
        *(("rate", True), ("low", "20"), ("floor", float("nan")), ("high", float("inf"))),
    ):
        with pytest.raises(ArgumentError):
            dataclasses.replace(record, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not a text"):
        AudioRecord.parse(3)  # type: ignore[arg-type]
