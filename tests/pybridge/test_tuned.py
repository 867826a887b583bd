# SPDX-License-Identifier: Apache-2.0
"""Files of measured choices: which one a session takes, and which it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.ir import ProgramBuilder, save_program
from samara.pybridge import Model, SamaraError, Session
from samara.pybridge.tuned import ENVIRONMENT, cache_path, tuned_header


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """x [1, 8, 8, 4] through a convolution that can be computed in several ways."""
    import numpy as np

    program = ProgramBuilder()
    f = program.function("main")
    weights = f.const(np.ones((4, 3, 3, 4), np.float32), "w")
    y = f.op(
        "conv",
        f.input("x", "f32", [1, 8, 8, 4]),
        weights,
        name="blur",
        strides=[1, 1],
        dilations=[1, 1],
        pads=[1, 1, 1, 1],
    )
    program.functions["main"] = f.finish([y], ["y"])
    path = tmp_path / "conv.samara"
    save_program(program.finish(["main"]), path)
    return path


def chosen(session: Session) -> tuple[str, bool]:
    [choice] = session.choices()
    return choice.algorithms[0][0], choice.tuned


def test_a_file_the_environment_and_none(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    first = Session(model, threads=1)
    [choice] = first.choices()
    assert (choice.function, choice.node, choice.op) == ("main", "blur", "conv")
    costs = [us for _, us in choice.algorithms]
    assert costs == sorted(costs)
    assert chosen(first) == (choice.algorithms[0][0], False)
    other = choice.algorithms[1][0]
    path = tmp_path / "choices.txt"
    path.write_text(f"{tuned_header(first.model)}main\tblur\t{other}\n")
    assert chosen(Session(model, tuned=path)) == (other, True)
    assert chosen(Session(model, tuned=str(path), accuracy="strict"))[1] is False
    monkeypatch.setenv(ENVIRONMENT, str(path))
    assert chosen(Session(model)) == (other, True)
    assert chosen(Session(model, tuned=False))[1] is False


def test_what_is_for_another_key_is_left(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "choices.txt"
    header = tuned_header(Model(model))
    path.write_text(header.replace("\ncpu ", "\ncpu another ") + "main\tblur\tindirect\n")
    with pytest.warns(UserWarning, match="another model, CPU"):
        assert chosen(Session(model, tuned=path))[1] is False
    path.write_text(header + "main\tblur\tindirect\n")
    with pytest.warns(UserWarning, match="another model, CPU"):
        assert chosen(Session(model, tuned=path, isa="scalar"))[1] is False


def test_a_missing_file_is_an_error(model: Path, tmp_path: Path) -> None:
    with pytest.raises(SamaraError, match="samara tune"):
        Session(model, tuned=tmp_path / "none.txt")
    with pytest.raises(SamaraError, match="samara tune"):
        Session(model, tuned=tmp_path)


def test_the_cache_is_by_key(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    opened = Model(model)
    header = tuned_header(opened)
    assert header != tuned_header(opened, "scalar")
    assert cache_path(header) != cache_path(tuned_header(opened, "scalar"))
    assert cache_path(header).is_relative_to(tmp_path / "cache")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_path(header).is_relative_to(tmp_path / ".cache")
