# SPDX-License-Identifier: Apache-2.0
"""The names of operators in a file: writing, reading, and errors for missing operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.ir import ProgramBuilder, from_bytes, read_file, to_bytes
from samara.exporter.ir.operator_names import operator_names, operators_text
from samara.exporter.ops import all_ops, op_by_code
from samara.exporter.testing import steered_program
from samara.exporter.types import ModelFormatError

NAMED = {op.name: op for op in all_ops()}


def test_text_and_back() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [5])
    stated = {"dtypes": (1,), "ranks": (1,), "shape": x.type.shape}
    for name in ("mine::a", "mine::b", "mine::a"):
        (x,) = b.op("custom", x, outputs=[x.name + "_"], attributes={"name": name, **stated})
    f = b.finish([b.op("add", b.op("exp", b.op("exp", x)), 1.0)], ["y"])
    text = operators_text(f.nodes)
    assert text == "8 exp\n50 add\n174 custom (mine::a, mine::b)\n"
    assert operator_names(text) == {8: "exp", 50: "add", 174: "custom (mine::a, mine::b)"}
    assert operators_text([]) == ""
    assert operator_names("") == {}


@pytest.mark.parametrize(
    "text", ["conv", "x conv", "81", "81 ", "-1 conv", "81 \x1b[0m", "² two", "\n\n"]
)
def test_lines_that_say_nothing(text: str) -> None:
    assert operator_names(text) == {}


def test_every_file_has_them(tmp_path: Path) -> None:
    program = steered_program()
    found = from_bytes(to_bytes(program)).operators
    assert set(found.values()) == {n.op.name for f in program.functions.values() for n in f.nodes}
    assert all(op_by_code(code).name == name for code, name in found.items())


def test_older_files_have_none(repo: Path) -> None:
    assert read_file(repo / "tests" / "golden" / "0.5.0.samara").operators == {}


def test_an_operator_of_a_newer_samara_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from samara.exporter.ir import file_function
    from samara.exporter.types import UnsupportedError

    def lacks_abs(code: int) -> object:
        if code == NAMED["abs"].code:
            raise UnsupportedError(f"no operator {code}")
        return op_by_code(code)

    data = to_bytes(steered_program())
    monkeypatch.setattr(file_function, "op_by_code", lacks_abs)
    with pytest.raises(ModelFormatError, match="has no operator 'abs'") as caught:
        from_bytes(data)
    assert caught.value.fix == "update samara"
    assert caught.value.node == "magnitude"
