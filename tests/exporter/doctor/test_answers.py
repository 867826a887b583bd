# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of records of answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.doctor._answers import answer_findings
from samara.exporter.doctor._runs_on import Finding
from samara.exporter.ir import Program
from samara.exporter.ir.answer_records import with_answers
from samara.exporter.ir.records import with_records
from samara.exporter.reference_answers import Output

LOGITS = np.linspace(-4, 4, 10, dtype=np.float32).reshape(1, 10)


def classifier(last: Any, classes: int = 10) -> Program:
    """One output `y` [1, classes], whose last operator is the caller's."""
    weights = samara.ones(3, classes) * 0.5
    names: Any = {"input_names": ["image"], "output_names": ["y"]}
    image = samara.zeros(1, 3, 32, 48)
    return samara.trace(lambda image: last(image.mean((2, 3)) @ weights), (image,), **names)


def detector(count: int = 6, dims: Any = None) -> Program:
    """Outputs `box` [1, count, 4], `score` [1, count, 3] and the constant `anchors` [1, count, 4]."""

    def outputs(image: samara.Tensor) -> dict[str, samara.Tensor]:
        number = image.mean()
        return {
            "box": samara.ones(1, count, 4) * number,
            "score": samara.ones(1, count, 3) * number,
            "anchors": samara.ones(1, count, 4),
        }

    return samara.trace(outputs, (samara.zeros(1, 3, 32, 48),), input_names=["image"], dynamic=dims)


def found(program: Program, record: str, outputs: Any = None, labels: int = 0) -> list[Finding]:
    if labels:
        text = json.dumps([f"class {i}" for i in range(labels)])
        program = replace(program, metadata={**program.metadata, "labels": text})
    given = None if outputs is None else {name: Output(x) for name, x in outputs.items()}
    return list(answer_findings(with_answers(program, record), given))


def softmax(x: Any) -> Any:
    return x.softmax(-1)


def sigmoid(x: Any) -> Any:
    return x.sigmoid().reshape(1, 1, -1)  # what only moves elements changes nothing


def plain(x: Any) -> Any:
    return x


# ---- shapes and labels ----


def test_outputs_that_never_fit() -> None:
    (finding,) = found(classifier(plain), "mask y")
    assert (finding.level, finding.subject) == ("missing", "answer")
    assert f"does not fit function '{finding.where[0]}'" in finding.reason
    assert finding.fix


@pytest.mark.parametrize(
    ("size", "level"), [("letterbox=16x16", None), ("letterbox=32x16", "missing")]
)
def test_anchors_by_a_rule_are_of_the_record_s_size(size: str, level: str | None) -> None:
    free = detector(4, {"image": {2: "h", 3: "w"}})
    free = with_records(free, {"image": f"rgb float32 nchw {size} mean=127.5 std=127.5"})
    levels = [f.level for f in found(free, "boxes anchors priors=8:8 box=box score=score")]
    assert levels == ([] if level is None else [level])


@pytest.mark.parametrize(
    ("program", "record", "labels", "says"),
    [
        (classifier(softmax), "classify y", 10, None),
        (classifier(softmax), "classify y", 0, None),
        (classifier(softmax), "classify y", 9, "9 labels for 10 classes"),
        (detector(), "boxes corners box=box score=score[1:]", 2, None),
        (detector(), "boxes corners box=box score=score", 2, "2 labels for 3 classes"),
        (detector(), "keypoints points=anchors step=2", 6, "6 labels for 12 points"),
    ],
)
def test_labels(program: Program, record: str, labels: int, says: str | None) -> None:
    reasons = [f.reason for f in found(program, record, labels=labels)]
    assert reasons == ([] if says is None else [f"there are {says}"])


def test_classes_are_known_whatever_the_batch() -> None:
    program = samara.trace(
        lambda image: image.mean((2, 3)),
        (samara.zeros(2, 3, 8, 8),),
        output_names=["y"],
        dynamic={"image": {0: "n"}},
    )
    (finding,) = found(program, "classify y softmax", labels=2)
    assert finding.reason == "there are 2 labels for 3 classes"


def test_one_label_too_few_may_be_the_background() -> None:
    (finding,) = found(detector(), "boxes corners box=box score=score", labels=2)
    assert "left out by score=score[1:]" in finding.fix
    (finding,) = found(detector(), "boxes corners box=box score=score", labels=5)
    assert "background" not in finding.fix


# ---- activations ----

DOUBLED = "the net already applies {}"
RAW = "the scores of a run lie in -4..4"


@pytest.mark.parametrize(
    ("last", "record", "says"),
    [
        (softmax, "classify y", None),
        (softmax, "classify y softmax", DOUBLED.format("softmax")),
        (sigmoid, "classify y sigmoid", DOUBLED.format("sigmoid")),
        (sigmoid, "classify y softmax", DOUBLED.format("sigmoid")),
        (sigmoid, "classify y", None),
        (plain, "classify y softmax", None),
        (plain, "classify y", None),
    ],
)
def test_the_net_s_own_activation(last: Any, record: str, says: str | None) -> None:
    reasons = [f.reason for f in found(classifier(last), record)]
    assert len(reasons) == (says is not None)
    assert says is None or says in reasons[0]


@pytest.mark.parametrize(
    ("values", "record", "says"),
    [
        (LOGITS, "classify y", RAW),
        (LOGITS, "classify y softmax", None),
        (np.full((1, 10), 0.1, np.float32), "classify y softmax", DOUBLED.format("softmax")),
        (np.full((1, 10), 0.1, np.float32), "classify y", None),
        (np.full((1, 10), 0.3, np.float32), "classify y softmax", None),  # few: it may be chance
        (np.full((1, 10), np.nan, np.float32), "classify y", None),
    ],
)
def test_what_numbers_of_a_run_show(values: Any, record: str, says: str | None) -> None:
    reasons = [f.reason for f in found(classifier(plain), record, {"y": values})]
    assert len(reasons) == (says is not None)
    assert says is None or says in reasons[0]


def test_many_numbers_from_0_to_1_are_a_sigmoid_s() -> None:
    many = np.linspace(0, 1, 100, dtype=np.float32).reshape(1, 100)
    (finding,) = found(classifier(plain, 100), "classify y sigmoid", {"y": many})
    assert DOUBLED.format("sigmoid") in finding.reason


# ---- thresholds and units ----


@pytest.mark.parametrize(
    ("last", "record", "fixes"),
    [
        (softmax, "classify y threshold=0.9", []),
        (softmax, "classify y threshold=70", ["write it as a share of 1, as threshold=0.7"]),
        (plain, "classify y softmax threshold=1", ["write it as a share of 1"]),
        (plain, "classify y threshold=3", []),  # of logits
    ],
)
def test_thresholds(last: Any, record: str, fixes: list[str]) -> None:
    assert [f.fix for f in found(classifier(last), record)] == fixes


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", []),
        ("threshold=0", ["threshold=0 keeps all boxes"]),
        ("iou=0.05", ["iou=0.05 drops boxes"]),
        ("iou=1", []),
    ],
)
def test_thresholds_of_boxes(words: str, says: list[str]) -> None:
    reasons = [
        f.reason for f in found(detector(), f"boxes corners box=box score=score sigmoid {words}")
    ]
    assert len(reasons) == len(says)
    assert all(part in reason for part, reason in zip(says, reasons, strict=True))


def boxes(largest: float, centre: tuple[float, float] = (44, 28)) -> dict[str, Any]:
    anchors = np.ones((1, 6, 4), np.float32)
    anchors[..., 0] = np.linspace(0, centre[0], 6)
    anchors[..., 1] = np.linspace(0, centre[1], 6)
    return {
        "box": np.full((1, 6, 4), largest, np.float32),
        "score": np.full((1, 6, 3), 0.5, np.float32),
        "anchors": anchors,
    }


@pytest.mark.parametrize(
    ("units", "largest", "says"),
    [
        ("pixels", 40.0, None),
        ("pixels", 0.9, "units are pixels, but the coordinates of a run are at most 0.9"),
        ("ratio", 0.9, None),
        ("ratio", 40.0, "units are shares of a side"),
    ],
)
@pytest.mark.parametrize("kind", ["boxes corners box=box score=score", "keypoints points=box"])
def test_units(kind: str, units: str, largest: float, says: str | None) -> None:
    reasons = [f.reason for f in found(detector(), f"{kind} units={units}", boxes(largest))]
    assert len(reasons) == (says is not None)
    assert says is None or says in reasons[0]


@pytest.mark.parametrize(
    ("words", "centre", "says"),
    [
        ("", (44, 28), None),
        ("yx", (28, 44), None),
        ("", (92, 60), "the last anchor is at 92 x 60 of 48 x 32"),
        ("", (20, 12), "the last anchor is at 20 x 12 of 48 x 32"),
        ("units=ratio", (0.95, 0.9), None),
        ("units=ratio", (44, 28), "the last anchor is at 44 x 28 of 1 x 1"),
    ],
)
def test_anchors_of_another_size(words: str, centre: tuple[float, float], says: str | None) -> None:
    record = f"boxes anchors anchors=anchors box=box score=score {words}"
    reasons = [f.reason for f in found(detector(), record, boxes(0.1, centre))]
    assert len(reasons) == (says is not None)
    assert says is None or says in reasons[0]


def test_programs_without_records_are_well() -> None:
    assert not list(answer_findings(classifier(plain), {"y": Output(LOGITS)}))
