# SPDX-License-Identifier: Apache-2.0
"""Tables and reports for notebooks, and what a notebook shows of a session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.pages import EVIL, read

import samara
from samara.exporter.ir import ProgramBuilder, save_program
from samara.pybridge.notebook import html_report, html_table


def test_texts_are_escaped() -> None:
    table = html_table((EVIL, "n"), [(EVIL, "1"), ("b", "2")], right={1}, ids=(EVIL, "r1"))
    assert read(table) == [EVIL, "n", EVIL, "1", "b", "2"]
    assert table.count('<td class="r">') == 2
    assert read(html_report(EVIL, {EVIL: EVIL}, table))[:3] == [EVIL, EVIL, EVIL]
    assert "<dl" not in html_report("t", {})


def _session(path: Path, name: str) -> samara.Session:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("neg", f.input(name, "f32", ["n", 3]))], ["y"])
    save_program(program.finish(["main"]), path)
    return samara.Session(path, threads=2)


def test_a_session_shows_what_it_takes_and_gives(tmp_path: Path) -> None:
    session = _session(tmp_path / "m.samara", EVIL)
    texts = read(session._repr_html_())
    assert f"Session of {tmp_path / 'm.samara'}" in texts
    said = ["input", EVIL, "float32", "n, 3", "output", "y", "float32", "n, 3"]
    assert texts[texts.index("input") :] == said
    assert texts[texts.index("threads") + 1] == "2"
    assert "arena" in texts
    session.run({EVIL: np.zeros((4, 3), np.float32)})
    read(session._repr_html_())


def test_a_closed_or_busy_session_is_shown_too(tmp_path: Path) -> None:
    session = _session(tmp_path / "m.samara", "x")
    with session._lock:
        assert "arena" not in read(session._repr_html_())
    session.close()
    texts = read(session._repr_html_())
    assert texts[0].endswith(", closed")
    assert "arena" not in texts
