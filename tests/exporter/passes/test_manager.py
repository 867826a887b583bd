# SPDX-License-Identifier: Apache-2.0
"""Running passes: reports, switching off, checking, bisecting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.exporter.passes.programs import ops, program

from samara.exporter.ir import Builder, Program, Value
from samara.exporter.passes import PIPELINE, Pass, difference, node_count, run_passes
from samara.exporter.types import SamaraError


def _program() -> Program:
    def build(b: Builder) -> Value:
        x = b.input("x", "f32", [2, 3])
        value: Value = b.op("relu", b.op("identity", b.op("exp", b.op("add", x, 0.0))))
        return value

    return program(build)


def _doubled(before: Program) -> Program:
    """A wrong pass: what comes out is twice what should."""
    from samara.exporter.ir import Rewriter

    r = Rewriter(before.main, before)
    r.set_outputs([r.op("mul", v, r.const(np.float32(2))) for v in r.outputs])
    return before.with_function(r.finish())


WRONG = Pass("doubled", "twice too much", _doubled)
IDLE = Pass("idle", "nothing", lambda p: p)


def test_the_report_has_a_row_per_pass() -> None:
    after, report = run_passes(_program(), PIPELINE, check=True)
    assert ops(after) == {"exp": 1, "relu": 1}
    assert [r.name for r in report.rows] == [p.name for p in PIPELINE]
    assert report.rows[0].nodes_before == 4
    assert report.rows[-1].nodes_after == node_count(after) == 2
    changed = [r for r in report.rows if r.changed]
    assert changed
    assert all(r.difference is not None and r.difference <= 1.0 for r in changed)
    assert all(r.difference is None for r in report.rows if not r.changed)


def test_a_pass_can_be_switched_off() -> None:
    after, report = run_passes(_program(), PIPELINE, disable=["simplify"])
    assert ops(after)["identity"] == 1
    assert "simplify" not in {r.name for r in report.rows}
    with pytest.raises(SamaraError, match="there is no pass 'simplfy'"):
        run_passes(_program(), PIPELINE, disable=["simplfy"])


def test_an_unchecked_run_lets_a_wrong_pass_through() -> None:
    after, _ = run_passes(_program(), [WRONG])
    assert ops(after)["mul"] == 1


def test_a_wrong_answer_is_refused() -> None:
    with pytest.raises(
        SamaraError, match="pass 'doubled' changed the answer: output 'out0'"
    ) as error:
        run_passes(_program(), [IDLE, WRONG, IDLE], check=True)
    assert error.value.fix is not None
    assert "disable=['doubled']" in error.value.fix


def test_bisect_says_whether_the_pass_alone_is_wrong() -> None:
    with pytest.raises(SamaraError, match="run alone on the original program it is wrong too"):
        run_passes(_program(), [WRONG], bisect=True)


def test_bisect_sees_a_dependence_on_an_earlier_pass() -> None:
    seen: list[Program] = []

    def second_time(p: Program) -> Program:
        seen.append(p)
        return _doubled(p) if len(seen) == 1 else p

    with pytest.raises(SamaraError, match="depends on an earlier pass"):
        run_passes(_program(), [Pass("moody", "wrong once", second_time)], bisect=True)


def test_an_invalid_program_names_the_pass() -> None:
    def broken(_: Program) -> Program:
        raise SamaraError("no")

    with pytest.raises(SamaraError, match="pass 'broken' broke the program"):
        run_passes(_program(), [Pass("broken", "raises", broken)])


def test_given_samples_are_used() -> None:
    with pytest.raises(SamaraError, match="changed the answer"):
        run_passes(_program(), [WRONG], check=True, samples=[{"x": np.ones((2, 3), np.float32)}])


def test_what_cannot_run_is_reported_as_unchecked() -> None:
    _, report = run_passes(
        _program(), [WRONG], check=True, samples=[{"x": np.ones((5, 3), np.float32)}]
    )
    assert "does not run on the samples" in report.unchecked


def test_difference() -> None:
    one = np.ones(3, np.float32)
    assert difference(one, one) == 0.0
    assert difference(one, one * 1.1) > 1.0
    assert difference(one + 1e-6, one) < 1.0
    assert difference(one, one.astype(np.float16)) == math.inf
    assert difference(np.array([1, 2]), np.array([1, 3])) == math.inf
    holes = np.array([np.nan, np.inf, 1], np.float32)
    assert difference(holes, holes) == 0.0
    assert difference(np.array([0, np.inf, 1], np.float32), holes) == math.inf


def _stepped(change: int) -> Pass:
    """A pass that moves a quantized output by `change` steps."""

    def run(before: Program) -> Program:
        from samara.exporter.ir import Rewriter

        r = Rewriter(before.main, before)
        (value,) = r.outputs
        plain = r.op("reinterpret", value, to="i8")
        moved = r.op("add", plain, r.const(np.int8(change)))
        quant = value.type.quant
        assert quant is not None
        r.set_outputs(
            [
                r.op(
                    "reinterpret",
                    moved,
                    to="qs8",
                    scales=quant.scales,
                    zero_points=quant.zero_points,
                )
            ]
        )
        return before.with_function(r.finish())

    return Pass("stepped", "moves by steps", run, steps=1)


def test_a_pass_that_rounds_elsewhere_may_move_by_a_step_and_no_further() -> None:
    def build(b: Builder) -> Value:
        value: Value = b.op(
            "quantize", b.input("x", "f32", [20]), scales=(0.1,), zero_points=(0,), axis=-1
        )
        return value

    before = program(build)
    _, report = run_passes(before, [_stepped(1)], check=True)
    assert report.rows[0].difference == 1.0
    # What follows is held to the answers that it made.
    _, report = run_passes(before, [_stepped(1), _stepped(1), _stepped(-1)], check=True)
    assert [r.difference for r in report.rows] == [1.0, 1.0, 1.0]
    with pytest.raises(SamaraError, match="pass 'stepped' changed the answer"):
        run_passes(before, [_stepped(2)], check=True)


def test_differences_in_steps() -> None:
    one = np.array([0.0, 1.0, 255.0], np.float32)
    assert difference(one, one, 1) == 0.0
    assert difference(one + 1, one, 1) == pytest.approx(1.0, abs=0.15)
    assert difference(one + 1, one, 2) < difference(one + 1, one, 1) < difference(one + 1, one)
    assert difference(one * np.float32(np.nan), one, 1) == math.inf
    assert difference(np.array([2, 0], np.uint8), np.array([0, 0], np.uint8), 1) == math.sqrt(2)
    # A place or a choice may jump.
    assert difference(np.array([7]), np.array([0]), 1) == 0.0
    assert difference(np.array([7]), np.array([0])) == math.inf
