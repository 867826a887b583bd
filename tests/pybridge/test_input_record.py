# SPDX-License-Identifier: Apache-2.0
"""Texts of records of both kinds."""

from __future__ import annotations

import pytest

from samara import ArgumentError, AudioRecord, ImageRecord
from samara.pybridge.audio_text import KINDS
from samara.pybridge.input_record import as_record, parse_record

SOUND = "logmel float32 ntf rate=16000 window=400 hop=160 bins=40"


def test_the_first_word_says_of_what() -> None:
    assert isinstance(parse_record("rgb uint8 nhwc"), ImageRecord)
    assert isinstance(parse_record(f"  {SOUND}"), AudioRecord)
    for kind in KINDS:
        with pytest.raises(ArgumentError, match="dtype"):
            parse_record(f"{kind} float64 nf rate=16000 window=400")
    with pytest.raises(ArgumentError, match="has 0 words"):
        parse_record("")
    with pytest.raises(ArgumentError, match="begins with 'logmels'") as caught:
        parse_record("logmels float32 ntf rate=16000")
    assert str(caught.value.fix).startswith("did you mean 'logmel'? records of")
    with pytest.raises(ArgumentError, match="begins with 'yuv'") as caught:
        parse_record("yuv float32 nchw")
    assert "rgb, bgr, gray, samples, spectrum" in str(caught.value.fix)


def test_records_stay_as_they_are() -> None:
    record = AudioRecord.parse(SOUND)
    assert as_record(record) is record
    assert as_record(SOUND) == record
    with pytest.raises(ArgumentError, match="the record of x is an int") as caught:
        as_record(3, "the record of x")
    assert "AudioRecord" in str(caught.value.fix)
