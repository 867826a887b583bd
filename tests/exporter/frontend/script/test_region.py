# SPDX-License-Identifier: Apache-2.0
"""Bodies of branches and loops undo their changes at the end and report them."""

from __future__ import annotations

from collections import namedtuple

import pytest

import samara
from samara.exporter.frontend.script.region import Region, rebuilt, seen
from samara.exporter.frontend.script.tracer import ScriptTracer
from samara.exporter.frontend.script.values import traced

Point = namedtuple("Point", "x y")


def test_tensors_changed_in_place_are_put_back(tracer: ScriptTracer) -> None:
    t = traced(samara.ones(2))
    before = t._value
    with Region(tracer, "body") as region:
        own = traced(samara.ones(2))
        own += 1.0
        t += 1.0
        t *= 2.0
        inside = t._value
    assert t._value is before
    ((cell, end),) = region.changes.values()
    assert end.value is inside
    assert cell.read()._value is before
    assert tracer.builder is tracer.root
    assert [n.op.name for n in region.child.nodes] == ["add", "add", "mul"]


def test_containers_are_put_back(tracer: ScriptTracer) -> None:
    items, table = [1, 2], {"a": 1}
    with Region(tracer, "body") as region:
        own = tracer.made([0])
        for obj in (items, table, own):
            tracer.changing_container(obj)
        items.append(3)
        table["b"] = 2
        own.append(1)
    assert (items, table, own) == ([1, 2], {"a": 1}, [0, 1])
    ends = [end.obj for _, end in region.changes.values()]
    assert ends == [[1, 2, 3], {"a": 1, "b": 2}]
    assert [c.label for c, _ in region.changes.values()] == ["'items'", "'table'"]


def test_an_inner_region_reports_to_the_outer(tracer: ScriptTracer) -> None:
    t = traced(samara.ones(2))
    with Region(tracer, "outer") as outer:
        with Region(tracer, "inner") as inner:
            t += 1.0
        ((cell, end),) = inner.changes.values()
        tracer.write(cell, end.obj)
    assert len(outer.changes) == 1


def test_errors_put_back_too(tracer: ScriptTracer) -> None:
    t = traced(samara.ones(2))
    before = t._value
    with pytest.raises(AttributeError), Region(tracer, "body"):
        print(t.add_(1.0).nothing_of_the_kind)  # type: ignore[attr-defined]
    assert t._value is before
    assert tracer.region is None


def test_discarded_names_are_free(tracer: ScriptTracer) -> None:
    for _ in range(3):
        region = Region(tracer, "body")
        assert region.child.name == "main/body"
        region.discard()


def test_seen_and_rebuilt() -> None:
    value = Point([1, (2,)], {"k": 3})
    now = seen(value)
    value.x.append(4)
    parts = now.parts
    assert parts is not None
    assert [p.obj for p in parts.values()] == [[1, (2,), 4], {"k": 3}]
    inner = parts[0].parts
    assert inner is not None
    assert list(inner) == [0, 1]
    assert seen(3).parts is None
    assert rebuilt(value, {0: "a", 1: "b"}) == Point("a", "b")
    assert rebuilt([0], {0: 5, 1: 6}) == [5, 6]
    assert rebuilt({"z": 0}, {"z": 1}) == {"z": 1}
