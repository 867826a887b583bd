# SPDX-License-Identifier: Apache-2.0
"""The page: complete, self-contained, and nothing from a model gets out of its text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from samara.exporter.inspect.contents import inspect
from samara.exporter.inspect.html import html_page
from samara.exporter.ir import ProgramBuilder, save_program


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def _tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


def _pictures(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.S)]


_SVG = "{http://www.w3.org/2000/svg}"


def test_graph_has_a_box_per_node_and_a_line_per_tensor(samara_path: Path) -> None:
    report = inspect(samara_path)
    picture, _ = _pictures(html_page(report))  # and the arena
    nodes = len(report.main.nodes)
    assert len(picture.findall(f".//{_SVG}rect")) == nodes + 2  # input and output
    titles = [t.text for p in picture.findall(f"{_SVG}path") for t in p.findall(f"{_SVG}title")]
    assert len(titles) == nodes + 1
    assert titles[0] == "image"
    links = {a.get("href") for a in picture.findall(f"{_SVG}a")}
    assert links == {f"#f0n{i}" for i in range(nodes)}


def test_table_has_a_row_per_node_that_the_graph_points_at(samara_path: Path) -> None:
    report = inspect(samara_path)
    page = html_page(report)
    ids = {attrs["id"] for tag, attrs in _tags(page) if tag == "tr" and "id" in attrs}
    assert ids == {f"f0n{i}" for i in range(len(report.main.nodes))}
    for node in report.main.nodes:
        assert node.kernel is not None
        assert node.kernel in page


def test_page_needs_nothing_from_outside(samara_path: Path) -> None:
    page = html_page(inspect(samara_path))
    for tag, attrs in _tags(page):
        assert tag not in ("script", "link", "img", "iframe", "object")
        assert "src" not in attrs
        assert not any(name.startswith("on") for name in attrs)
        assert (attrs.get("href") or "#").startswith("#")
    assert "url(" not in page.replace("url(#arrow)", "")
    assert "@import" not in page


@pytest.mark.parametrize("evil", ['"><script>alert(1)</script>', "</title><b>", "a&b<c>'d\""])
def test_names_are_escaped_everywhere(tmp_path: Path, evil: str) -> None:
    program = ProgramBuilder()
    f = program.function(f"main{evil}")
    x = f.input(f"x{evil}", "f32", [f"n{evil}"])
    y = f.op("add", f.op("neg", x, name=f"h{evil}"), 1.0, name=f"y{evil}")
    f.finish([y], [f"out{evil}"])
    done = program.finish([f"main{evil}"], metadata={f"key{evil}": f"value{evil}"})
    save_program(done, tmp_path / "m.samara")
    report = inspect(tmp_path / "m.samara", name=f"file{evil}")
    page = html_page(report)
    assert "<script" not in page
    assert "<b>" not in page
    assert "<c>" not in page
    assert len(_pictures(page)) == 2
    plain = html_page(inspect(_plain(tmp_path), name="file"))
    assert [t for t, _ in _tags(page)] == [t for t, _ in _tags(plain)]


def _plain(folder: Path) -> Path:
    """The same program with names that need no escape."""
    program = ProgramBuilder()
    f = program.function("main")
    y = f.op("add", f.op("neg", f.input("x", "f32", ["n"]), name="h"), 1.0, name="y")
    f.finish([y], ["out"])
    save_program(program.finish(["main"], metadata={"key": "value"}), folder / "plain.samara")
    return folder / "plain.samara"


def test_state_and_bodies_are_drawn(counter_path: Path) -> None:
    page = html_page(inspect(counter_path))
    picture = _pictures(page)[0]
    texts = [t.text for t in picture.findall(f".//{_SVG}text")]
    assert {"total", "x", "y", "total_out"} <= set(texts)
    assert len(picture.findall(f"{_SVG}path")) == 5  # x, total, after twice, more


def test_file_that_was_not_run(samara_path: Path) -> None:
    page = html_page(inspect(samara_path, run=False))
    assert "not run here" in page


def test_branches_have_their_paths(steered_path: Path) -> None:
    page = html_page(inspect(steered_path, run=False))
    assert "main/fast/body</code>, at <code>choose/then/repeat/body</code>" in page
