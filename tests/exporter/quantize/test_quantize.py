# SPDX-License-Identifier: Apache-2.0
"""The public `quantize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import ops
from tests.exporter.quantize.programs import agreement, cnn, images, samples, sqnr

import samara
from samara.exporter.demo import digits_net
from samara.exporter.frontend.data import readers
from samara.exporter.ir import Program, to_bytes
from samara.exporter.quantize.quantize import QuantizedProgram, quantize
from samara.exporter.quantize.recipe import Recipe
from samara.pybridge import Model, QuantizationError, Session


def test_it_is_a_program_with_report_and_recipe() -> None:
    q = samara.quantize(cnn(), images())
    assert isinstance(q, QuantizedProgram)
    assert q.recipe.scheme == "int8"
    assert q.report is not None
    assert agreement(cnn(), q, samples(seed=9)) > 25
    assert q.run(samples(1)[0])["out0"].shape == (1, 5)


def test_the_recipe_gives_the_same_program_again(tmp_path: Path) -> None:
    first = quantize(cnn(), images())
    first.recipe.save(tmp_path / "r.toml")
    again = quantize(cnn(), images(), recipe=tmp_path / "r.toml")
    assert to_bytes(again) == to_bytes(first)
    assert again.recipe == first.recipe


@pytest.mark.parametrize(
    "scheme", ["int8-dynamic", "int8-weights", "int4-weights", "int4-dynamic", "fp16"]
)
def test_schemes_without_data(scheme: str) -> None:
    q = quantize(cnn(), scheme=scheme)
    assert agreement(cnn(), q, samples()) > 15
    assert q.recipe.scheme == scheme


def test_a_recipe_s_scheme_goes_first() -> None:
    q = quantize(cnn(), images(), recipe={"scheme": "int8-weights"})
    assert "qconv" not in ops(q)
    assert "quantize" not in ops(q)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"scheme": "int7"}, "did you mean 'int8'"),
        ({"recipe": {"observers": "mse"}}, "did you mean 'observer'"),
        ({"recipe": {"layers": {"nothing here": "float"}}}, "no layer 'nothing here'"),
        ({"calibration": []}, "no calibration sample"),
        ({"calibration": None}, "needs calibration data"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(QuantizationError, match=match):
        quantize(cnn(), **{"calibration": images(), **arguments})


@pytest.fixture(scope="module")
def digits() -> tuple[Program, Any, Any, Any]:
    """A trained net as a program, its training images, its test images and labels."""
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    arrays, labels = readers.digit_arrays()
    test = np.arange(len(arrays)) % 5 == 0
    model = digits_net.fit(arrays[~test], labels[~test], 0, epochs=3)
    return digits_net.program(model), arrays[~test], arrays[test], labels[test]


def accuracy(p: Program, images: Any, labels: Any) -> float:
    return float((Session(Model(to_bytes(p)))(images).argmax(1) == labels).mean())


@pytest.mark.parametrize(
    "scheme", ["int8", "int8-dynamic", "int8-weights", "int4-weights", "int4-dynamic"]
)
def test_the_digits_keep_their_accuracy(digits: tuple[Program, Any, Any, Any], scheme: str) -> None:
    p, train, test, labels = digits
    q = quantize(p, train[:64], scheme)
    slack = 0.02 if scheme.startswith("int4") else 0.0056  # half a point, and one of 360 images
    assert accuracy(q, test, labels) >= accuracy(p, test, labels) - slack
    assert len(to_bytes(q)) < 0.5 * len(to_bytes(p))


def test_recipes_are_complete() -> None:
    q = quantize(cnn(), images(), recipe=Recipe(equalize=True, observer="percentile:99.9"))
    assert (q.recipe.equalize, q.recipe.observer) == (True, "percentile:99.9")


def test_inputs_and_outputs_may_be_int8() -> None:
    q = quantize(cnn(), images(), recipe={"inputs": "int8", "outputs": "int8"})
    assert [v.type.dtype.short for v in (*q.main.inputs, *q.main.outputs)] == ["qs8", "qs8"]
    assert not {"quantize", "dequantize"} & set(ops(q))
    session = Session(Model(to_bytes(q)))
    x, y = session.inputs[0], session.outputs[0]
    assert x.scale is not None
    assert x.zero_point is not None
    assert y.scale is not None
    assert y.zero_point is not None
    want, got = [], []
    for feeds in samples(4, seed=9):
        steps = np.clip(np.rint(feeds["x"] / x.scale) + x.zero_point, -128, 127).astype(np.int8)
        out = session.run({"x": steps})["out0"]
        assert out.dtype == np.int8
        got.append((out.astype(np.float64) - y.zero_point) * y.scale)
        want.append(cnn().run(feeds)["out0"])
    assert sqnr(np.stack(want), np.stack(got)) > 25
