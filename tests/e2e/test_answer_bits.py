# SPDX-License-Identifier: Apache-2.0
"""The C code of answers gives the reference's bits, over random records, outputs and pictures."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.e2e.answer_cases import FACE_RECORDS, random_case
from tests.e2e.answer_library import AnswerError, AnswerLibrary
from tests.e2e.models import recorded

from samara.exporter.reference_answers import Output, answer
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import parse_answer_record
from samara.pybridge.answers import Answer, Classification, Detections, Mask
from samara.pybridge.errors import ShapeError

CASES = 1500  # of each seed


@pytest.fixture(scope="module")
def library(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> AnswerLibrary:
    if shutil.which("cc") is None:
        pytest.skip("NOT RUN: answers in C (there is no C compiler)")
    return AnswerLibrary(repo, tmp_path_factory.mktemp("answers"))


def _arrays(result: Answer) -> list[npt.NDArray[np.generic]]:
    """All numbers of an answer, so that equal bytes are equal answers."""
    if isinstance(result, Classification):
        return [
            np.array([guess.index for guess in result]),
            np.array([guess.score for guess in result], np.float32),
        ]
    if isinstance(result, Detections):
        points = np.empty(0, np.float32) if result.keypoints is None else result.keypoints
        return [result.boxes, result.scores, result.classes, points]
    if isinstance(result, Mask):
        return [result.classes]
    return [result.points, result.scores]


def assert_same(got: Answer, want: Answer) -> None:
    assert type(got) is type(want)
    for mine, theirs in zip(_arrays(got), _arrays(want), strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        np.testing.assert_array_equal(mine, theirs)
        assert mine.tobytes() == theirs.tobytes()  # the sign of zero too


@pytest.mark.parametrize("seed", range(2))
def test_random_cases(library: AnswerLibrary, seed: int) -> None:
    rng = np.random.default_rng(seed)
    full = 0
    for i in range(CASES):
        record, outputs, geometry = random_case(rng)
        try:
            want = answer(record, outputs, geometry)
        except ShapeError:
            with pytest.raises(AnswerError):
                library.answer(record, outputs, geometry)
            continue
        try:
            assert_same(library.answer(record, outputs, geometry), want)
        except (AssertionError, AnswerError) as error:
            error.add_note(f"case {i} of seed {seed}: {record} {geometry}")
            raise
        full += isinstance(want, Detections) and len(want) > 1
    assert full > CASES / 10


@pytest.mark.parametrize("name", FACE_RECORDS)
def test_real_nets(library: AnswerLibrary, models: Path, name: str) -> None:
    """All pictures of two face detectors, as a letterboxed part of a turned picture."""
    for run in recorded(models / name):
        (image,) = run.inputs.values()
        size = (image.shape[3], image.shape[2])
        picture = PictureGeometry.of_sizes(
            999, 777, crop=(11, 7, 900, 700), rotation=270, mirror=True, letterbox=size
        )
        record = parse_answer_record(FACE_RECORDS[name])
        want = answer(record, run.outputs, picture)
        assert isinstance(want, Detections)
        assert len(want) >= 5
        assert_same(library.answer(record, run.outputs, picture), want)


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ("classify y", (1, 2, 3), "2 axes longer than 1"),
        ("mask y", (1, 2, 3), "has rank 3"),
        ("mask y", (2, 2, 3, 3), "has rank 4"),
        ("mask y nhwc threshold=0", (1, 2, 3, 4), "4 channels, expected one, for a threshold"),
        ("mask y nhw", (1, 2, 3), "has floats, expected integers"),
        ("keypoints heatmaps=y", (1, 2, 3), "expected heat maps"),
        ("keypoints points=y step=3", (1, 2, 2), "has 4 elements, expected 3"),
        ("boxes corners box=y score=y[4:]", (1, 3, 4), "4 channels, expected those from 4"),
        ("boxes corners box=y[:4] score=z[4:]", (1, 3, 5), "3 boxes, but 2 scores"),
        ("boxes corners box=y score=y", (1, 3, 5), "boxes of 5 channels"),
        ("boxes anchors box=y score=y priors=4:8", (1, 3, 4), "4 anchors"),
        ("boxes corners box=y score=y points=y point_step=3", (1, 3, 4), "points of 4 channels"),
    ],
)
def test_both_refuse(library: AnswerLibrary, text: str, shape: tuple[int, ...], said: str) -> None:
    outputs = {"y": Output(np.zeros(shape, np.float32)), "z": Output(np.zeros((1, 2, 5), np.int8))}
    geometry = PictureGeometry.of_sizes(8, 8)
    record = parse_answer_record(text)
    with pytest.raises(ShapeError):
        answer(record, outputs, geometry)
    with pytest.raises(AnswerError, match=said):
        library.answer(record, outputs, geometry)
