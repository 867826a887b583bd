# SPDX-License-Identifier: Apache-2.0
"""Audio records as rows of a file."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pybridge.test_preprocess_audio import RECORDS

from samara import ArgumentError, AudioRecord, ModelFormatError
from samara.exporter.ir import schema
from samara.exporter.ir.audio_rows import audio_record, audio_row


@pytest.mark.parametrize("text", RECORDS)
def test_rows_hold_every_field(text: str) -> None:
    row = audio_row(AudioRecord.parse(text))
    assert sorted(row) == sorted(f.name for f in schema.table("AudioRecord").fields)
    assert audio_record(row) == AudioRecord.parse(text)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"kind": 0}, ModelFormatError),
        ({"kind": 6}, ModelFormatError),
        ({"shape": 5}, ModelFormatError),
        ({"spectrum": 3}, ModelFormatError),
        ({"log": 3}, ModelFormatError),
        ({"rate": 0}, ArgumentError),
        ({"layout": "ntx"}, ArgumentError),
        ({"high": float("nan")}, ArgumentError),
        ({"mean": [1.0, 2.0]}, ArgumentError),
    ],
)
def test_rows_without_a_meaning(changes: dict[str, Any], error: type[ArgumentError]) -> None:
    row = audio_row(AudioRecord.parse(RECORDS[5]))
    with pytest.raises(error):
        audio_record(row | changes)
