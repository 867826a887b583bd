# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression, and the decoding of boxes before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from tests.exporter.importers.tflite.models import Case, T, const
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    exact_entries,
    parameters,
    product,
    steps,
)

_FLOATS = T(kind="FLOAT32", shape=())


def flexible(options: dict[str, Any]) -> bytes:
    """Options of a custom operator."""
    return bytes(flexbuffers.Dumps(options))


def _corners(rng: Any, count: int, size: float) -> Any:
    center, half = rng.uniform(0, 1, (count, 2)), rng.uniform(size / 2, size, (count, 2))
    return np.concatenate([center - half, center + half], 1).astype(np.float32)


def suppression(
    rng: Any, kind: str, version: int, count: int, limit: int, score: float, fed: bool = False
) -> Case:
    boxes = _corners(rng, count, 0.3)
    scores = rng.permutation(count).astype(np.float32) / count
    number = np.asarray(limit, np.int32)
    inputs = [
        T(boxes), T(scores), T(number) if fed else const(number),
        const(np.float32(0.4)), const(np.float32(score)),
    ]  # fmt: skip
    indices, total = T(kind="INT32", shape=()), T(kind="INT32", shape=())
    if version == 4:
        return Case("NON_MAX_SUPPRESSION_V4", inputs, [indices, total], steps=0)
    inputs.append(const(np.float32(0)))
    return Case("NON_MAX_SUPPRESSION_V5", inputs, [indices, _FLOATS, total], steps=0)


def post_process(
    rng: Any, kind: str, regular: bool, most: int, per_class: int, background: int, columns: int = 4
) -> Case:
    """As many anchors far from each other as detections, and others about them."""
    count, classes = 40, 5
    centers = np.repeat(np.stack(np.meshgrid(np.arange(4), np.arange(5)), -1).reshape(-1, 2), 2, 0)
    anchors = np.concatenate([centers * 4.0, np.full((count, 2), 2.0)], 1).astype(np.float32)
    encoded = rng.uniform(-0.5, 0.5, (1, count, columns)).astype(np.float32)
    scores = rng.permutation(count * (classes + background)).astype(np.float32)
    scores = (scores / scores.size).reshape(1, count, classes + background)
    options = {
        "max_detections": most, "max_classes_per_detection": per_class, "detections_per_class": 7,
        "use_regular_nms": regular, "nms_score_threshold": 0.3 if regular else 0.0,
        "nms_iou_threshold": 0.5, "num_classes": classes, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0,
        "w_scale": 5.0,
    }  # fmt: skip
    tensors = []
    for i, data in enumerate((encoded, scores, anchors)):
        if kind == "uint8":
            s, z = parameters(float(data.min()), float(data.max()), "uint8")
            data = steps(data, (s, z), "uint8")
            tensors.append(T(data, scale=s, zero=z, constant=i == 2))
        else:
            tensors.append(T(data, constant=i == 2))
    return Case(
        "TFLite_Detection_PostProcess", tensors, [_FLOATS] * 4, is_custom=True, custom=flexible(options),
        rtol=1e-4, atol=1e-4,
    )  # fmt: skip


def cases() -> Iterator[Entry]:
    for version in (4, 5):
        op = f"NON_MAX_SUPPRESSION_V{version}"
        given = [
            *product(version=[version], count=[1, 20, 60], limit=[1, 5, 30, 80], score=[-1.0, 0.3]),
            *product(version=[version], count=[20], limit=[5], score=[0.5], fed=[True]),
        ]
        yield from exact_entries("detection", op, "float32", suppression, given)
    given = [
        *product(regular=[True], most=[3, 10, 40, 100], per_class=[1], background=[0, 1]),
        *product(regular=[False], most=[1, 5, 15], per_class=[1, 2, 5], background=[0, 1]),
        *product(regular=[True, False], most=[5], per_class=[1], background=[1], columns=[8]),
    ]
    op = "TFLite_Detection_PostProcess"
    yield from exact_entries("detection", op, "float32, uint8", post_process, given)
