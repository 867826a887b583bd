# SPDX-License-Identifier: Apache-2.0
"""Exact programs: what says so, which nodes may be in them, and what sessions do with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.export import export
from samara.exporter.inspect.contents import inspect
from samara.exporter.ir import Program, open_program
from samara.exporter.ir.accuracy import has_exact_form, is_exact, with_accuracy
from samara.exporter.types import ArgumentError, SamaraError, UnsupportedError


def _program() -> Program:
    samara.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(24, 40), nn.SiLU(), nn.LayerNorm(40), nn.Linear(40, 7), nn.Softmax(-1)
    )
    return samara.trace(net, samara.ones(3, 24), input_names=["x"], output_names=["y"])


@pytest.fixture
def feeds() -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(0).normal(size=(3, 24)).astype(np.float32)}


def test_the_file_says_it(tmp_path: Path) -> None:
    report = export(_program(), tmp_path / "m.samara", accuracy="exact")
    assert is_exact(report.program)
    again = open_program(tmp_path / "m.samara")
    assert is_exact(again)
    bounded = export(again, tmp_path / "b.samara", accuracy="bounded").program
    assert not is_exact(bounded)
    assert not is_exact(with_accuracy(again, "bounded"))
    assert is_exact(with_accuracy(again, "default"))
    promises = {n.promise for n in inspect(tmp_path / "m.samara").functions[0].nodes}
    assert promises == {"exact"}
    assert "bounded" in {n.promise for n in inspect(tmp_path / "b.samara").functions[0].nodes}


def test_the_interpreter_and_all_sessions_give_the_same_bits(
    tmp_path: Path, feeds: dict[str, np.ndarray]
) -> None:
    program = export(_program(), tmp_path / "m.samara", accuracy="exact").program
    want = program.run(feeds)["y"]
    for isa in (None, "scalar"):
        for threads in (1, 2):
            session = samara.Session(tmp_path / "m.samara", isa=isa, threads=threads)
            assert session.run(feeds)["y"].tobytes() == want.tobytes()
            kernels = {row.kernel for row in _profiled(session, feeds)}
            assert any("exact" in k for k in kernels)


def _profiled(session: samara.Session, feeds: dict[str, np.ndarray]) -> list[samara.ProfileRow]:
    session.set_profiling(True)
    session.run(feeds)
    return session.profile()


def test_sessions_choose(tmp_path: Path, feeds: dict[str, np.ndarray]) -> None:
    export(_program(), tmp_path / "e.samara", accuracy="exact")
    export(_program(), tmp_path / "b.samara")
    exact = samara.Session(tmp_path / "e.samara").run(feeds)["y"]
    on = samara.Session(tmp_path / "b.samara", accuracy="exact").run(feeds)["y"]
    assert on.tobytes() == exact.tobytes()
    for accuracy in ("bounded", "bfloat16", "float16"):
        off = samara.Session(tmp_path / "e.samara", accuracy=accuracy)
        assert not any("exact" in row.kernel for row in _profiled(off, feeds)), accuracy


def test_a_device_refuses(tmp_path: Path) -> None:
    export(_program(), tmp_path / "e.samara", accuracy="exact")
    mirror = Path(__file__).parents[3] / "build/dev/libsamara_mirror.so"
    with pytest.raises(UnsupportedError, match="exact session runs on the CPU only"):
        samara.Session(tmp_path / "e.samara", backend=str(mirror))


def test_nodes_without_an_exact_form_are_listed(tmp_path: Path) -> None:
    program = samara.trace(
        lambda x: (x.sin() + x.exp()).cos(), samara.ones(3), input_names=["x"], output_names=["y"]
    )
    forms = {n.op.name: has_exact_form(n) for n in program.main.nodes}
    assert forms == {"sin": False, "exp": True, "add": True, "cos": False}
    with pytest.raises(UnsupportedError, match="2 nodes have no exact form") as found:
        export(program, tmp_path / "m.samara", accuracy="exact")
    assert "sin of float32" in str(found.value)
    assert "cos of float32" in str(found.value)
    assert found.value.fix
    assert not (tmp_path / "m.samara").exists()


def test_an_old_runtime_and_an_unknown_accuracy_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"0\.16\.0"):
        export(_program(), tmp_path / "m.samara", accuracy="exact", target_runtime="0.15.0")
    with pytest.raises((ArgumentError, SamaraError), match="there is no accuracy"):
        export(_program(), tmp_path / "m.samara", accuracy="perfect")  # type: ignore[arg-type]
