# SPDX-License-Identifier: Apache-2.0
"""The reference of answers against numbers worked out by hand and plain formulas in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.reference_answers import Output, answer, exp, sigmoid
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import parse_answer_record
from samara.pybridge.answers import Classification, Detections, Keypoints, Mask
from samara.pybridge.errors import ShapeError, UnknownNameError

NAN, INF = float("nan"), float("inf")
LN2 = float(np.log(2))
SQUARE = PictureGeometry.of_sizes(100, 100)


def says(text: str, picture: PictureGeometry = SQUARE, /, **outputs: Any) -> Any:
    given = {
        name: value if isinstance(value, Output) else np.asarray(value, np.float32)
        for name, value in outputs.items()
    }
    return answer(parse_answer_record(text), given, picture)


# ---- functions ----


def test_exp_and_sigmoid() -> None:
    x = np.concatenate([np.linspace(-87, 88, 20001), [-1e-9, 0, 1e-9]]).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(exp(x) - exact) / np.spacing(exact.astype(np.float32))) < 3
    assert exp(np.float32(-INF)) == 0
    assert exp(np.float32(INF)) == INF
    assert np.isnan(exp(np.float32(NAN)))
    assert np.isnan(sigmoid(np.float32(NAN)))
    one = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_allclose(sigmoid(x), one, rtol=5e-7)
    assert list(sigmoid(np.array([-INF, 0, INF]))) == [0, 0.5, 1]


# ---- classify ----


def indices(result: Classification) -> list[int]:
    return [guess.index for guess in result]


def test_best_classes() -> None:
    x = [[1, NAN, 3, 3, -INF, 2]]
    assert indices(says("classify y", y=x)) == [2, 3, 5, 0, 4]
    assert indices(says("classify y top=2", y=x)) == [2, 3]
    assert indices(says("classify y threshold=2", y=x)) == [2, 3]
    assert not says("classify y threshold=9", y=x)
    assert indices(says("classify #1 top=1", x=[0], y=np.reshape(x, (1, 6, 1, 1)))) == [2]
    halves = {"y": np.array([[1, 2]], np.float16)}
    result = answer(parse_answer_record("classify y"), halves, SQUARE, ["no"])
    assert isinstance(result, Classification)
    assert [(guess.label, guess.score) for guess in result] == [("1", 2.0), ("no", 1.0)]
    quantized = Output(np.array([[-3, 5, 127]], np.int8), 0.5, -3)
    assert [guess.score for guess in says("classify y", y=quantized)] == [65.0, 4.0, 0.0]


def test_softmax() -> None:
    x = np.array([[1.0, 2.0, -3.0, NAN]])
    powers = np.exp(x[0, :3])
    got = says("classify y softmax", y=x)
    assert indices(got) == [1, 0, 2]
    np.testing.assert_allclose(
        [g.score for g in got], sorted(powers / powers.sum())[::-1], rtol=1e-6
    )
    infinite = says("classify y softmax", y=[[INF, 5, INF]])
    assert [(g.index, g.score) for g in infinite] == [(0, 0.5), (2, 0.5), (1, 0.0)]


# ---- boxes ----


def test_forms_agree() -> None:
    """One box, written in every form."""
    want = [[10, 20, 50, 40]]
    corners = "threshold=0 score=s"
    s = [[[0.5]]]
    for text, box in (
        ("boxes corners box=b", [10, 20, 50, 40]),
        ("boxes corners yx box=b", [20, 10, 40, 50]),
        ("boxes corners units=ratio box=b", [0.1, 0.2, 0.5, 0.4]),
        ("boxes center box=b", [30, 30, 40, 20]),
        ("boxes center yx units=ratio box=b", [0.3, 0.3, 0.2, 0.4]),
        # Anchors of stride 100 have their point at 50, 50.
        ("boxes anchors priors=100:40x20 box=b", [-0.5, -1, 0, 0]),
        ("boxes anchors priors=100:20 variances=0.1,0.1,0.2,0.2 box=b", [-10, -10, 5 * LN2, 0]),
        ("boxes anchors at=corner priors=100:20x20 box=b", [1.5, 1.5, LN2, 0]),
        ("boxes sides priors=100:10 box=b", [4, 3, 0, -1]),
    ):
        found = says(f"{text} {corners}", b=[[box]], s=s)
        np.testing.assert_allclose(found.boxes, want, atol=1e-4, err_msg=text)
        assert found.scores == 0.5
    anchors = [[[0.4, 0.2, 0.5, 0.5]]]
    found = says(
        f"boxes anchors yx units=ratio anchors=a box=b {corners}",
        a=anchors,
        b=[[[-0.2, 0.2, -9, -9]]],
        s=s,
    )
    np.testing.assert_allclose(found.boxes.reshape(2, 2).mean(0), [30, 30], atol=1e-4)


def test_priors_come_row_by_row() -> None:
    box = np.zeros((1, 3 * 2 * 2, 4))
    scores = np.full((1, 12, 1), 0.1)
    scores[0, 7] = 0.9  # of cell 3, (0, 1), the second size
    picture = PictureGeometry.of_sizes(24, 16)
    found = says("boxes anchors priors=8:4,6x2 box=b score=s", picture, b=box, s=scores)
    np.testing.assert_array_equal(found.boxes, [[1, 11, 7, 13]])
    odd = PictureGeometry.of_sizes(17, 12)  # as many cells: the last ones overhang
    found = says("boxes anchors priors=8:4,6x2 box=b score=s", odd, b=box, s=scores)
    np.testing.assert_array_equal(found.boxes, [[1, 11, 7, 12]])


BOXES = [[0, 0, 10, 10], [1, 0, 11, 10], [50, 50, 60, 60], [0, 0, 10, 10], [20, 20, 30, 30]]


def test_better_boxes_stay() -> None:
    b = [BOXES]
    s = [[[0.6, 0.1], [0.7, 0.2], [0.6, 0.1], [0.1, 0.9], [0.6, NAN]]]
    found = says("boxes corners box=b score=s", b=b, s=s)
    np.testing.assert_array_equal(found.boxes, np.array(BOXES)[[3, 1, 2, 4]])
    assert found.classes.tolist() == [1, 0, 0, 0]
    assert says("boxes corners box=b score=s agnostic", b=b, s=s).classes.tolist() == [1, 0, 0]
    assert len(says("boxes corners box=b score=s iou=1", b=b, s=s)) == 5
    assert len(says("boxes corners box=b score=s iou=0.82", b=b, s=s)) == 5  # they share 9 / 11
    assert len(says("boxes corners box=b score=s top=2", b=b, s=s)) == 2
    assert len(says("boxes corners box=b score=s threshold=0.65", b=b, s=s)) == 2
    assert says("boxes corners box=b score=s[1:]", b=b, s=s).classes.tolist() == [0]


def test_scores() -> None:
    b = np.broadcast_to(BOXES[0], (1, 1, 4))
    half = {"b": b, "s": [[[0.5, 0.8]]], "o": [[[0.5]]]}
    assert says(
        "boxes corners box=b score=s objectness=o threshold=0", **half
    ).scores == np.float32(0.4)
    root = says("boxes corners box=b score=s objectness=o combine=sqrt", **half)
    assert root.scores == np.sqrt(np.float32(0.8) * np.float32(0.5))
    assert root.classes == 1
    logits = {"b": b, "s": [[[0.0, 1.0, 9.0]]]}
    soft = says("boxes corners box=b score=s[:2] softmax threshold=0", **logits)
    np.testing.assert_allclose(soft.scores, np.exp(1) / (1 + np.exp(1) + np.exp(9)), rtol=1e-6)
    assert says("boxes corners box=b score=s[0] sigmoid threshold=0", **logits).scores == 0.5
    gone = {"b": b, "s": [[[NAN, NAN]]]}
    assert len(says("boxes corners box=b score=s threshold=-9", **gone)) == 0


@pytest.mark.parametrize("box", [[NAN, 0, 1, 1], [0, 0, INF, 1], [5, 5, 5, 9], [9, 9, 5, 5]])
def test_boxes_without_an_area_are_left_out(box: list[float]) -> None:
    assert len(says("boxes corners box=b score=s", b=[[box]], s=[[[1]]])) == 0


def test_boxes_in_the_picture() -> None:
    picture = PictureGeometry.of_sizes(200, 100, letterbox=(100, 100))  # 25 rows above and below
    b = [[[10, 20, 50, 45], [0, 0, 90, 20], [90, 70, 200, 200]]]
    found = says("boxes corners box=b score=s iou=1", picture, b=b, s=[[[0.9], [0.8], [0.7]]])
    np.testing.assert_array_equal(found.boxes, [[20, 0, 100, 40], [180, 90, 200, 100]])
    assert found.scores.tolist() == [np.float32(0.9), np.float32(0.7)]
    turned = PictureGeometry.of_sizes(50, 100, rotation=90)  # the input is 100x50
    found = says("boxes corners box=b score=s", turned, b=[[[10, 5, 30, 20]]], s=[[[1]]])
    np.testing.assert_array_equal(found.boxes, [[5, 70, 20, 90]])


def test_points_of_boxes() -> None:
    both = {"b": [[BOXES[0]]], "s": [[[1]]]}
    found = says("boxes corners box=b score=s points=p", **both, p=[[[1, 2, NAN, 4]]])
    np.testing.assert_array_equal(found.keypoints, [[[1, 2], [0, 0]]])
    found = says("boxes corners yx units=ratio box=b score=s points=p point_step=3",
                 b=[[[0, 0, 0.1, 0.1]]], s=[[[1]]], p=[[[0.5, 0.25, 9, 0, 2, 9]]])  # fmt: skip
    np.testing.assert_array_equal(found.keypoints, [[[25, 50], [200, 0]]])
    found = says("boxes anchors priors=100:40x20 box=b score=s points=p",
                 b=[[[0, 0, 0, 0]]], s=[[[1]]], p=[[[0.5, -0.5]]])  # fmt: skip
    np.testing.assert_array_equal(found.keypoints, [[[70, 40]]])
    assert says("boxes corners box=b score=s", **both).keypoints is None


def test_rows_and_columns_and_lists_agree(rng: np.random.Generator) -> None:
    """[1, N, C], [1, C, N], [1, C, h, w] and parts of both give the same boxes."""
    rows = rng.uniform(0, 50, (12, 6))
    rows[:, 2:4] += rows[:, :2]
    rows[:, 4:] /= 50
    text = "box=y[0:4] score=y[4:] threshold=0.2"
    want = says(f"boxes corners {text}", y=rows[None])
    assert len(want) > 1
    columns = rows.T.reshape(1, 6, 3, 4)
    two = "box=a,b[:4] score=a,b[4:6] threshold=0.2"
    for got in (
        says(f"boxes corners channels-first {text}", y=columns),
        says(f"boxes corners channels-first {text}", y=rows.T),
        says(f"boxes corners {two}", a=rows[:5], b=rows[None, 5:]),
        says(f"boxes corners {two}", a=rows[None, :4], b=rows[4:].reshape(1, 2, 4, 6)),
    ):
        np.testing.assert_array_equal(got.boxes, want.boxes)
        np.testing.assert_array_equal(got.scores, want.scores)
        np.testing.assert_array_equal(got.classes, want.classes)


# ---- masks ----


def test_mask_of_channels() -> None:
    picture = PictureGeometry.of_sizes(2, 2)
    x = np.array([[[[0, 5], [NAN, -INF]], [[0, 4], [NAN, NAN]], [[-1, 6], [1, NAN]]]])
    want = [[0, 2], [2, 0]]
    for text, y in (("mask y", x), ("mask y nhwc", np.moveaxis(x, 1, -1))):
        found = says(text, picture, y=y)
        np.testing.assert_array_equal(found.classes, want)
        assert found.classes.dtype == np.uint8
    limit = says("mask y threshold=0.5 sigmoid", picture, y=[[[[1, 0], [-1, NAN]]]])
    np.testing.assert_array_equal(limit.classes, [[1, 0], [0, 0]])
    assert says("mask y", picture, y=np.zeros((1, 255, 2, 2))).classes.dtype == np.uint8
    assert says("mask y", picture, y=np.zeros((1, 256, 2, 2))).classes.dtype == np.uint16


def test_mask_of_classes() -> None:
    picture = PictureGeometry.of_sizes(2, 1)
    for dtype, wide in ((np.uint8, np.uint8), (np.int64, np.uint16)):
        found = says("mask y nhw", picture, y=Output(np.array([[[3, 254]]], dtype)))
        assert found.classes.dtype == wide
        np.testing.assert_array_equal(found.classes, [[3, 254]])
    for bad in (
        Output(np.array([[[255, 0]]], np.uint8)),
        Output(np.array([[[-1, 0]]])),
        [[[1, 0]]],
    ):
        with pytest.raises(ShapeError, match="holds no classes"):
            says("mask y nhw", picture, y=bad)


def test_mask_takes_the_nearest_cell() -> None:
    """By float64 coordinates of pixel centres, none of which lies on the border of two cells here."""
    numbers = np.arange(5 * 7, dtype=np.uint8).reshape(1, 5, 7)
    picture = PictureGeometry.of_sizes(
        31, 23, crop=(3, 2, 21, 16), rotation=90, mirror=True, letterbox=(40, 30)
    )
    found = says("mask y nhw", picture, y=Output(numbers))
    (rw, rh), (ox, oy) = picture.resized, picture.offset
    want = np.full((23, 31), 255)
    for q in range(16):
        for p in range(21):
            u, v = q + 0.5, p + 0.5  # turned by 90 degrees and mirrored: the axes change places
            column = int((u * rw / 16 + ox) * 7 / 40)
            want[2 + q, 3 + p] = numbers[0, int((v * rh / 21 + oy) * 5 / 30), column]
    np.testing.assert_array_equal(found.classes, want)


def test_what_was_cropped_away_is_unseen() -> None:
    picture = PictureGeometry.of_sizes(6, 4, center=(2, 2))
    found = says("mask y nhw", picture, y=Output(np.ones((1, 2, 2), np.uint8)))
    want = np.full((4, 6), 255)
    want[1:3, 2:4] = 1
    np.testing.assert_array_equal(found.classes, want)


# ---- keypoints ----


def test_peaks() -> None:
    maps = np.zeros((1, 3, 4, 5))
    maps[0, 0, 1, 2] = 4
    maps[0, 0, 1, 3] = 2
    maps[0, 0, 0, 2] = 1
    maps[0, 1, 3, 4] = 2  # in the corner: no neighbours, no offset
    maps[0, 2] = NAN
    for text, y in (("", maps), ("nhwc ", np.moveaxis(maps, 1, -1))):
        found = says(f"keypoints heatmaps=y {text}refine=none", y=y)
        np.testing.assert_array_equal(found.points, [[50, 37.5], [90, 87.5], [0, 0]])
        np.testing.assert_array_equal(found.scores, [4, 2, 0])
    found = says("keypoints heatmaps=y refine=quarter", y=maps)
    np.testing.assert_array_equal(found.points[0], [(2.75) * 20, (1.25) * 25])
    found = says("keypoints heatmaps=y refine=parabola", y=maps)
    # The top of the parabola through 0, 4, 2 is at 1/6, of that through 1, 4, 0 at -1/14.
    np.testing.assert_allclose(
        found.points[0], [(2.5 + 1 / 6) * 20, (1.5 - 1 / 14) * 25], rtol=1e-6
    )
    assert says("keypoints heatmaps=y sigmoid", y=np.zeros((1, 1, 2, 2))).scores == 0.5


def test_points_given() -> None:
    found = says("keypoints points=y yx units=ratio step=3", y=[[[[0.5, 0.25, 0.75], [1, NAN, 1]]]])
    np.testing.assert_array_equal(found.points, [[25, 50], [0, 0]])
    np.testing.assert_array_equal(found.scores, [0.75, 0])
    assert says("keypoints points=y", y=[1, 2, 3, 4]).scores.tolist() == [1, 1]


# ---- what does not fit ----


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ("classify y", (2, 3), "one axis longer than 1"),
        ("classify y", (0,), "one axis longer than 1"),
        ("mask y", (1, 3), "expected nchw of 1"),
        ("mask y", (1, 1, 1, 16385), "up to 16384 cells a side"),
        ("mask y nhwc threshold=0", (1, 16385, 1, 1), "up to 16384 cells a side"),
        ("keypoints heatmaps=y", (1, 1, 16385, 1), "up to 16384 cells a side"),
        ("mask y threshold=0", (1, 3, 2, 2), "3 channels, a threshold needs 1"),
        ("keypoints heatmaps=y", (2, 3, 2, 2), "expected nchw of 1"),
        ("keypoints points=y step=3", (4,), "4 elements, expected 3"),
        ("boxes corners box=y score=y", (2, 3, 4), "expected channels for y"),
        ("boxes corners box=y score=y[4:]", (1, 3, 4), r"expected channels for y\[4:\]"),
        ("boxes corners box=y score=y", (1, 3, 5), "has 5 channels"),
        (
            "boxes anchors box=y score=y priors=50:8",
            (1, 3, 4),
            "score 3, priors of 100x100 pixels 4",
        ),
        ("boxes anchors box=y score=y points=y priors=50:8", (1, 3, 4), "points 3, priors"),
        ("boxes corners box=y score=y points=y point_step=3", (1, 3, 4), "a multiple of 3"),
    ],
)
def test_refused(text: str, shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(ShapeError, match=said):
        says(text, y=np.zeros(shape))


def test_names_and_types() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'logits'"):
        says("classify logit", logits=[1])
    with pytest.raises(UnknownNameError, match="no output '#3'"):
        says("classify #3", logits=[1])
    with pytest.raises(ShapeError, match="is float64, expected one of float32"):
        says("classify y", y=Output(np.zeros(3)))


def test_kinds() -> None:
    one = np.zeros((1, 1, 4, 4))
    assert isinstance(says("mask y threshold=0", y=one), Mask)
    assert isinstance(says("keypoints heatmaps=y", y=one), Keypoints)
    assert isinstance(says("boxes corners box=y score=y[0]", y=one[0]), Detections)
