# SPDX-License-Identifier: Apache-2.0
"""Sample inputs: sizes that satisfy the guards, data of every dtype."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import _samples, sample_inputs
from samara.exporter.passes._samples import symbols_of


def test_every_dtype_gets_data_of_its_kind() -> None:
    def build(b: Builder) -> list[Value]:
        names = ("f32", "f16", "i8", "u8", "i32", "i64", "bool")
        return [b.op("identity", b.input(n, n, [5, 7])) for n in names]

    feeds = sample_inputs(program(build), "main")
    assert feeds is not None
    assert {k: v.dtype.name for k, v in feeds.items()} == {
        "f32": "float32", "f16": "float16", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64",
        "bool": "bool",
    }  # fmt: skip
    assert feeds["f32"].std() > 0.3
    assert set(np.unique(feeds["i64"])) <= {0, 1}


def test_the_same_sample_every_time() -> None:
    p = program(lambda b: b.op("exp", b.input("x", "f32", ["n", 3])))
    first, second = sample_inputs(p, "main"), sample_inputs(p, "main")
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first["x"], second["x"])


def test_sizes_are_searched_until_the_program_runs() -> None:
    def build(b: Builder) -> Value:
        x = b.input("x", "f32", ["n", "h"])
        n, h = x.type.shape
        value: Value = b.op("reshape", x, shape=[n, h // 32, 32])
        return value

    p = program(build)
    assert [s.name for s in symbols_of(p, "main")] == ["n", "h"]
    feeds = sample_inputs(p, "main")
    assert feeds is not None
    assert feeds["x"].shape[1] % 32 == 0


def test_none_when_nothing_fits() -> None:
    def build(b: Builder) -> Value:
        x = b.input("x", "f32", ["n"])
        value: Value = b.op("reshape", x, shape=[7, 11, 13])
        return value

    assert sample_inputs(program(build), "main") is None


def test_sizes_that_take_too_long_are_not_tried_upwards() -> None:
    def build(b: Builder) -> Value:
        x = b.input("x", "f32", ["n", 64])
        for i in range(3):
            x = b.op("matmul", x, b.const(normal(64, 64, seed=i)))
        return x

    net = program(build)
    feeds = sample_inputs(net, "main")
    assert feeds is not None
    assert feeds["x"].shape == (2, 64)
    feeds = sample_inputs(net, "main", 1e-5)
    assert feeds is not None
    assert feeds["x"].shape == (1, 64)  # too much as well, but the least


def test_inputs_are_not_drawn_for_runs_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    p = program(lambda b: b.op("exp", b.input("x", "f32", ["n", 1000])))
    drawn: list[str] = []
    monkeypatch.setattr(_samples, "random_input", lambda v, sizes: drawn.append(v.name))
    assert sample_inputs(p, "main", 1e-9, within=True) is None
    assert drawn == []
    assert sample_inputs(p, "main", 1e-9) is not None
    assert drawn == ["x"]
