# SPDX-License-Identifier: Apache-2.0
"""Records of answers: their text, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from samara.pybridge.answer_record import (
    AnswerRecord,
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
    Prior,
    parse_answer_record,
)
from samara.pybridge.errors import ArgumentError

RECORDS: list[tuple[str, AnswerRecord]] = [
    ("classify y", ClassifyRecord("y")),
    ("classify y sigmoid top=1 threshold=0.1", ClassifyRecord("y", "sigmoid", 1, 0.1)),
    ("classify y quant=0.00390625,128", ClassifyRecord("y", quant=(0.00390625, 128))),
    ("classify #0 softmax", ClassifyRecord("#0", "softmax")),
    ("mask y", MaskRecord("y")),
    ("mask y nhw threshold=-1.5", MaskRecord("y", "nhw", threshold=-1.5)),
    ("mask y nhwc sigmoid threshold=0.5", MaskRecord("y", "nhwc", True, 0.5)),
    ("boxes corners box=b score=s", BoxesRecord("corners", Part(("b",)), Part(("s",)))),
    (
        "boxes sides box=b score=s[1:] points=p[5:20] softmax channels-first yx"
        " priors=8:16,32x4.5;16:0.1 at=corner point_step=3 threshold=0 iou=1 top=7 agnostic",
        BoxesRecord(
            "sides",
            Part(("b",)),
            Part(("s",), 1),
            points=Part(("p",), 5, 20),
            activation="softmax",
            channels_first=True,
            yx=True,
            priors=(Prior(8, ((16, 16), (32, 4.5))), Prior(16, ((0.1, 0.1),))),
            at="corner",
            point_step=3,
            threshold=0,
            iou=1,
            top=7,
            agnostic=True,
        ),
    ),
    (
        "boxes anchors box=b,c[:4] score=s,t[4] objectness=o combine=sqrt units=ratio anchors=a"
        " variances=0.1,0.1,0.2,0.2",
        BoxesRecord(
            "anchors",
            Part(("b", "c"), 0, 4),
            Part(("s", "t"), 4, 5),
            objectness=Part(("o",)),
            combine="sqrt",
            units="ratio",
            anchors=Part(("a",)),
            variances=(0.1, 0.1, 0.2, 0.2),
        ),
    ),
    ("keypoints heatmaps=h", KeypointsRecord("h")),
    (
        "keypoints heatmaps=h nhwc refine=parabola sigmoid",
        KeypointsRecord("h", layout="nhwc", refine="parabola", sigmoid=True),
    ),
    (
        "keypoints points=p yx units=ratio step=3",
        KeypointsRecord(points="p", yx=True, units="ratio", step=3),
    ),
]


@pytest.mark.parametrize(("text", "record"), RECORDS)
def test_text_and_record(text: str, record: AnswerRecord) -> None:
    assert parse_answer_record(text) == record
    assert str(record) == text
    assert type(record).parse(f"  {text.replace(' ', '   ')} ") == record


def test_order_of_words_is_free() -> None:
    assert parse_answer_record("classify y top=2 softmax") == ClassifyRecord("y", "softmax", 2)
    with pytest.raises(ArgumentError, match="not a mask record"):
        MaskRecord.parse("classify y")


def test_numbers_are_those_of_float32() -> None:
    record = ClassifyRecord("y", threshold=0.1)
    assert record.threshold != 0.1
    assert str(record) == "classify y threshold=0.1"
    assert str(ClassifyRecord("y", threshold=1e-9)) == "classify y threshold=0.000000001"


def test_the_page_has_records(repo: Path) -> None:
    page = (repo / "docs" / "guides" / "postprocessing.md").read_text(encoding="utf-8")
    found = re.findall(r"\| `((?:classify|mask|boxes|keypoints) [^`]*)` \|", page)
    assert len(found) >= 12
    for text in found:
        record = parse_answer_record(text)
        assert parse_answer_record(str(record)) == record


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with ''"),
        ("clasify y", "did you mean 'classify'"),
        ("classify", "'the end', expected the name of an output"),
        ("classify top=3", "'top=3', expected the name of an output"),
        ("classify y softmx", "did you mean 'softmax'"),
        ("classify y softmax sigmoid", "each word once; activation is softmax already"),
        ("classify y top=0", "top=0, expected 1 to 65535"),
        ("classify y top=x", "'top=x', expected top= a whole number"),
        ("classify y threshold=nan", "expected a finite number"),
        ("classify y quant=1", "expected quant= a scale and a zero point"),
        ("classify y quant=0,1", "expected a scale above 0"),
        ("classify y quant=nan,1", "expected a scale above 0"),
        ("classify y quant=1,70000", "a zero point of at most 65535"),
        ("classify a,b", "'a,b' is not the name of an output"),
        ("mask y sigmod", "did you mean 'sigmoid'"),
        ("mask y sigmoid", "sigmoid without threshold="),
        ("boxes", "expected a form: corners, center"),
        ("boxes cornrs box=b score=s", "did you mean 'corners'"),
        ("boxes corners box=b", "'the end', expected score=OUTPUT"),
        ("boxes corners box=b score=s treshold=1", "did you mean 'threshold='"),
        ("boxes corners box=b[1 score=s", "'box=b[1', expected box= the name of an output"),
        ("boxes corners box=b[0:3] score=s", "box=b[:3] has 3 channels, expected 4"),
        ("boxes corners box=b[4:4] score=s", "channels 4:4 select nothing"),
        ("boxes corners box=b score=s objectness=o[0:2]", "has 2 channels, expected 1"),
        ("boxes corners box=b score=s points=p[0:5]", "5 channels, which is not a multiple of 2"),
        ("boxes corners box=b score=s point_step=3", "applies to points="),
        ("boxes corners box=b score=s combine=sqrt", "which is not given"),
        ("boxes corners box=b score=s priors=8:8", "the form corners has no anchors"),
        ("boxes corners box=b score=s at=corner", "applies to priors"),
        ("boxes corners box=b score=s variances=1,1,1,2", "applies to the form anchors"),
        ("boxes anchors box=b score=s", "needs priors= or anchors="),
        ("boxes anchors box=b score=s priors=8:8 anchors=a", "got 2"),
        ("boxes anchors box=b score=s priors=8", "expected priors= strides and their sizes"),
        ("boxes anchors box=b score=s priors=0:8", "a stride of 0 pixels"),
        ("boxes anchors box=b score=s priors=8:0", "expected numbers above 0"),
        ("boxes anchors box=b score=s priors=8:8 units=ratio", "priors are in pixels"),
        ("boxes anchors box=b score=s anchors=a variances=1,1", "expected four numbers above 0"),
        ("boxes corners box=b score=s iou=1.5", "iou=1.5, expected 0 to 1"),
        ("boxes corners box=b score=s units=px", "expected one of pixels, ratio"),
        (f"boxes corners box={','.join('b' * 17)} score=s", "has 17 outputs, expected 1 to 16"),
        (f"boxes anchors box=b score=s priors=8:{','.join('8' * 65)}", "more than 64 sizes"),
        ("keypoints", "expected heatmaps= or points="),
        ("keypoints heatmaps=h points=p", "one of them"),
        ("keypoints points=p refine=quarter", "refine applies to heatmaps=, but points= is given"),
        ("keypoints heatmaps=h step=3", "step applies to points=, but heatmaps= is given"),
        ("keypoints points=p step=4", "expected one of 2, 3"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(said)) as caught:
        parse_answer_record(text)
    assert caught.value.fix
