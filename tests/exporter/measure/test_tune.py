# SPDX-License-Identifier: Apache-2.0
"""Tuning: candidates are measured, winners kept under their key, and sessions take them when asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure import tune as module
from samara.exporter.measure.tune import tune
from samara.exporter.opening import opened
from samara.exporter.types import SamaraError
from samara.pybridge import Model, Session
from samara.pybridge.tuned import tuned_header

FEEDS = {"image": np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}


def ran(path: Path, **options: Any) -> Session:
    """A session that has met its shapes."""
    session = Session(path, threads=1, **options)
    session.run(FEEDS)
    return session


def test_winners_are_stored_and_taken(samara_path: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    out = tmp_path / "deep" / "choices.txt"
    with opened(samara_path) as file:
        report = tune(file, runs=2, out=out, progress=lambda a, b: seen.append((a, b)))
    assert seen == [(1, 2), (2, 2)]
    assert report.path == str(out)
    assert report.tolerances <= 1
    assert report.nodes
    for node in report.nodes:
        assert {node.default, node.winner} <= set(node.microseconds)
        assert len(node.microseconds) > 1
        assert all(us > 0 for us in node.microseconds.values())
    assert report.after_us <= report.before_us
    lines = out.read_text().removeprefix(report.key).splitlines()
    assert lines == [f"{n.function}\t{n.node}\t{n.winner}" for n in report.nodes]
    assert [p.name for p in out.parent.iterdir()] == [out.name]  # nothing half-written stays
    chosen = {c.node: c for c in ran(samara_path, tuned=out).choices() if c.tuned}
    assert {name: c.algorithms[0][0] for name, c in chosen.items()} == {
        n.node: n.winner for n in report.nodes
    }
    assert report.nodes[0].node in report.text()
    assert report.to_json()["nodes"][0]["winner"] == report.nodes[0].winner


def test_the_fastest_wins_by_a_margin(
    samara_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ran(samara_path)
    [node, *_] = [c for c in session.choices() if len(c.algorithms) > 1]
    names = [name for name, _ in node.algorithms]
    for share, winner in ((0.96, names[1]), (0.98, names[0])):
        times = {(node.function, node.node): {names[0]: 10.0, names[1]: 10.0 * share}}
        monkeypatch.setattr(module, "_measured", lambda *_args, found=times: found)
        with opened(samara_path) as file:
            report = tune(file, out=tmp_path / "choices.txt")
        assert {n.node: n.winner for n in report.nodes}[node.node] == winner


def test_the_cache_is_found_again(
    samara_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not any(c.tuned for c in ran(samara_path, tuned=True).choices())
    with opened(samara_path) as file:
        report = tune(file, runs=1)
    assert Path(report.path).is_relative_to(tmp_path / "samara" / "tuned")
    assert any(c.tuned for c in ran(samara_path, tuned=True).choices())
    assert not any(c.tuned for c in ran(samara_path).choices())


def test_wrong_answers_are_not_stored(
    samara_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "difference", lambda _got, _want: 3.0)
    out = tmp_path / "choices.txt"
    with opened(samara_path) as file, pytest.raises(SamaraError, match="change the answers"):
        tune(file, runs=1, out=out)
    assert not out.exists()


def test_a_folder_that_cannot_be_written(samara_path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        opened(samara_path) as file,
        pytest.raises(SamaraError, match="a file of that name is there"),
    ):
        tune(file, runs=1, out=tmp_path / "file" / "choices.txt")


def test_a_model_without_choices(counter_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "choices.txt"
    with opened(counter_path) as file:
        report = tune(file, runs=1, out=out)
    assert report.nodes == ()
    assert out.read_text() == tuned_header(Model(counter_path))


def test_every_algorithm_gives_the_answers(samara_path: Path) -> None:
    plain = Session(samara_path, threads=1)
    want = plain.run(FEEDS)
    header = tuned_header(plain.model)
    for choice in plain.choices():
        for name, _ in choice.algorithms:
            text = f"{header}{choice.function}\t{choice.node}\t{name}\n".encode()
            forced = Session(plain.model, threads=1, tuned=text)
            got = forced.run(FEEDS)
            [taken] = [c for c in forced.choices() if c.node == choice.node]
            assert taken.tuned
            assert taken.algorithms[0][0] == name
            for key, value in want.items():
                np.testing.assert_allclose(got[key], value, rtol=1e-3, atol=1e-4)


def test_inputs_decide_which_branch_is_measured(tmp_path: Path) -> None:
    main = ProgramBuilder().function("main")
    x, deep = main.input("x", "f32", [1, 8, 8, 16]), main.input("deep", "bool", [])
    yes, no = main.child("yes"), main.child("no")
    kernel = np.random.default_rng(0).standard_normal((16, 3, 3, 16)).astype(np.float32)
    geometry: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    branches = [
        (b, [b.op("conv", x, kernel, None, None, name=f"conv_{b.name[-2:]}", **geometry)])
        for b in (yes, no)
    ]
    main.finish(list(main.if_(deep, *branches, name="choose")), ["y"])
    path = tmp_path / "m.samara"
    save_program(main.program.finish(["main"]), path)
    for given, measured in (("true", "then"), ("false", "else")):
        with opened(path) as file:
            report = tune(file, runs=1, out=tmp_path / "t", inputs={"deep": given})
        assert len(report.nodes) == 2
        for node in report.nodes:
            assert bool(node.microseconds) == node.path.startswith(f"choose/{measured}/")
            assert node.winner
        assert "not reached with these inputs" in report.text()
