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
    for text in ("", "logmels float32", "yuv float32 nchw"):
        with pytest.raises(ArgumentError):
            parse_record(text)


def test_records_stay_as_they_are() -> None:
    record = AudioRecord.parse(SOUND)
    assert as_record(record) is record
    assert as_record(SOUND) == record
    with pytest.raises(ArgumentError, match="the record of x is an int") as caught:
        as_record(3, "the record of x")
    assert "AudioRecord" in str(caught.value.fix)
