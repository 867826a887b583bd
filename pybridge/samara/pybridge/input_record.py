# SPDX-License-Identifier: Apache-2.0
"""Records of inputs: pictures or sound."""

from __future__ import annotations

from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.audio_text import KINDS
from samara.pybridge.errors import ArgumentError
from samara.pybridge.files import kind_of
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.image_text import CHANNELS
from samara.pybridge.names import meant

InputRecord = ImageRecord | AudioRecord


def parse_record(text: str) -> InputRecord:
    """Parse a record. It describes sound if it begins with a kind of features, else pictures.

    ArgumentError if it is neither.
    >>> parse_record("samples float32 nf rate=16000 window=512").tensor_shape
    (1, 512)
    """
    first = "".join(text.split(maxsplit=1)[:1])
    if first in KINDS:
        return AudioRecord.parse(text)
    if first in CHANNELS or not first:
        return ImageRecord.parse(text)
    raise ArgumentError(
        f"the record begins with {first!r}",
        fix=meant(first, (*CHANNELS, *KINDS), "records of pictures and sound begin with"),
    )


def as_record(given: object, what: str = "the record") -> InputRecord:
    """A record unchanged, a text parsed. ArgumentError for anything else."""
    if isinstance(given, str):
        return parse_record(given)
    if isinstance(given, (ImageRecord, AudioRecord)):
        return given
    raise ArgumentError(
        f"{what} is {kind_of(given)}",
        fix="give an ImageRecord, an AudioRecord, or a text: 'rgb float32 nchw resize=224x224'",
    )
