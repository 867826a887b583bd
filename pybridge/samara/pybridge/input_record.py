# SPDX-License-Identifier: Apache-2.0
"""Records of inputs, of pictures and of sound."""

from __future__ import annotations

from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.audio_text import KINDS
from samara.pybridge.errors import ArgumentError
from samara.pybridge.files import kind_of
from samara.pybridge.image_record import ImageRecord

InputRecord = ImageRecord | AudioRecord


def parse_record(text: str) -> InputRecord:
    """The record that a text says: of sound where it begins with a kind of features.

    ArgumentError where it is none.

    >>> parse_record("samples float32 nf rate=16000 window=512").tensor_shape
    (1, 512)
    """
    first = text.split(maxsplit=1)[:1]
    return AudioRecord.parse(text) if first and first[0] in KINDS else ImageRecord.parse(text)


def as_record(given: object, what: str = "the record") -> InputRecord:
    """A record as it is, a text parsed. ArgumentError for anything else."""
    if isinstance(given, str):
        return parse_record(given)
    if isinstance(given, (ImageRecord, AudioRecord)):
        return given
    raise ArgumentError(
        f"{what} is {kind_of(given)}",
        fix="give an ImageRecord, an AudioRecord, or a text: 'rgb float32 nchw resize=224x224'",
    )
