# SPDX-License-Identifier: Apache-2.0
"""`samara launch`: the options reach the launcher, and its report becomes a message and an exit status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from samara.exporter.launcher import launching
from samara.exporter.launcher.launching import LaunchReport

Samara = Callable[..., Result]
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("ranks", "hostfile", "threads", "timeout", "mpiexec")),
    "module": False,
    "hosts": (),
    "restarts": 0,
    "prefix": True,
}
# words -> program, what differs from the defaults
CALLS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("-n 2 train.py", ["train.py"], {"ranks": 2}),
    ("train.py -n 3 --restarts", ["train.py", "-n", "3", "--restarts"], {}),
    (
        "-n 8 --hosts a:4,b -m p.train --lr 1",
        ["p.train", "--lr", "1"],
        {"ranks": 8, "hosts": ["a:4", "b"], "module": True},
    ),
    (
        "--hostfile h --threads 2 --timeout 1.5 a.py",
        ["a.py"],
        {"hostfile": "h", "threads": 2, "timeout": 1.5},
    ),
    (
        "--restarts 3 --mpiexec /m --no-prefix a.py",
        ["a.py"],
        {"restarts": 3, "mpiexec": "/m", "prefix": False},
    ),
]


def test_options_and_reports(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[list[str], dict[str, Any]]] = []
    report = LaunchReport(0)

    def launch(program: list[str], *, say: Callable[[str], None], **options: Any) -> LaunchReport:
        calls.append((program, options))
        say("restart 1 of 3")
        return report

    monkeypatch.setattr(launching, "launch", launch)
    for words, program, options in CALLS:
        result = samara("launch", *words.split())
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "restart 1 of 3\n")
        found_program, found = calls.pop()
        assert found_program == program
        found["hosts"] = found["hosts"] and list(found["hosts"])
        assert found == DEFAULTS | options, words
    report = LaunchReport(137, "rank 1 was killed", "give it less work")
    result = samara("launch", "-n", "2", "train.py")
    assert result.exit_code == 137
    assert result.stderr.endswith("samara: rank 1 was killed\n  fix: give it less work\n")


def test_wrong_usage_is_2(samara: Samara) -> None:
    for words in ("", "-n 0 a.py", "--threads 0 a.py", "--restarts -1 a.py", "--nonsense a.py"):
        result = samara("launch", *words.split())
        assert result.exit_code == 2, words
        assert "Usage: " in result.stderr
    result = samara("launch", "-n", "2", "absent.py")
    assert result.exit_code == 2
    assert "there is no script absent.py" in result.stderr


def test_help_shows_examples(samara: Samara) -> None:
    text = samara("launch", "--help").output
    assert "  samara launch -n 2 train.py --epochs 3" in text
    assert "--hostfile" in text
