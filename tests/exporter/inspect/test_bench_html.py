# SPDX-License-Identifier: Apache-2.0
"""The page of a benchmark: nodes in their modules, bars of what changed, nothing unescaped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from samara.exporter.inspect.bench_html import bench_page, frames
from samara.exporter.measure.bench import BenchReport, BenchRow, bench
from samara.exporter.measure.node_times import NodeTime
from samara.exporter.opening import opened


def _node(
    name: str, us: float, *, module: str = "", within: str = "", op: str = "conv"
) -> NodeTime:
    path = f"{within}/{name}" if within else name
    return NodeTime(name, op, "kernel", us, None, path=path, module=module, share=us / 100)


def _report(*nodes: NodeTime, old: dict[str, float] | None = None) -> BenchReport:
    row = BenchRow("samara", 1, "", 2.0, 1.9, None, None, None, None)
    return BenchReport(
        "m.samara", "a machine", "1", 10, None, None, {}, (row,), nodes=nodes, baseline_nodes=old
    )


def test_modules_take_the_time_of_what_they_hold() -> None:
    root = frames(
        [
            _node("stem", 1.0),
            _node("layers/0/a", 2.0, module="layers/0"),
            _node("layers/0/b", 3.0, module="layers/0"),
            _node("layers/1/a", 4.0, module="layers/1"),
        ]
    )
    assert root.us == 10.0
    assert [f.name for f in root.inner.values()] == ["stem", "layers"]
    layers = root.inner["module layers"]
    assert layers.us == 9.0
    assert {f.name: f.us for f in layers.inner.values()} == {"0": 5.0, "1": 4.0}


def test_branches_lie_below_their_control_node_and_are_counted_once() -> None:
    root = frames(
        [
            _node("then/a", 6.0, within="If_0/then"),
            _node("If_0", 10.0, op="if"),
            _node("loop", 3.0, within="If_0/then", op="loop"),
            _node("b", 2.0, within="If_0/then/loop/body", module="m"),
        ]
    )
    assert root.us == 10.0
    (control,) = root.inner.values()
    assert control.us == 10.0
    assert [f.name for f in control.inner.values()] == ["then/a", "loop"]
    (module,) = list(control.inner.values())[1].inner.values()
    assert (module.name, module.us) == ("m", 2.0)


def test_nodes_of_one_name_are_all_counted() -> None:
    root = frames([_node("same", 1.0), _node("same", 2.0), _node("same", 3.0)])
    assert root.us == 6.0
    assert len(root.inner) == 3


def test_changes_are_named_and_those_without_a_partner_too() -> None:
    page = bench_page(
        _report(
            _node("slower", 30.0), _node("faster", 10.0), _node("alike", 50.5), _node("added", 1.0),
            old={"slower": 20.0, "faster": 20.0, "alike": 50.0, "removed": 3.0},
        )
    )  # fmt: skip
    assert "+10.0 µs, +50.0 %" in page
    assert "-10.0 µs, -50.0 %" in page
    bars = dict(re.findall(r"<title>(\w+) \(conv\)[^<]*</title><rect class=\"(\w+)\"", page))
    assert bars == {"slower": "poor", "faster": "good", "alike": "none"}
    assert "Only now: added" in page
    assert "Only in the baseline: removed" in page


def test_baseline_without_nodes_says_how_to_write_one() -> None:
    assert "The baseline has no times of nodes" in bench_page(_report(_node("a", 1.0), old={}))


def test_rows_that_failed_or_are_wrong_say_so() -> None:
    failed = BenchRow("other", 1, "", None, None, None, None, None, None, error="<cannot load>")
    wrong = BenchRow("third", 1, "", 3.0, 3.0, 0.67, None, None, 5.0)
    report = _report(_node("a", 1.0))
    page = bench_page(replace(report, rows=(*report.rows, failed, wrong)))
    assert "failed: &lt;cannot load&gt;" in page
    assert "WRONG ANSWER" in page


@pytest.mark.parametrize("evil", ['"><script>alert(1)</script>', "</title><b>", "a&b<c>'d\""])
def test_names_are_escaped(evil: str) -> None:
    report = _report(
        _node(evil, 1.0, module=evil),
        replace(_node("x", 2.0), source=evil),
        old={evil: 2.0, f"{evil}z": 1},
    )
    page = bench_page(replace(report, model=evil, sizes={evil: 1}, not_reached=(evil,)))
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "<c>" not in page
    assert page.count("</script>") == 1


def test_page_of_a_real_run_against_its_own_result(samara_path: Path, tmp_path: Path) -> None:
    with opened(samara_path) as file:
        first = bench(file, runs=3, node="")
        (tmp_path / "old.json").write_text(json.dumps(first.to_json()))
        second = bench(file, runs=3, node="", baseline=tmp_path / "old.json")
    assert second.baseline_nodes == {n.path: n.median_us for n in first.nodes}
    page = bench_page(second)
    for n in second.nodes:
        assert n.kernel in page
    assert "Only now" not in page
