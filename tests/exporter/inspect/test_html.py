# SPDX-License-Identifier: Apache-2.0
"""The page: complete, self-contained, and nothing from a model gets out of its text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.inspect.contents import family_of, inspect
from samara.exporter.inspect.html import _FAMILIES, html_page
from samara.exporter.inspect.page import asset
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.ops import all_ops


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


def _data(page: str) -> dict[str, Any]:
    """What the page's script draws."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return dict(json.loads(text))


def test_graph_has_every_node_and_tensor(samara_path: Path) -> None:
    report = inspect(samara_path)
    data = _data(html_page(report))
    (f,) = data["functions"]
    assert [n["name"] for n in f["nodes"]] == [n.name for n in report.main.nodes]
    assert len(f["values"]) == len(report.main.nodes) + 1
    assert f["values"][f["inputs"][0]][0] == "image"
    for n, row in zip(f["nodes"], report.main.nodes, strict=True):
        assert [f["values"][v][0] for v in n["out"]] == [t.name for t in row.outputs]
        assert n["kernel"] == row.kernel
        assert data["families"][n["family"]] == row.family
        held = sum(data["constants"][c] for c in n["consts"])
        sizes = {c.name: c.size_bytes for c in report.memory.constants}
        assert held == sum(sizes[name] for name in set(row.inputs) if name in sizes)
    assert sum(n["share"] for n in f["nodes"]) == pytest.approx(
        sum(n.share or 0 for n in report.main.nodes), abs=1e-4
    )


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
        assert tag not in ("link", "img", "iframe", "object")
        assert "src" not in attrs
        assert not any(name.startswith("on") for name in attrs)
        assert (attrs.get("href") or "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page


def test_no_script_but_its_own_runs(samara_path: Path) -> None:
    page = html_page(inspect(samara_path))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    (policy,) = [a["content"] for t, a in _tags(page) if t == "meta" and "http-equiv" in a]
    known = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert len(scripts) == 1
    assert policy is not None
    assert f"default-src 'none'; script-src 'sha256-{known}';" in policy


def test_every_family_has_a_colour_in_both_themes() -> None:
    families = {family_of(op) for op in all_ops()}
    for name in families | set(_FAMILIES):
        assert asset("page.css").count(f".k-{name}{{") == 2, name
    assert families <= set(_FAMILIES)


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
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "<c>" not in page
    assert page.count("</script>") == 2
    assert page.count("</title>") == 1 + page.count("<title>") - 1
    assert _data(page)["functions"][0]["nodes"][0]["name"] == f"h{evil}"
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


def test_state_is_drawn(counter_path: Path) -> None:
    f = _data(html_page(inspect(counter_path)))["functions"][0]
    assert {f["values"][v][0] for v in f["inputs"]} == {"total", "x"}
    assert {name for name, _ in f["outputs"]} == {"y", "total_out"}


def test_file_that_was_not_run(samara_path: Path) -> None:
    page = html_page(inspect(samara_path, run=False))
    assert "not run here" in page


def test_branches_have_their_paths(steered_path: Path) -> None:
    page = html_page(inspect(steered_path, run=False))
    assert "main/fast/body</code>, at <code>choose/then/repeat/body</code>" in page
