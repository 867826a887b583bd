# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: no error in the console, search opens a node, 1,000 nodes open fast."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from samara.exporter.inspect.bench_html import bench_page
from samara.exporter.inspect.contents import inspect
from samara.exporter.inspect.html import html_page
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure.bench import bench
from samara.exporter.opening import opened

pytestmark = pytest.mark.extended

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class _Shown:
    """The document after its scripts ran, and what they wrote to the console."""

    document: str
    console: list[str]


Show = Callable[[str], _Shown]


@pytest.fixture
def show(missing: Callable[[str, str], None], tmp_path: Path) -> Show:
    """`show("page.html#search=conv")`: opens a page of the temporary folder."""
    browser = next((path for n in _NAMES if (path := shutil.which(n))), None)
    if browser is None:
        missing("browser", "no Chromium is installed")
        raise AssertionError  # missing never returns

    def run(page: str) -> _Shown:
        assert browser is not None
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []
        flags = ["--headless", "--disable-gpu", *alone, f"--user-data-dir={tmp_path / 'profile'}"]
        flags += [
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--window-size=1400,1000",
        ]
        done = subprocess.run(
            [browser, *flags, "--dump-dom", f"file://{tmp_path}/{page}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return _Shown(done.stdout, said)

    return run


def _model(path: Path, layers: int) -> None:
    """Layers of two branches, in modules `layer0`, `layer1` and so on."""
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", [4])
    for i in range(layers):
        a = f.op("neg", f.op("abs", x, name=f"layer{i}.abs"), name=f"layer{i}.neg")
        x = f.op("add", a, f.op("exp", x, name=f"layer{i}.exp"), name=f"layer{i}.sum")
    f.finish([x], ["y"])
    save_program(program.finish(["main"]), path)


def _boxes(shown: _Shown) -> list[str]:
    return re.findall(r'<g class="item[^>]*aria-label="([^"]*)"', shown.document)


def test_page_draws_search_opens_a_node(show: Show, tmp_path: Path) -> None:
    _model(tmp_path / "m.samara", 30)
    (tmp_path / "m.html").write_text(html_page(inspect(tmp_path / "m.samara")), encoding="utf-8")
    folded = show("m.html")
    assert folded.console == []
    assert not any("layer17.neg" in box for box in _boxes(folded))
    assert any(box.startswith("layer17, 4 nodes") for box in _boxes(folded))
    found = show("m.html#search=layer17.neg")
    assert found.console == []
    assert any(box.startswith("neg, layer17.neg") for box in _boxes(found))
    chosen = re.findall(r'<g class="item on"[^>]*aria-label="([^"]*)"', found.document)
    assert [c.split(",")[1].strip() for c in chosen] == ["layer17.neg"]
    assert not any("layer16.neg" in box for box in _boxes(found))
    assert "1 of 1" in found.document


def test_a_thousand_nodes_open_within_a_second(show: Show, tmp_path: Path) -> None:
    _model(tmp_path / "m.samara", 250)
    page = html_page(inspect(tmp_path / "m.samara", run=False))
    (tmp_path / "m.html").write_text(page, encoding="utf-8")
    for address, most in (("m.html", 1000), ("m.html#open", 4000)):  # milliseconds
        shown = show(address)
        assert shown.console == []
        (drawn,) = re.findall(r'data-drawn="(\d+)"', shown.document)
        assert int(drawn) < most
    names = "".join(_boxes(shown))
    assert all(f"layer{i}.sum" in names for i in range(250))


def test_an_evil_name_stays_text(show: Show, tmp_path: Path) -> None:
    evil = '</script><img src=x onerror=console.log(1)><script>console.log(2)</script>"'
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input(evil, "f32", [4])
    f.finish([f.op("neg", x, name=f"m.{evil}")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    (tmp_path / "m.html").write_text(html_page(inspect(tmp_path / "m.samara")), encoding="utf-8")
    shown = show("m.html")
    assert shown.console == []
    assert "<img" not in shown.document
    assert any("neg" in box for box in _boxes(shown))


def test_page_of_a_benchmark_has_no_errors(show: Show, tmp_path: Path) -> None:
    _model(tmp_path / "m.samara", 3)
    with opened(tmp_path / "m.samara") as file:
        report = bench(file, runs=2, node="")
    (tmp_path / "b.html").write_text(bench_page(report), encoding="utf-8")
    shown = show("b.html")
    assert shown.console == []
    assert shown.document.count('class="frame"') == 1 + 3 + 12
    assert '<th><button type="button">kernel</button></th>' in shown.document
