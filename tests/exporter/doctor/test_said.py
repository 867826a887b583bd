# SPDX-License-Identifier: Apache-2.0
"""Records that the caller asks the doctor about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import samara
from samara import ArgumentError, UnknownNameError
from samara.exporter.doctor._said import Said
from samara.exporter.ir import Program
from samara.exporter.ir.answer_records import answers_of, labels_of
from samara.exporter.ir.records import records_of


@pytest.fixture
def program() -> Program:
    names: Any = {"input_names": ["image"], "output_names": ["y"]}
    return samara.trace(lambda image: image.mean((2, 3)), (samara.zeros(1, 3, 24, 32),), **names)


def test_what_fits_is_in_the_program(program: Program, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    said = Said({"image": "rgb float32 nchw"}, "classify y softmax", tmp_path / "labels.txt")
    made, found = said.applied(program)
    assert found == ()
    assert list(records_of(made)) == ["image"]
    assert list(map(str, answers_of(made).values())) == ["classify y softmax"]
    assert labels_of(made) == ["a", "b", "c"]
    assert Said().applied(program) == (program, ())


def test_what_does_not_is_a_finding(program: Program) -> None:
    made, (finding,) = Said({"image": "rgb float32 nhwc"}).applied(program)
    assert records_of(made) == {}
    assert (finding.level, finding.subject, finding.where) == ("missing", "record", ("image",))
    assert "has 32 on axis 3" in finding.reason
    assert finding.fix
    _, (finding,) = Said({"image": "logmel float32 ntf rate=16000 window=400 bins=40"}).applied(
        program
    )
    assert "makes float32 [1, 1, 40]" in finding.reason


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (Said({"image": "rgb"}), ArgumentError),
        (Said({"picture": "rgb float32 nchw"}), UnknownNameError),
        (Said(postprocess="classify logits"), UnknownNameError),
        (Said(postprocess="classify"), ArgumentError),
    ],
)
def test_mistakes_of_the_caller_are_errors(program: Program, said: Said, kind: type) -> None:
    with pytest.raises(kind):
        said.applied(program)
