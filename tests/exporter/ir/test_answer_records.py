# SPDX-License-Identifier: Apache-2.0
"""Answer records in programs and files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.answer_cases import random_case

from samara.exporter.ir import Function, Program, Value, open_program, save_program
from samara.exporter.ir.answer_records import (
    ANSWERS,
    answer_read,
    answer_row,
    answers_of,
    joined_answers,
    labels_of,
    renamed_answers,
    with_answers,
)
from samara.exporter.types import ArgumentError, DType, ModelFormatError, TensorType
from samara.pybridge.answer_record import parse_answer_record
from samara.pybridge.errors import UnknownNameError


def program_of(*names: str, metadata: dict[str, str] | None = None) -> Program:
    values = tuple(Value(n, TensorType.of(DType.parse("float32"), (1, 4))) for n in names)
    f = Function("main", values, values, (), names)
    return Program({"main": f}, ("main",), (), metadata or {})


def test_random_records_come_back_from_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "m.samara"
    for _ in range(100):
        record, outputs, _ = random_case(rng)
        program = with_answers(program_of(*outputs), record)
        save_program(program, path)
        (found,) = answers_of(open_program(path)).values()
        # The reader replaces positions by names.
        assert str(found) == str(record).replace("#0", "y" if "y" in outputs else "#0")


def test_a_record_goes_by_names() -> None:
    program = with_answers(program_of("a", "b"), "classify b top=2")
    assert {k: str(r) for k, r in answers_of(program).items()} == {"main": "classify b top=2"}
    moved = renamed_answers(program, {"b": "scores"})
    assert str(answers_of(moved)["main"]) == "classify scores top=2"
    boxes = with_answers(program_of("a", "b"), {"main": "boxes corners box=a[:4] score=a,b[4:]"})
    assert "score=a,c[4:]" in str(answers_of(renamed_answers(boxes, {"b": "c"}))["main"])
    points = with_answers(program_of("a"), "keypoints points=a")
    assert str(answers_of(renamed_answers(points, {"a": "p"}))["main"]) == "keypoints points=p"
    assert ANSWERS not in with_answers(program, {"main": ""}).metadata
    assert answers_of(program_of("a")) == {}
    assert joined_answers(program.metadata, {"main": "x"}) == {"x": "classify b top=2"}
    assert joined_answers(program.metadata, {"other": "x"}) == {}


def test_names_that_no_record_can_say_are_positions(tmp_path: Path) -> None:
    program = with_answers(program_of("a b", "c"), "classify #0")
    save_program(program, tmp_path / "m.samara")
    assert str(answers_of(open_program(tmp_path / "m.samara"))["main"]) == "classify #0"


def test_it_is_about_the_input_that_is_a_picture() -> None:
    f = program_of("x", "picture").main
    record = parse_answer_record("classify x")
    assert answer_row(f, record, ["picture"])["input"] == 1
    assert answer_row(f, record, [])["input"] == 0
    assert answer_row(f, None, []) is None
    assert answer_read(None, f) is None


def test_what_is_no_record() -> None:
    program = program_of("scores")
    with pytest.raises(UnknownNameError, match="no output 'score'"):
        with_answers(program, "classify score")
    with pytest.raises(UnknownNameError, match="no output '#1'"):
        with_answers(program, "classify #1")
    with pytest.raises(UnknownNameError, match="no function 'other'"):
        with_answers(program, {"other": "classify scores"})
    with pytest.raises(ArgumentError, match="record of an answer is"):
        with_answers(program, {"main": 7})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"kind": 0}, "no kind has code 0"),
        ({"kind": 9}, "no kind has code 9"),
        ({"activation": 3}, "code 3 is none of none, sigmoid, softmax"),
        ({"layout": 3}, "code 3 is none of nchw"),
        ({"top": 0}, "top=0"),
        ({"main": None}, "it names no single output"),
        ({"main": {"outputs": [1], "begin": 0, "end": 0}}, "output 1 of 1"),
        ({"kind": 3, "score": None}, "boxes without their parts"),
        ({"kind": 4, "heatmaps": 1, "refine": 3}, "code 3 is none of none, quarter"),
        ({"threshold": float("nan"), "limited": True}, "finite"),
    ],
)
def test_rows_that_say_nothing(change: dict[str, object], part: str) -> None:
    f = program_of("scores").main
    row = {
        **dict.fromkeys(("form", "layout", "refine", "limited", "root", "channels_first"), 0),
        **dict.fromkeys(("yx", "ratio", "corner", "agnostic", "heatmaps", "iou"), 0),
        **dict.fromkeys(("score", "objectness", "points", "anchors")),
        "step": 2,
        "variances": [],
        "levels": [],
        **answer_row(f, parse_answer_record("classify scores"), []),
    }
    assert answer_read(row, f) == "classify scores"
    with pytest.raises(ModelFormatError, match=part):
        answer_read(row | change, f)


@pytest.mark.parametrize(
    ("text", "labels"),
    [('["a", "b"]', ["a", "b"]), ("none", []), ('{"a": 1}', []), ("[1, 2]", [])],
)
def test_labels(text: str, labels: list[str]) -> None:
    assert labels_of(program_of("x", metadata={"labels": text})) == labels
    assert labels_of(program_of("x")) == []


def test_labels_lie_in_files_with_records(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    plain = program_of("x", metadata={"labels": json.dumps(["one label"])})
    save_program(plain, path)
    without = path.stat().st_size
    assert path.read_bytes().count(b"one label") == 1
    save_program(with_answers(plain, "classify x"), path)
    assert path.read_bytes().count(b"one label") == 2
    assert path.stat().st_size > without
    assert open_program(path).metadata["labels"] == '["one label"]'
