# SPDX-License-Identifier: Apache-2.0
"""The limit of a check: what counts, and that a run stops at it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program

from samara.exporter.ir import Builder, Value
from samara.exporter.ir.interpret import run
from samara.exporter.passes import _work
from samara.exporter.passes._work import (
    LEAST,
    MOST,
    OverspentError,
    Work,
    least_seconds,
    work_for,
)
from samara.pybridge.op import run_counts


def _wide(b: Builder) -> Value:
    x = b.input("x", "f32", ["n", 256])
    value: Value = b.op("relu", b.op("matmul", x, b.const(normal(256, 256))))
    return value


def test_the_estimate_grows_with_the_sizes_and_repeats() -> None:
    net = program(_wide)
    seconds = []
    for rows in (1, 1, 100, 1000):
        work = Work(1.0)
        run(net, {"x": normal(rows, 256)}, evaluate=work)
        seconds.append(work.seconds)
    assert seconds[0] == seconds[1] < seconds[2] < seconds[3] / 5


def test_large_nodes_run_on_kernels_and_small_ones_do_not() -> None:
    net = program(_wide)
    counts = []
    for rows in (1, 100):
        before = run_counts().get("matmul", 0)
        got = run(net, {"x": normal(rows, 256)}, evaluate=Work(1.0))["out0"]
        counts.append(run_counts().get("matmul", 0) - before)
        assert np.allclose(got, net.run({"x": normal(rows, 256)})["out0"], atol=1e-4)
    assert counts == [0, 1]


def test_a_run_stops_at_the_limit() -> None:
    net = program(_wide)
    with pytest.raises(OverspentError):
        run(net, {"x": normal(1000, 256)}, evaluate=Work(1e-4))


def test_the_least_is_known_without_a_run() -> None:
    net = program(_wide)
    x = normal(1000, 256)
    work = Work(1.0)
    run(net, {"x": x}, evaluate=work)
    assert work.seconds / 2 < least_seconds(net, "main", {"x": x.shape}) <= work.seconds


def test_the_limit_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work_for(program(_wide)).limit == LEAST

    def chain(b: Builder) -> Value:
        x = b.input("x", "f32", [1])
        for _ in range(1000):
            x = b.op("relu", x)
        return x

    assert LEAST < work_for(program(chain)).limit < MOST
    monkeypatch.setattr(_work, "PER_BYTE", 1e-4)  # 256 KB of weights then stand for some GB
    assert work_for(program(_wide)).limit == MOST


def test_cutting_parts_out_is_work() -> None:
    work = Work(1.0)
    work.cut(1000)
    assert 0.5 < work.left < 1.0
