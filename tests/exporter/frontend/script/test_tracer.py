# SPDX-License-Identifier: Apache-2.0
"""The tracer of script: constants per body, checks, attributes, caught errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.frontend.script import runtime
from samara.exporter.frontend.script.region import Region
from samara.exporter.frontend.script.tracer import ScriptTracer


def test_constants_have_a_name_in_every_body() -> None:
    t = samara.ones(3)
    with ScriptTracer("main", {}, runtime) as tracer:
        outside = tracer.lift(t)
        with Region(tracer, "body") as region:
            inside = tracer.lift(t)
            assert inside is tracer.lift(t)
        assert inside is not outside
        assert np.shares_memory(inside.constant, outside.constant)
        assert inside.name in region.child._names
        assert tracer.lift(t) is outside


def test_checks_of_bodies_are_made_outside() -> None:
    with ScriptTracer("main", {}, runtime) as tracer:
        flag = tracer.input("flag", np.array(True), {})
        with Region(tracer, "body") as region:
            tracer.require(flag, "said")
            tracer.require(flag, "said")
        assert tracer.root.guards == []
        ((cell, end),) = region.changes.values()
        assert cell.read() is True
        assert end.value.type.dtype.public_name == "bool"
        tracer.write(cell, flag)
        (guard,) = tracer.root.guards
        assert (guard.message, str(guard.a), str(guard.b)) == ("said", "read(flag, 0)", "1")


def test_attributes_are_put_back() -> None:
    class Holder:
        pass

    holder = Holder()
    holder.a = 1  # type: ignore[attr-defined]
    with ScriptTracer("main", {}, runtime) as tracer:
        for name in ("a", "b"):
            tracer.changing_attribute(holder, name)
            setattr(holder, name, 5)
        with Region(tracer, "body"), pytest.raises(samara.ScriptError, match="attribute 'a'"):
            tracer.changing_attribute(holder, "a")
    assert holder.__dict__ == {"a": 1}


def test_buffers_may_change_anywhere() -> None:
    module = nn.Module()
    module.register_buffer("count", samara.zeros(1))
    with ScriptTracer("main", {}, runtime) as tracer, Region(tracer, "body"):
        tracer.changing_attribute(module, "count")


def swallows(x: Any) -> Any:
    try:
        x = helper(x)
    except samara.SamaraError:
        x = x + 1
    return x


def helper(x: Any) -> Any:
    for v in x:
        if v > 0:
            holder.append(v)
    return x


holder: list[Any] = []


def test_an_error_that_the_users_code_catches_is_raised_all_the_same() -> None:
    with pytest.raises(samara.ScriptError, match="'holder' is list of 1 or list of 0"):
        samara.script(swallows, samara.ones(3))
    assert holder == []


def test_a_tensor_that_escapes_its_branch() -> None:
    kept = set()

    def f(x: Any) -> Any:
        if x.sum() > 0:
            kept.add(x + 1)
        return next(iter(kept)) * 2

    with pytest.raises(samara.ScriptError, match="used outside of it"):
        samara.script(f, samara.ones(3))
