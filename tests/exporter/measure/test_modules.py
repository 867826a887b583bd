# SPDX-License-Identifier: Apache-2.0
"""Modules of nodes, from the source map or from the names of the author's nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samara.exporter.ir import ProgramBuilder
from samara.exporter.ir.program import Source
from samara.exporter.measure.modules import module_path


@pytest.mark.parametrize(
    ("name", "source", "path"),
    [
        ("layers.0.conv/conv", Source("net.py", 3, "layers.0.conv"), "layers/0/conv"),
        ("block1.add", Source(detail="block1.project (Conv)"), "block1"),
        ("x", Source(detail="/layer1/conv/Conv (Conv)"), "layer1/conv"),
        ("fire2/squeeze1x1_2", Source(detail="fire2/squeeze (Conv)"), "fire2"),
        ("onnx::Slice_367", Source(detail="Gather_72 (Gather)"), ""),
        ("onnx::Slice_367.a", None, ""),
        ("247", None, ""),
        ("a.b.c", None, "a/b"),
    ],
)
def test_module_path(name: str, source: Source | None, path: str) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("neg", f.input("x", "f32", [2]), name="n")], ["y"])
    (node,) = program.finish(["main"]).main.nodes
    assert module_path(replace(node, name=name, source=source)) == path
