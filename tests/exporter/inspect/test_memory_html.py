# SPDX-License-Identifier: Apache-2.0
"""The drawn arena on the inspect page: every piece in its place, nothing unescaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

import samara
from samara.exporter.inspect.contents import inspect
from samara.exporter.inspect.html import html_page
from samara.exporter.inspect.memory_html import memory_section
from samara.exporter.inspect.memory_report import MemoryReport
from samara.exporter.ir import ProgramBuilder

NAME = "<b>&\"product'"


def _report(folder: Path) -> MemoryReport:
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.op("exp", b.input("x", "f32", [16, 300]))
    y = b.op("matmul", x, b.const(np.ones((300, 64), np.float32)), name=NAME)
    b.finish([b.op("softmax", y, axis=-1)], ["y"])
    samara.export(maker.finish(["main"]), folder / "m.samara", optimize=False)
    return inspect(folder / "m.samara").memory


def test_pieces_are_drawn_to_scale(tmp_path: Path) -> None:
    memory = _report(tmp_path)
    (plan,) = memory.plans
    section = memory_section(memory)
    (drawing,) = re.findall(r"<svg.*?</svg>", section, re.DOTALL)
    svg = ET.fromstring(drawing)
    space = {"s": "http://www.w3.org/2000/svg"}
    groups = svg.findall("s:g", space)
    assert len(groups) == len(plan.pieces)
    scales = set()
    for group, piece in zip(groups, plan.pieces, strict=True):
        title, box = group.find("s:title", space), group.find("s:rect", space)
        assert title is not None
        assert box is not None
        assert title.text is not None
        assert title.text.startswith(f"{piece.kind} {piece.name}: {piece.size_bytes:,} bytes")
        if piece.size_bytes > 1000:
            scales.add(round(float(box.get("height", "0")) / piece.size_bytes * 1e4))
        assert float(box.get("width", "0")) > 0
    assert len(scales) == 1
    assert svg.find("s:polyline", space) is not None


def test_names_are_escaped_and_nothing_is_fetched(tmp_path: Path) -> None:
    memory = _report(tmp_path)
    section = memory_section(memory)
    assert NAME not in section
    assert "&lt;b&gt;&amp;" in section
    page = html_page(inspect(tmp_path / "m.samara"))
    assert section.partition("</svg>")[0][:200] in page
    assert "src=" not in page
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_contract_is_a_table(tmp_path: Path) -> None:
    memory = _report(tmp_path)
    section = memory_section(memory)
    assert f'<td class="r">{memory.contract[0].arena:,}</td>' in section
    assert "scratch per thread" in section
