# SPDX-License-Identifier: Apache-2.0
"""`samara launch`: options become arguments, and a report becomes a message and an exit status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from samara.exporter.frontend.distributed.launching import LaunchReport

Samara = Callable[..., Result]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the library's function gets; `report` is what it returns."""
    found: dict[str, Any] = {"report": LaunchReport(0)}

    def launch(program: list[str], **options: Any) -> LaunchReport:
        found.update(options, program=program)
        return found["report"]  # type: ignore[no-any-return]

    monkeypatch.setattr("samara.exporter.frontend.distributed.launching.launch", launch)
    return found


def test_all_after_the_script_belongs_to_it(samara: Samara, given: dict[str, Any]) -> None:
    done = samara("launch", "-n", 2, "train.py", "-n", 7, "--help", "--", "x")
    assert done.exit_code == 0, done.output
    assert given["program"] == ["train.py", "-n", "7", "--help", "--", "x"]
    assert (given["ranks"], given["module"], given["prefix"]) == (2, False, True)
    assert (given["hosts"], given["restarts"], given["timeout"]) == ((), 0, None)
    options = (
        "--hosts a:2,b --hosts c --threads 3 --timeout 9.5 --restarts 2 --mpiexec m --no-prefix"
    )
    assert samara("launch", *options.split(), "-m", "package.train").exit_code == 0
    assert given["program"] == ["package.train"]
    assert (given["ranks"], given["module"], given["prefix"]) == (None, True, False)
    assert (given["hosts"], given["threads"]) == (["a:2", "b", "c"], 3)
    assert (given["timeout"], given["restarts"], given["mpiexec"]) == (9.5, 2, "m")
    assert samara("launch", "--hostfile", "h", "train.py").exit_code == 0
    assert given["hostfile"] == "h"


def test_a_failure_is_one_message(samara: Samara, given: dict[str, Any]) -> None:
    given["report"] = LaunchReport(137, "rank 1 was killed", "look at dmesg")
    done = samara("launch", "-n", 2, "train.py")
    assert done.exit_code == 137
    assert done.stderr == "samara: rank 1 was killed\n  fix: look at dmesg\n"
    assert done.stdout == ""


def test_wrong_usage(samara: Samara) -> None:
    for words in (["launch"], ["launch", "-n", 0, "x.py"], ["launch", "-n", 2, "absent.py"]):
        assert samara(*words).exit_code == 2, words
    done = samara("launch", "-n", 2, "absent.py")
    assert done.stderr.startswith("samara: there is no script absent.py\n")


def test_help(samara: Samara) -> None:
    assert "  samara launch -n 2 train.py" in samara("--help").output
    assert "  samara launch -n 2 train.py --epochs 3" in samara("launch", "--help").output
