# SPDX-License-Identifier: Apache-2.0
"""The report: figures of every layer, the recipe that gives the same program again."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program
from tests.exporter.quantize.programs import cnn, images, samples

from samara.exporter.ir import PADDING, Builder, Program, to_bytes
from samara.exporter.quantize.quantize import quantize
from samara.exporter.quantize.recipe import Recipe


def test_every_layer_has_its_figures() -> None:
    program = cnn()
    done = quantize(program, samples(20))
    report = done.report
    convs = [x for x in report.layers if x.op == "conv"]
    assert len(convs) == 2
    for x in convs:
        assert x.scheme == "int8"
        assert x.sqnr_db is not None
        assert 15 < x.sqnr_db < 70
        assert x.range_used is not None
        assert x.range_used > 0.8
        assert x.saturation is not None
        assert x.saturation < 0.01
        assert x.bytes_after < x.bytes_before / 2
        assert x.flops is not None
        assert x.flops > 1000
    # A net of 350 weights is mostly structure, so it does not shrink.
    assert report.bytes_before == len(to_bytes(program, padding=PADDING))
    assert report.bytes_after == len(to_bytes(done, padding=PADDING))
    assert report.outputs["out0"] > 15
    assert report.samples == 20
    assert set(report.seconds_after) == set(report.seconds_before)


def test_metrics_before_and_after() -> None:
    p, data = cnn(), images(12)
    labels = np.concatenate([p.run({"x": x[None]})["out0"] for x in data]).argmax(axis=1)
    report = quantize(p, samples(20), evaluate={"x": data}, labels=labels).report
    assert report.metric_before == 1.0
    assert report.metric_after is not None
    assert report.metric_after > 0.7
    assert report.metric == "top1"
    assert "metric top1: 1.0000" in str(report)
    assert report.summary()["metric top1"].startswith("1.0000")


@pytest.mark.parametrize(
    "scheme", ["int8", "int8-dynamic", "int8-weights", "int4-weights", "int4-dynamic", "fp16"]
)
def test_the_recipe_gives_the_same_program_again(scheme: str) -> None:
    data = samples(8)
    first = quantize(cnn(), data, scheme)
    text = first.report.to_toml()
    assert tomllib.loads(text)["layers"] == {}  # no line holds a layer
    explicit = tomllib.loads(text.replace('\n# "', '\n"'))["layers"]
    assert {name: line["scheme"] for name, line in explicit.items()} == {
        x.name: x.scheme for x in first.report.layers
    }
    again = quantize(cnn(), data, recipe=Recipe.from_toml(text))
    assert to_bytes(again) == to_bytes(first)


def test_a_layer_is_edited_and_fed_back() -> None:
    first = quantize(cnn(), samples(8))
    name = next(x.name for x in first.report.layers if x.op == "conv")
    recipe = first.recipe.with_layer(name, scheme="float")
    again = quantize(cnn(), samples(8), recipe=recipe)
    assert again.report.layer(name).scheme == "float"
    assert sum(n.op.name == "conv" for n in again.main.nodes) == 1


def test_one_edited_line_of_a_saved_recipe_leaves_the_others_free() -> None:
    """A pool is int8 for the sake of the product behind it: a saved line must not keep it so."""
    data = samples(8)
    report = quantize(cnn(), data).report
    name = [x.name for x in report.layers if x.op == "conv"][1]
    line = f'# "{name}" = {{scheme = "int8"}}'
    text = report.to_toml()
    assert text.count(line) == 1
    edited = text.replace(line, f'"{name}" = {{scheme = "float"}}')
    again = quantize(cnn(), data, recipe=Recipe.from_toml(edited))
    assert to_bytes(again) == to_bytes(quantize(cnn(), data, recipe={"layers": {name: "float"}}))
    held = quantize(cnn(), data, recipe=Recipe.from_toml(edited.replace('\n# "', '\n"')))
    assert to_bytes(again) != to_bytes(held)


def test_json_and_text_hold_the_same() -> None:
    report = quantize(cnn(), samples(4)).report
    data = json.loads(report.to_json_text())
    assert [x["name"] for x in data["layers"]] == [x.name for x in report.layers]
    assert data["findings"][0]["kind"] == "few"
    assert "too few calibration samples" in str(report)
    assert data["recipe"]["scheme"] == "int8"


def _wide() -> Program:
    """A product whose first result channel is far wider than the rest, and one whose weights vanish."""

    def build(b: Builder) -> Any:
        w = normal(16, 8, seed=1)
        w[:, 0] *= 1000
        w[:, 3] = 0
        y = b.op("matmul", b.input("x", "f32", [4, 16]), b.const(w, "w"), name="first")
        y = b.op("relu", y)
        return b.op("matmul", y, b.const(normal(8, 4, seed=2), "v"), name="second")

    return program(build)


def test_wide_and_dead_channels_are_pointed_out() -> None:
    data = [{"x": normal(4, 16, seed=s)} for s in range(20)]
    report = quantize(_wide(), data, recipe={"equalize": False}).report
    first = next(x for x in report.layers if x.dead_channels)
    assert first.dead_channels == (3,)
    assert any(r.endswith("wider than most: equalize") for r in first.remarks)
    assert any("1 dead channel" in r for r in first.remarks)


def test_a_wide_channel_that_equalize_cannot_reach() -> None:
    """Nothing can be moved over a sigmoid: the remark must not ask for what was done."""

    def build(b: Builder) -> Any:
        w = normal(16, 8, seed=1)
        w[:, 0] *= 1000
        y = b.op("matmul", b.input("x", "f32", [4, 16]), b.const(w, "w"), name="first")
        y = b.op("mul", y, b.op("sigmoid", y))
        return b.op("matmul", y, b.const(normal(8, 4, seed=2), "v"), name="second")

    report = quantize(program(build), [{"x": normal(4, 16, seed=s)} for s in range(20)]).report
    said = [r for x in report.layers for r in x.remarks if "wider than most" in r]
    assert said
    assert all(
        r.endswith("equalize cannot even it out, leave the next layer with weights in float")
        for r in said
    )


def test_slower_sets_are_named() -> None:
    """A tiny elementwise net between borders: int8 only adds work."""

    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [1, 4])
        return b.op("matmul", x, b.const(normal(4, 4), "w"))

    report = quantize(program(build), [{"x": normal(1, 4, seed=s)} for s in range(20)]).report
    assert report.slower
    assert "slower than float here" in str(report)
