# SPDX-License-Identifier: Apache-2.0
"""FromRecord: a transform with the pre-processing of a device."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend.input_records import mark
from samara.exporter.frontend.tensor import wrap
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.errors import ShapeError
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.input_record import InputRecord, as_record
from samara.pybridge.preprocess import preprocess

__all__ = ["FromRecord"]


class FromRecord:
    """A picture or a recording as the tensor of a record. A model with that record gets the same bits on a device,
    because the same code makes them (docs/guides/preprocessing.md).

    record: a samara.ImageRecord or samara.AudioRecord, or its text. Call it with a picture as samara.preprocess
    takes it (an array uint8 [H, W, 3] of RGB or [H, W] of gray, an image of Pillow, a path, a samara.Image), or
    with sound (an array of samples [count] at the record's rate, a path, a samara.Audio). Returns a tensor of the
    record's layout without the batch axis, so that a DataLoader batches it.

    A model that is trained on such batches exports the record. Put augmentation before this transform: a tensor
    that is changed after it no longer carries the record.

    ShapeError for sound that makes no tensor of the record, or several.

    >>> transform = FromRecord("rgb float32 nchw resize=256 crop=224 mean=127.5 std=127.5")
    >>> transform(np.zeros((480, 640, 3), np.uint8)).shape
    (3, 224, 224)
    """

    def __init__(self, record: InputRecord | str) -> None:
        self.record = as_record(record)
        if isinstance(self.record, ImageRecord):
            self.record.check()

    def __call__(self, sample: Any) -> Any:
        made = preprocess(self.record, sample)
        if isinstance(self.record, AudioRecord):
            made = _sole(self.record, made)
        made = made[0] if self.record.layout.startswith("n") else made
        return mark(wrap(made), (str(self.record),))

    def __repr__(self) -> str:
        return f"FromRecord({str(self.record)!r})"


def _sole(record: AudioRecord, made: Any) -> Any:
    """The one tensor of a recording."""
    if len(made) != 1:
        raise ShapeError(
            f"the sound makes {len(made)} tensors of '{record}', and a sample is one",
            fix="cut recordings, or fill them with zeros, to the samples of one tensor",
        )
    return made[0]
