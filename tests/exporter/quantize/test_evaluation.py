# SPDX-License-Identifier: Apache-2.0
"""Evaluation: metrics by name, labelled data in its forms, and what a loss may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.quantize.programs import cnn, images

from samara.exporter.quantize.evaluation import (
    Drop,
    evaluator_of,
    metric_of,
    negative_mse,
    parse_drop,
    top1,
    top5,
)
from samara.exporter.types import FileError, QuantizationError
from samara.pybridge import Session


def test_metrics() -> None:
    scores = np.array([[0.1, 0.9, 0, 0, 0, 0], [0.9, 0.05, 0, 0, 0.01, 0.02]], np.float32)
    assert top1(scores, np.array([1, 1])) == 0.5
    assert top5(scores, np.array([2, 3])) == 0.5  # of equal ones the first five count
    assert negative_mse(np.array([1.0, 3.0]), np.array([1.0, 1.0])) == -2.0


def test_a_metric_by_module_and_function() -> None:
    assert metric_of("samara.exporter.quantize.evaluation:top5") is top5


@pytest.mark.parametrize("name", ["top2", "nowhere:f", "samara.exporter.quantize.evaluation:none"])
def test_unknown_metric(name: str) -> None:
    with pytest.raises(QuantizationError):
        metric_of(name)


def _labelled() -> tuple[Any, Any, float]:
    program, data = cnn(), images(12)
    scores = np.concatenate([program.run({"x": x[None]})["out0"] for x in data])
    labels = scores.argmax(axis=1)
    labels[:3] = (labels[:3] + 1) % 5
    return data, labels, 0.75


def test_data_with_an_array_of_labels(tmp_path: Path) -> None:
    data, labels, want = _labelled()
    np.savez(tmp_path / "e.npz", x=data, truth=labels)
    np.save(tmp_path / "labels.npy", labels)
    one_by_one = [{"x": x[None]} for x in data]
    for evaluate, given in (
        ({"x": data}, labels),
        (one_by_one, labels),
        (tmp_path / "e.npz", "truth"),
        (one_by_one, tmp_path / "labels.npy"),
    ):
        found = evaluator_of(evaluate, given, "top1")
        assert found is not None
        assert found.name == "top1"
        assert found(cnn()) == want
        assert found(cnn()) == want  # data can be gone through again


def test_a_function_of_a_session() -> None:
    def score(session: Session) -> float:
        return float(session.run({"x": images(1)})["out0"].size)

    found = evaluator_of(score)
    assert found is not None
    assert found(cnn()) == 5.0
    assert found.name == "score"
    unnamed = evaluator_of(lambda _s: 1.0)
    assert unnamed is not None
    assert unnamed.name == "evaluate"


def test_labels_that_are_not_there() -> None:
    with pytest.raises(FileError, match=r"labels nothing\.npy: there is no such file"):
        evaluator_of([{"x": images(1)}], "nothing.npy", None)


@pytest.mark.parametrize(
    ("evaluate", "labels", "metric"),
    [
        (None, [1], None),
        (None, None, "top1"),
        ([{"x": images(1)}], None, None),
        ([{"x": images(1)}], [1, 2], None),
        (lambda _s: "good", None, None),
        (lambda _s: float("nan"), None, None),
        (lambda _s: 1.0, [1], None),
    ],
)
def test_what_cannot_be_evaluated(evaluate: Any, labels: Any, metric: Any) -> None:
    def score() -> None:
        found = evaluator_of(evaluate, labels, metric)
        assert found is not None
        found(cnn())

    with pytest.raises(QuantizationError):
        score()


def test_drops() -> None:
    assert parse_drop("0.5pt") == Drop(0.005, False)
    assert parse_drop(" 2 % ") == Drop(0.02, True)
    assert parse_drop("1pt").allows(0.9, 0.89)
    assert not parse_drop("1pt").allows(0.9, 0.885)
    assert parse_drop("1%").allows(-10.0, -10.1)
    assert not parse_drop("1%").allows(10.0, 9.8)


@pytest.mark.parametrize("text", ["0.5", 0.5, "pt", "-1pt", "1 point", None])
def test_a_bare_number_is_refused(text: Any) -> None:
    with pytest.raises(QuantizationError, match="absolute or relative"):
        parse_drop(text)
