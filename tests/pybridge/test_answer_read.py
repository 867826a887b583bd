# SPDX-License-Identifier: Apache-2.0
"""Structs of answers as Python objects that own their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.pybridge._native import ffi
from samara.pybridge.answer_read import KINDS, read_answer
from samara.pybridge.answers import Classification, Detections, Keypoints, Mask


def answer_of(kind: str, count: int, **fields: Any) -> Any:
    native = ffi.new("samara_answer *")
    native.kind, native.count = KINDS.index(kind), count
    for name, value in fields.items():
        setattr(native, name, value)
    return native


def test_classes() -> None:
    classes = ffi.new("samara_class[]", 2)
    classes[0].index, classes[0].score = 1, 0.75
    classes[1].index, classes[1].score = 9, 0.25
    made = read_answer(answer_of("classes", 2, classes=classes), ("a", "b"))
    assert isinstance(made, Classification)
    assert [(g.label, g.index, g.score) for g in made] == [("b", 1, 0.75), ("9", 9, 0.25)]
    assert not read_answer(answer_of("classes", 0), ())


def test_boxes() -> None:
    points = ffi.new("float[]", [1, 2, 3, 4, 5, 6, 7, 8])
    boxes = ffi.new("samara_box[]", 2)
    for i in range(2):
        boxes[i].x0, boxes[i].y0, boxes[i].x1, boxes[i].y1 = 1 + i, 2, 3, 4
        boxes[i].score, boxes[i].class_index, boxes[i].points = 0.5, i, points + 4 * i
    native = answer_of("boxes", 2, boxes=boxes, points_per_box=2)
    made = read_answer(native, ("a",))
    assert isinstance(made, Detections)
    boxes[0].x0 = points[0] = 77  # another answer in the same memory
    assert made.boxes.tolist() == [[1, 2, 3, 4], [2, 2, 3, 4]]
    assert made.keypoints is not None
    assert made.keypoints.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert [found.label for found in made] == ["a", "1"]
    assert made.classes.dtype == np.int32
    native.points_per_box = 0
    assert read_answer(native, ()).keypoints is None  # type: ignore[union-attr]
    none = read_answer(answer_of("boxes", 0, points_per_box=5), ())
    assert isinstance(none, Detections)
    assert none.boxes.shape == (0, 4)
    assert none.keypoints is not None
    assert none.keypoints.shape == (0, 5, 2)


def test_masks() -> None:
    for size, ctype, dtype in ((1, "uint8_t[]", np.uint8), (2, "uint16_t[]", np.uint16)):
        cells = ffi.new(ctype, [0, 1, 2, 3, 4, 5])
        native = answer_of("mask", 6, mask=cells, mask_element_bytes=size, width=3, height=2)
        made = read_answer(native, ("x",))
        assert isinstance(made, Mask)
        assert made.classes.dtype == dtype
        assert made.classes.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert made.labels == ("x",)


def test_keypoints() -> None:
    points = ffi.new("samara_point[]", 1)
    points[0].x, points[0].y, points[0].score = 3, 4, 0.5
    made = read_answer(answer_of("keypoints", 1, points=points), ("nose",))
    assert isinstance(made, Keypoints)
    assert repr(made) == "Keypoints(nose 3.0,4.0 0.500)"
