# SPDX-License-Identifier: Apache-2.0
"""Records of two real face detectors read their recorded outputs: as many faces as the pictures show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.e2e.answer_cases import FACE_RECORDS
from tests.e2e.models import recorded

from samara.exporter.reference_answers import answer
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import parse_answer_record
from samara.pybridge.answers import Detections

# Position of the picture in each model's recorded runs -> faces in it. The first picture, of a crowd
# whose faces are 10 pixels wide, is left out: nobody can say what is right.
FACES = {1: 19, 2: 5}
# All pictures are stretched to these pixels, so that the two models' boxes can be compared.
WIDTH, HEIGHT = 640, 480


def faces(models: Path, name: str, case: int) -> Detections:
    run = recorded(models / name)[case]
    (image,) = run.inputs.values()
    found = answer(
        parse_answer_record(FACE_RECORDS[name]),
        run.outputs,
        PictureGeometry.of_sizes(WIDTH, HEIGHT, resize=(image.shape[3], image.shape[2])),
        ["face"],
    )
    assert isinstance(found, Detections)
    return found


def shared(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Intersection over union of each box with each, in float64."""
    one, two = a[:, None].astype(np.float64), b[None].astype(np.float64)
    sides = np.minimum(one[..., 2:], two[..., 2:]) - np.maximum(one[..., :2], two[..., :2])
    both = sides.clip(0).prod(-1)
    areas = [(box[..., 2:] - box[..., :2]).prod(-1) for box in (one, two)]
    return np.asarray(both / (areas[0] + areas[1] - both))


def suppressed(
    boxes: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], threshold: float
) -> list[int]:
    """The boxes that stay, best first: those that share at most 0.3 with each better one."""
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] > threshold and not (kept and (shared(boxes[kept], boxes[[i]]) > 0.3).any()):
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("case", FACES)
def test_both_models_find_every_face_once(models: Path, case: int) -> None:
    ultraface, yunet = (faces(models, name, case) for name in FACE_RECORDS)
    assert len(ultraface) == len(yunet) == FACES[case]
    # Each face of one is exactly one of the other.
    overlap = shared(ultraface.boxes, yunet.boxes)
    assert (overlap.max(1) > 0.4).all()
    assert sorted(overlap.argmax(1)) == list(range(FACES[case]))
    assert (np.diff(yunet.scores) <= 0).all()


@pytest.mark.parametrize("case", FACES)
def test_points_lie_where_faces_have_them(models: Path, case: int) -> None:
    for face in faces(models, "yunet_s_dynamic", case):
        assert face.points is not None
        x0, y0, x1, y1 = face.box
        assert (face.points > (x0, y0)).all()
        assert (face.points < (x1, y1)).all()
        right_eye, left_eye, nose, right_mouth, left_mouth = face.points
        assert right_eye[0] < left_eye[0]
        assert right_mouth[0] < left_mouth[0]
        assert max(right_eye[1], left_eye[1]) < nose[1] < min(right_mouth[1], left_mouth[1])


@pytest.mark.parametrize("case", FACES)
def test_yunet_by_plain_formulas(models: Path, case: int) -> None:
    """Decoded in float64 as its authors do, greedily suppressed: the same boxes but for rounding."""
    run = recorded(models / "yunet_s_dynamic")[case]
    (image,) = run.inputs.values()
    height, width = image.shape[2:]
    boxes, scores = [], []
    for stride in (8, 16, 32):
        rows, columns = np.mgrid[0 : height // stride, 0 : width // stride]
        grid = np.stack([columns.ravel(), rows.ravel()], -1).astype(np.float64)
        cls, obj, box = (
            run.outputs[f"{part}_{stride}"][0].astype(np.float64) for part in ("cls", "obj", "bbox")
        )
        middle, size = (grid + box[:, :2]) * stride, np.exp(box[:, 2:]) * stride
        boxes.append(np.concatenate([middle - size / 2, middle + size / 2], 1))
        scores.append(np.sqrt(cls * obj)[:, 0])
    every, score = np.concatenate(boxes), np.concatenate(scores)
    kept = suppressed(every, score, 0.6)
    found = faces(models, "yunet_s_dynamic", case)
    scale = np.array([WIDTH / width, HEIGHT / height] * 2)
    want = (every[kept] * scale).clip(0, [WIDTH, HEIGHT] * 2)
    np.testing.assert_allclose(found.boxes, want, atol=1e-3)
    np.testing.assert_allclose(found.scores, score[kept], rtol=1e-6)


@pytest.mark.parametrize("case", FACES)
def test_ultraface_by_plain_formulas(models: Path, case: int) -> None:
    """Its boxes are shares of the picture, the second score is that of a face."""
    outputs = recorded(models / "ultraface_rfb320")[case].outputs
    every = outputs["boxes"][0].astype(np.float64) * ([WIDTH, HEIGHT] * 2)
    score = outputs["scores"][0, :, 1].astype(np.float64)
    kept = suppressed(every, score, 0.7)
    found = faces(models, "ultraface_rfb320", case)
    np.testing.assert_allclose(found.boxes, every[kept].clip(0, [WIDTH, HEIGHT] * 2), atol=1e-3)
    np.testing.assert_array_equal(found.scores, score[kept])
