# SPDX-License-Identifier: Apache-2.0
"""Records seen in training, from a Program to the file."""

from __future__ import annotations

import pytest

import samara
from samara import ArgumentError
from samara.exporter.ir import Program
from samara.exporter.ir.merge import merge
from samara.exporter.ir.records import RECORDS, records_of, with_records
from samara.exporter.ir.trained_records import (
    TRAINED,
    joined_seen,
    settled,
    with_trained,
    without_records,
)

A, B = "rgb float32 nchw", "bgr float32 nchw"


def program(batch: int = 1, name: str = "image") -> Program:
    return samara.trace(
        lambda image: image * 2.0,
        (samara.zeros(batch, 3, 4, 4),),
        input_names=[name],
        output_names=["y"],
    )


def texts(of: Program) -> dict[str, str]:
    return {name: str(record) for name, record in records_of(of).items()}


def test_one_record_of_training_is_the_input_s() -> None:
    made = with_trained(program(), {"image": {A: "training"}})
    assert texts(made) == {"image": A}
    done, written, left = settled(made, {}, {})
    assert (written, left) == ({"image": A}, {})
    assert texts(done) == {"image": A}
    assert TRAINED not in done.metadata


def test_evaluation_alone_says_nothing() -> None:
    made = with_trained(program(), {"image": {A: "evaluation"}})
    assert made.metadata == program().metadata


def test_two_records_are_the_caller_s_to_choose_from() -> None:
    made = with_trained(program(), {"image": {B: "evaluation", A: "training"}})
    assert texts(made) == {}
    with pytest.raises(ArgumentError, match="input 'photo' was used with 2 records") as caught:
        settled(made, {}, {"image": "photo"})
    assert f"'{B}' in evaluation; '{A}' in training" in caught.value.message
    assert f'preprocess={{"photo": "{A}"}}' in (caught.value.fix or "")
    done, written, left = settled(made, {"photo"}, {"image": "photo"})
    assert (TRAINED in done.metadata, written, left) == (False, {}, {})


def test_an_input_that_takes_no_single_picture_is_without() -> None:
    made = with_trained(program(8), {"image": {A: "training"}})
    assert texts(made) == {}
    done, written, left = settled(made, {}, {"image": "photo"})
    assert written == {}
    assert left["photo"].endswith("pictures come one by one; make the batch 1, or symbolic")
    assert texts(done) == {}


def test_functions_of_one_file_share_inputs_by_name() -> None:
    infer = with_trained(program(), {"image": {A: "training"}})
    step = with_trained(program(8, "x"), {"x": {A: "training"}})
    done, written, left = settled(merge({"infer": infer, "step": step}), {}, {})
    assert texts(done) == written == {"image": A}
    assert list(left) == ["x"]
    same = with_trained(program(8), {"image": {A: "training"}})
    for pair in ({"infer": infer, "step": same}, {"step": same, "infer": infer}):
        done, written, left = settled(merge(pair), {}, {})
        assert (texts(done), written, list(left)) == ({}, {}, ["image"])
    other = with_trained(program(), {"image": {B: "training"}})
    with pytest.raises(ArgumentError, match="was used with 2 records"):
        settled(merge({"infer": infer, "other": other}), {}, {})


def test_training_wins_over_evaluation() -> None:
    assert joined_seen({A: "evaluation"}, {A: "training", B: "evaluation"}) == {
        A: "training",
        B: "evaluation",
    }


def test_nothing_is_left_of_records() -> None:
    made = with_records(with_trained(program(), {"image": {A: "training"}}), {"image": B})
    assert not {RECORDS, TRAINED} & without_records(made).metadata.keys()
