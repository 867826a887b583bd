# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: search, mouse and keyboard, themes, 1,000 nodes; nothing in the console."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.inspect.bench_html import bench_page
from samara.exporter.inspect.contents import inspect
from samara.exporter.inspect.html import html_page
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure.bench import bench
from samara.exporter.opening import opened

pytestmark = pytest.mark.extended

_PATIENCE = 60.0  # seconds
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Browser:
    """A headless Chromium that is spoken to over a pipe, in the DevTools protocol."""

    def __init__(self, program: str, profile: Path) -> None:
        asks, self._ask = os.pipe()
        self._hear, answers = os.pipe()
        # The browser reads from descriptor 3 and writes to 4, so that these must be others.
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (asks, answers)]
        os.close(asks)
        os.close(answers)
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []
        flags = ["--headless", "--disable-gpu", *alone, f"--user-data-dir={profile}"]
        opened = f'exec "$0" "$@" 3<&{given[0]} 4>&{given[1]}'
        flags += ["--remote-debugging-pipe", "--window-size=1400,1000", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", opened, program, *flags],
            pass_fds=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in given:
            os.close(fd)
        self._number, self._left, self._session = 0, b"", ""
        self.console: list[str] = []

    def attach(self) -> None:
        """Wait until the browser answers, and listen to its first tab."""
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._ask)
        os.close(self._hear)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._ask, json.dumps(asked).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                return dict(said["result"])

    def _next(self) -> dict[str, Any]:
        """The next message; what it says of the console is kept."""
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._hear], [], [], _PATIENCE)
            assert ready, f"no answer within {_PATIENCE} s"
            got = os.read(self._hear, 1 << 20)
            assert got, "the browser ended"
            self._left += got
        text, _, self._left = self._left.partition(b"\0")
        said: dict[str, Any] = json.loads(text)
        if said.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.console.append(json.dumps(said["params"]))
        if said.get("method") == "Log.entryAdded":
            self.console.append(said["params"]["entry"]["text"])
        return said

    def open(self, path: Path, fragment: str = "", *, dark: bool = False) -> None:
        """Go to a page and wait until it is loaded."""
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", features=theme)
        self._call("Page.navigate", url="about:blank")
        while self._next().get("method") != "Page.loadEventFired":
            pass
        self._call("Page.navigate", url=f"{path.as_uri()}{fragment}")
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def run(self, script: str) -> Any:
        """The value of an expression in the page, or what its promise gives."""
        got = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse in the upper left of the element."""
        # The mouse hits what the last frame shows.
        x, y = self.run(
            f"(async e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();"
            " for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);"
            " return [b.left + Math.min(12, b.width / 2), b.top + Math.min(12, b.height / 2)]; })"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def boxes(self, kind: str = "item") -> list[str]:
        """What the boxes of the picture say."""
        labels = f"[...document.querySelectorAll('.{kind}')].map(e => e.getAttribute('aria-label'))"
        return list(self.run(labels))


@pytest.fixture(scope="module")
def browser(
    missing: Callable[[str, str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    program = next((path for n in _NAMES if (path := shutil.which(n))), None)
    if program is None:
        missing("browser", "no Chromium is installed")
        raise AssertionError  # missing never returns
    made = Browser(program, tmp_path_factory.mktemp("profile"))
    try:
        made.attach()
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def _quiet(browser: Browser) -> Iterator[None]:
    """No page says anything in the console, errors and what the policy refuses among it."""
    browser.console.clear()
    yield
    assert browser.console == []


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


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The page of a model of 30 layers with four nodes each."""
    _model(tmp_path / "m.samara", 30)
    path = tmp_path / "m.html"
    path.write_text(html_page(inspect(tmp_path / "m.samara")), encoding="utf-8")
    return path


def _item(name: str) -> str:
    return f'.item[aria-label*="{name}"]'


def test_search_opens_a_node_and_centres_it(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert any(box.startswith("layer17, 4 nodes") for box in browser.boxes())
    assert not any("layer17.neg" in box for box in browser.boxes())
    browser.click("input[type=search]")
    for letter in "layer17.neg":
        browser.key(letter)
    browser.key("Enter")
    (chosen,) = browser.boxes("item.on")
    assert chosen.startswith("neg, layer17.neg")
    assert not any("layer16.neg" in box for box in browser.boxes())
    off = browser.run(
        "(() => { const v = document.querySelector('.view').getBoundingClientRect(),"
        " b = document.querySelector('.item.on').getBoundingClientRect();"
        " return [(b.left + b.right - v.left - v.right) / 2, (b.top + b.bottom - v.top - v.bottom) / 2,"
        " v.width, v.height]; })()"
    )
    assert abs(off[0]) < off[2] / 2
    assert abs(off[1]) < off[3] / 2
    assert "layer17.neg" in browser.run("document.querySelector('.about').innerText")


def test_the_address_can_name_what_is_searched(browser: Browser, page: Path) -> None:
    browser.open(page, "#search=layer3.exp")
    assert [b.split(",")[1].strip() for b in browser.boxes("item.on")] == ["layer3.exp"]
    assert "1 of 1" in browser.run("document.querySelector('.found').innerText")


def test_groups_open_and_fold_by_mouse_and_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    folded = len(browser.boxes())
    browser.click(_item("layer5, 4 nodes"))
    assert any("layer5.exp" in box for box in browser.boxes())
    browser.key("Enter")  # the group has the focus
    assert len(browser.boxes()) == folded
    browser.key("ArrowDown")
    assert "layer6" in browser.run("document.activeElement.getAttribute('aria-label')")
    browser.key("Enter")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    assert "layer6." in browser.run("document.activeElement.getAttribute('aria-label')")
    browser.key("Escape")  # folds the group of the node
    assert len(browser.boxes()) == folded
    browser.key("/")
    assert browser.run("document.activeElement.type") == "search"


def test_zoom_and_fit(browser: Browser, page: Path) -> None:
    browser.open(page)
    width = "Number(document.querySelector('.view svg').getAttribute('width'))"
    before = browser.run(width)
    browser.click('button[title="Zoom in"]')
    assert browser.run(width) == pytest.approx(1.25 * before, rel=0.01)
    browser.click('button[title="Show all of the picture"]')
    assert browser.run(width) == before


def test_both_themes_can_be_read(browser: Browser, page: Path) -> None:
    ink = "getComputedStyle(document.querySelector('.view text')).fill"
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for dark in (False, True):
        browser.open(page, dark=dark)
        seen.append([sum(map(int, re.findall(r"\d+", browser.run(x)))) for x in (ink, ground)])
    (light_ink, light_ground), (dark_ink, dark_ground) = seen
    assert light_ground - light_ink > 400
    assert dark_ink - dark_ground > 400


def test_a_thousand_nodes_open_within_a_second(browser: Browser, tmp_path: Path) -> None:
    _model(tmp_path / "m.samara", 250)
    page = tmp_path / "m.html"
    page.write_text(html_page(inspect(tmp_path / "m.samara", run=False)), encoding="utf-8")
    browser.open(page)
    assert float(browser.run("document.documentElement.dataset.drawn")) < 1000  # milliseconds
    browser.open(page, "#open")
    names = "".join(browser.boxes())
    assert all(f"layer{i}.sum" in names for i in range(250))


def test_an_evil_name_stays_text(browser: Browser, tmp_path: Path) -> None:
    evil = '</script><img src=x onerror=console.log(1)><script>console.log(2)</script>"'
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input(evil, "f32", [4])
    f.finish([f.op("neg", x, name=f"m.{evil}")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    page = tmp_path / "m.html"
    page.write_text(html_page(inspect(tmp_path / "m.samara")), encoding="utf-8")
    browser.open(page)
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert any("neg" in box for box in browser.boxes())


def test_a_table_sorts(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    column = "[...document.querySelector('table.sortable').tBodies[0].rows].map(r => +r.cells[0].textContent)"
    assert browser.run(column) == list(range(120))
    browser.click("table.sortable th button")
    assert browser.run(column) == list(range(119, -1, -1))
    browser.click("table.sortable th button")
    assert browser.run(column) == list(range(120))


def test_a_module_of_a_benchmark_is_made_wide(browser: Browser, tmp_path: Path) -> None:
    _model(tmp_path / "m.samara", 3)
    with opened(tmp_path / "m.samara") as file:
        report = bench(file, runs=2, node="")
    (tmp_path / "b.html").write_text(bench_page(report), encoding="utf-8")
    browser.open(tmp_path / "b.html")
    frames = "[...document.querySelectorAll('.frame')].filter(e => !e.hidden).length"
    assert browser.run(frames) == 1 + 3 + 12
    browser.click('.frame button[title^="layer1:"]')
    assert browser.run(frames) == 1 + 1 + 4
    browser.click('.frame button[title^="layer1:"]')
    assert browser.run(frames) == 1 + 3 + 12
