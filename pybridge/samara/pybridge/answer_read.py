# SPDX-License-Identifier: Apache-2.0
"""Convert answers of the runtime into Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import NULL, ffi
from samara.pybridge.answers import (
    Answer,
    Classification,
    Detections,
    Guess,
    Keypoints,
    Mask,
    label_of,
)

KINDS = ("none", "classes", "mask", "boxes", "keypoints")
"""What samara_answer_kind counts."""

# samara_box: two pointers, five floats, a number.
_BOX = np.dtype({
    "names": ["box", "score", "index"],
    "formats": [(np.float32, 4), np.float32, np.uint32],
    "offsets": [ffi.offsetof("samara_box", f) for f in ("x0", "score", "class_index")],
    "itemsize": ffi.sizeof("samara_box"),
})  # fmt: skip
_POINT = np.dtype({
    "names": ["point", "score"],
    "formats": [(np.float32, 2), np.float32],
    "offsets": [ffi.offsetof("samara_point", f) for f in ("x", "score")],
    "itemsize": ffi.sizeof("samara_point"),
})  # fmt: skip


def read_answer(native: Any, labels: tuple[str, ...]) -> Answer:
    """The Python object of a samara_answer, with copies of everything that it points to."""
    kind, count = KINDS[native.kind], int(native.count)
    if kind == "classes":
        classes = (native.classes[i] for i in range(count))
        return Classification(
            tuple(
                Guess(label_of(labels, int(c.index)), int(c.index), float(c.score)) for c in classes
            )
        )
    if kind == "mask":
        dtype = np.uint8 if native.mask_element_bytes == 1 else np.uint16
        shape = (int(native.height), int(native.width))
        size = count * int(native.mask_element_bytes)
        return Mask(_copy(native.mask, size, dtype).reshape(shape), labels)
    if kind == "boxes":
        rows = _copy(native.boxes, count * _BOX.itemsize, _BOX)
        points = int(native.points_per_box)
        # The points of all boxes lie contiguously, box after box.
        first = native.boxes[0].points if count and points else NULL
        keypoints = (
            _copy(first, 8 * count * points, np.float32).reshape(count, points, 2)
            if points
            else None
        )
        return Detections(
            rows["box"].copy(),
            rows["score"].copy(),
            rows["index"].astype(np.int32),
            labels,
            keypoints,
        )
    rows = _copy(native.points, count * _POINT.itemsize, _POINT)
    return Keypoints(rows["point"].copy(), rows["score"].copy(), labels)


def _copy(pointer: Any, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    data = ffi.buffer(ffi.cast("char *", pointer), size) if size else b""
    return np.frombuffer(data, dtype).copy()
