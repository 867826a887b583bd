# SPDX-License-Identifier: Apache-2.0
"""The notebook view of a program."""

from __future__ import annotations

import numpy as np
from tests.pages import EVIL, read

from samara.exporter.ir import Program, ProgramBuilder


def _program(name: str) -> Program:
    made = ProgramBuilder()
    f = made.function(name)
    x = f.input(name, "f32", ["n", 300])
    weights = f.const(np.ones((300, 256), np.float32))
    y = f.op("matmul", x, weights)
    f.finish([f.op("add", f.op("matmul", x, weights), y)], [f"{name}.out"])
    return made.finish([name])


def test_inputs_outputs_weights_and_operators() -> None:
    texts = read(_program("main")._repr_html_())
    assert texts[0] == "Program main"
    assert texts[texts.index("constants") + 1] == "300 KiB"  # shared by two nodes
    assert texts[texts.index("nodes") + 1] == "3"
    at = texts.index("input")
    assert texts[at : at + 4] == ["input", "main", "float32", "n, 300"]
    assert {"matmul", "add"} <= set(texts)


def test_names_are_escaped() -> None:
    assert f"{EVIL}.out" in read(_program(EVIL)._repr_html_())
