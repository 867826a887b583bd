# SPDX-License-Identifier: Apache-2.0
"""Running passes: reports, disabling, checking, bisecting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import ops, program

from samara.exporter.ir import Builder, Program, Value
from samara.exporter.passes import PIPELINE, Pass, node_count, run_passes
from samara.exporter.passes import _work as _work
from samara.exporter.types import SamaraError


def _program() -> Program:
    def build(b: Builder) -> Value:
        x = b.input("x", "f32", [2, 3])
        value: Value = b.op("relu", b.op("identity", b.op("exp", b.op("add", x, 0.0))))
        return value

    return program(build)


def _doubled(before: Program) -> Program:
    """A wrong pass that doubles the output."""
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


def test_a_wrong_pass_is_left_off_and_the_others_go_on() -> None:
    after, report = run_passes(_program(), [WRONG, *PIPELINE, WRONG], check=True)
    assert ops(after) == {"exp": 1, "relu": 1}
    (failed,) = report.failed
    assert "pass 'doubled' changed the answer: output 'out0' differs by" in failed
    rows = [
        r for r in report.rows if r.name == "doubled"
    ]  # a pass known to be wrong does not run again
    assert [(r.changed, r.nodes_before, r.nodes_after) for r in rows] == [(False, 4, 4)]
    assert rows[0].difference is not None
    assert rows[0].difference > 1.0
    assert all(not r.failed for r in report.rows[1:])


def test_a_strict_check_refuses_a_wrong_answer() -> None:
    with pytest.raises(
        SamaraError, match="pass 'doubled' changed the answer: output 'out0'"
    ) as error:
        run_passes(_program(), [IDLE, WRONG, IDLE], check="strict")
    assert error.value.fix is not None
    assert "disable=['doubled']" in error.value.fix


def test_other_checks_are_refused() -> None:
    with pytest.raises(SamaraError, match="there is no check 'strickt'"):
        run_passes(_program(), [IDLE], check="strickt")


def test_bisect_says_whether_the_pass_alone_is_wrong() -> None:
    said = "run alone on the original program it is wrong too"
    with pytest.raises(SamaraError, match=said):
        run_passes(_program(), [WRONG], bisect=True, check="strict")
    _, report = run_passes(_program(), [WRONG, IDLE], bisect=True, check=True)
    assert said in report.failed[0]
    assert "pass 'doubled'" in report.failed[0]


def test_bisect_sees_a_dependence_on_an_earlier_pass() -> None:
    seen: list[Program] = []

    def second_time(p: Program) -> Program:
        seen.append(p)
        return _doubled(p) if len(seen) == 1 else p

    with pytest.raises(SamaraError, match="depends on an earlier pass"):
        run_passes(
            _program(), [Pass("moody", "wrong once", second_time)], bisect=True, check="strict"
        )


@pytest.mark.parametrize("error", [SamaraError("no"), KeyError("no")])
def test_a_pass_that_makes_no_program_is_left_off_too(error: Exception) -> None:
    def broken(_: Program) -> Program:
        raise error

    steps = [Pass("broken", "raises", broken), IDLE]
    for check in (False, "strict"):
        with pytest.raises(SamaraError, match="pass 'broken' broke the program"):
            run_passes(_program(), steps, check=check)
    after, report = run_passes(before := _program(), steps, check=True)
    assert after is not None
    assert node_count(after) == node_count(before)
    assert "pass 'broken' broke the program" in report.failed[0]


def test_given_samples_are_used() -> None:
    with pytest.raises(SamaraError, match="changed the answer"):
        run_passes(
            _program(), [WRONG], check="strict", samples=[{"x": np.ones((2, 3), np.float32)}]
        )


def test_what_cannot_run_is_reported_as_unchecked() -> None:
    _, report = run_passes(
        _program(), [WRONG], check=True, samples=[{"x": np.ones((5, 3), np.float32)}]
    )
    assert "does not run on the samples" in report.unchecked


def _stepped(change: int, count: int) -> Pass:
    """A pass that moves the first `count` numbers of a quantized output by `change` steps."""

    def run(before: Program) -> Program:
        from samara.exporter.ir import Rewriter

        r = Rewriter(before.main, before)
        (value,) = r.outputs
        plain = r.op("reinterpret", value, to="i8")
        by = np.where(np.arange(200) < count, change, 0).astype(np.int8)
        moved = r.op("add", plain, r.const(by))
        quant = value.type.quant
        assert quant is not None
        form: dict[str, Any] = {"scales": quant.scales, "zero_points": quant.zero_points}
        r.set_outputs([r.op("reinterpret", moved, to="qs8", **form)])
        return before.with_function(r.finish(["out0"]))

    return Pass("stepped", "moves by steps", run, steps=1)


def test_a_pass_that_rounds_elsewhere_may_move_few_numbers_by_a_step() -> None:
    def build(b: Builder) -> Value:
        value: Value = b.op(
            "quantize", b.input("x", "f32", [200]), scales=(0.1,), zero_points=(0,), axis=-1
        )
        return value

    before = program(build)
    # Later passes are compared with the answers after the earlier ones.
    steps = [_stepped(1, 20), _stepped(1, 20), _stepped(-1, 20)]
    _, report = run_passes(before, steps, check="strict")
    assert all(r.difference is not None and 0.0 < r.difference <= 1.0 for r in report.rows)
    for wrong in (_stepped(1, 200), _stepped(1, 100), _stepped(2, 20)):
        with pytest.raises(SamaraError, match="pass 'stepped' changed the answer"):
            run_passes(before, [wrong], check="strict")


def _limited(monkeypatch: pytest.MonkeyPatch, nodes: float) -> None:
    """The check may estimate the work of this many nodes."""
    monkeypatch.setattr(_work, "LEAST", nodes * _work._CALL)
    monkeypatch.setattr(_work, "PER_NODE", 0.0)
    monkeypatch.setattr(_work, "PER_BYTE", 0.0)


def test_passes_beyond_the_limit_are_checked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    _limited(monkeypatch, 9.5)  # the reference takes 4, and so does each check
    after, report = run_passes(_program(), PIPELINE, check=True)
    assert ops(after) == {"exp": 1, "relu": 1}
    changed = [r for r in report.rows if r.changed]
    assert [r.scope for r in changed] == ["together"] * len(changed)
    assert all(r.difference == 0.0 for r in changed)
    assert report.checked == (
        f"checked on sample inputs: {len(changed)} together; largest change 0 of the tolerance"
    )


def test_a_wrong_pass_among_them_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _limited(monkeypatch, 9.5)
    after, report = run_passes(_program(), [*PIPELINE[:4], WRONG, *PIPELINE[4:]], check=True)
    assert ops(after) == {"exp": 1, "relu": 1}
    (failed,) = report.failed
    assert "pass 'doubled' changed the answer: output 'out0' differs by" in failed
    assert [r.name for r in report.rows if r.failed] == ["doubled"]
    with pytest.raises(SamaraError, match="pass 'doubled' changed the answer"):
        run_passes(_program(), [*PIPELINE, WRONG], check="strict")
