# SPDX-License-Identifier: Apache-2.0
"""The custom operators that a Program needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import samara
from samara.exporter.ir import Program, ProgramBuilder, from_bytes, required_ops, to_bytes
from samara.exporter.ops import custom_values, register_custom


def _program() -> Program:
    program = ProgramBuilder()
    b = program.function("main")
    x = b.input("x", "f32", [3])
    for i, name in enumerate(("b::two", "a::one", "b::two")):
        stated = {"dtypes": (1,), "ranks": (1,), "shape": (3,)}
        (x,) = b.op("custom", x, outputs=[f"y{i}"], attributes={"name": name, **stated})
    b.finish([x])
    return program.finish(["main"])


def test_required_operators() -> None:
    register_custom("a::one", lambda x: x)
    program = _program()
    for p in (program, from_bytes(to_bytes(program)).program):
        one, two = required_ops(p)
        assert (one.name, one.nodes, one.reference, one.library) == ("a::one", ("y1",), True, None)
        assert (two.name, two.nodes, two.reference) == ("b::two", ("y0", "y2"), False)
        assert one.missing == "a library"
        assert two.missing == "a reference and a library"


def test_most_programs_need_none() -> None:
    program = ProgramBuilder()
    b = program.function("main")
    b.finish([b.op("relu", b.input("x", "f32", [3]))])
    assert required_ops(program.finish(["main"])) == ()


VALUES = {"n": -3, "scales": (0.5, 2.0), "mode": "fast\x1fx", "axes": (1, 2), "none": (), "t": ""}


def _stating(values: dict[str, object]) -> Program:
    program = ProgramBuilder()
    b = program.function("main")
    stated = {"dtypes": (1,), "ranks": (1,), "shape": (3,), "attributes": values}
    x = b.input("x", "f32", [3])
    (y,) = b.op("custom", x, outputs=["y"], attributes={"name": "a::one", **stated})
    b.finish([y])
    return program.finish(["main"])


def test_attributes_travel_as_a_table() -> None:
    read = from_bytes(to_bytes(_stating(VALUES))).program
    (node,) = read.main.nodes
    assert custom_values(node.attrs) == VALUES
    assert node.attrs["keys"] == ""


def test_older_runtimes_get_them_joined(tmp_path: Path) -> None:
    """A runtime before 0.7 finds the attributes, and the file does not require a newer one."""
    values = {name: v for name, v in VALUES.items() if name != "mode"}
    path = tmp_path / "m.samara"
    samara.export(_stating(values), path, check=False, target_runtime="0.6")
    (node,) = samara.open_program(path).main.nodes
    assert node.attrs["attributes"] == ()
    assert custom_values(node.attrs) == values
    assert from_bytes(path.read_bytes()).min_runtime == (0, 1, 0)
    samara.export(_stating(values), path, check=False, target_runtime="0.7")
    assert from_bytes(path.read_bytes()).min_runtime == (0, 7, 0)
    with pytest.raises(samara.UnsupportedError, match="character 0x1f"):
        samara.export(_stating(VALUES), path, check=False, target_runtime="0.6.1")
