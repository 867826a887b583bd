# SPDX-License-Identifier: Apache-2.0
"""What a rank knows of its launcher, and what it tells it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.launcher import launched

NAMES = (
    *(*launched._RANK, *launched._SIZE, *launched._LOCAL_SIZE, *launched._LOCAL_RANK),
    launched.LAUNCHER,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The launcher's folder."""
    monkeypatch.setenv(launched.FOLDER, str(tmp_path))
    return tmp_path


# environment -> rank, size, ranks of this host, the rank's number among these
PLACES: list[tuple[dict[str, str], tuple[int, int, int, int]]] = [
    ({}, (0, 1, 1, 0)),
    ({"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALNRANKS": "4"}, (3, 8, 4, 3)),
    (
        {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "0"},
        (3, 4, 2, 0),
    ),
    (
        {
            "OMPI_COMM_WORLD_RANK": "2",
            "OMPI_COMM_WORLD_SIZE": "6",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "3",
            "SLURM_PROCID": "0",
            "SLURM_NTASKS": "1",
        },
        (2, 6, 3, 2),
    ),
    ({"PMIX_RANK": "1", "SLURM_NTASKS": "2"}, (1, 2, 2, 1)),
    ({"SLURM_PROCID": "5", "SLURM_NTASKS": "x"}, (5, 1, 1, 0)),
]


def test_the_numbers_of_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for environment, numbers in PLACES:
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        found = (
            launched.rank_from_environment(),
            launched.size_from_environment(),
            launched.local_size_from_environment(),
        )
        assert found == numbers[:3], environment
        names = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK")
        told = launched.names_of_torchrun()
        assert tuple(int(told[name]) for name in names) == numbers, environment


def test_whether_the_launcher_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(launched.LAUNCHER, raising=False)
    assert not launched.launcher_is_gone()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as launcher:
        start = launched.start_time(launcher.pid)
        assert launched.is_running(launcher.pid, start)
        assert launched.is_running(launcher.pid, "")
        assert not launched.is_running(launcher.pid, "1")  # its number belonged to another process
        monkeypatch.setenv(launched.LAUNCHER, f"{launched.place()}:{launcher.pid}:{start}")
        assert not launched.launcher_is_gone()
        launcher.kill()
        os.waitid(os.P_PID, launcher.pid, os.WEXITED | os.WNOWAIT)
        assert launched.launcher_is_gone()  # though nobody has waited for it
    assert not launched.is_running(launcher.pid, "")
    monkeypatch.setenv(launched.LAUNCHER, f"elsewhere:{launcher.pid}:{start}")
    assert not launched.launcher_is_gone()
    monkeypatch.setenv(launched.LAUNCHER, launched.identity())
    assert not launched.launcher_is_gone()


def _raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001
        return raised


def test_notes(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    launched.note_started(1, 2)
    launched.note_failure(1, _raised(ValueError("x" * 5000)))
    launched.note_failure(1, _raised(KeyError("a second error does not count")))
    launched.note_failure(0, _raised(SystemExit("stop")))
    launched.note_finished(2)
    notes = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    assert sorted(notes) == ["0.failed.json", "1.failed.json", "1.started.json", "2.finished.json"]
    started, failed, left = (notes[f"{n}.json"] for n in ("1.started", "1.failed", "0.failed"))
    assert (started["kind"], started["rank"], started["size"]) == ("started", 1, 2)
    assert (started["pid"], started["place"]) == (os.getpid(), launched.place())
    assert (failed["type"], failed["message"], failed["status"]) == ("ValueError", "x" * 2000, 1)
    assert (failed["module"], Path(failed["file"]).name) == ("builtins", Path(__file__).name)
    assert (left["type"], left["message"], left["status"]) == ("SystemExit", "", 1)
    # Without a launcher nothing is told; on another host stderr carries the note.
    monkeypatch.delenv(launched.FOLDER)
    launched.note_finished(3)
    assert len(list(folder.iterdir())) == 4
    monkeypatch.setenv(launched.FOLDER, str(folder / "elsewhere"))
    launched.note_finished(3)
    line = capfd.readouterr().err
    assert line.startswith(launched.MARK)
    assert json.loads(line.removeprefix(launched.MARK))["rank"] == 3


def test_the_line_of_an_error(tmp_path: Path) -> None:
    """It is the user's last line, not one of a library; of a file that does not compile, that in the file."""
    with pytest.raises(ValueError) as caught:
        json.loads("{")
    file, line = launched._place_of(caught.value)
    assert file == __file__
    assert line == test_the_line_of_an_error.__code__.co_firstlineno + 3
    with pytest.raises(SyntaxError) as broken:
        compile("x = (\n", "train.py", "exec")
    assert launched._place_of(broken.value) == ("train.py", 1)
    assert launched._place_of(ValueError()) == ("", 0)


def test_exit_statuses() -> None:
    for code, status in ((None, 0), (0, 0), (3, 3), (256 + 7, 7), (-1, 255), ("text", 1), (2.5, 1)):
        assert launched.exit_status(SystemExit(code)) == status


def test_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launched.hold_pipe(4)
    before = len(os.listdir("/dev/fd"))
    assert stat.S_ISFIFO((folder / "4.pipe").stat().st_mode)
    launched.hold_pipe(4)  # it is there
    monkeypatch.delenv(launched.FOLDER)
    launched.hold_pipe(5)
    assert len(os.listdir("/dev/fd")) == before
    assert [path.name for path in folder.iterdir()] == ["4.pipe"]


HOOKS = """
import importlib.util, os, sys, threading
spec = importlib.util.spec_from_file_location("launched", sys.argv[1])
launched = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launched)
def abort(status):
    print("abort", status, flush=True)
launched.install(7, lambda status: print("not this one"))
launched.install(5, abort)
launched.flush_with(lambda: print("flushed", flush=True))
def fail():
    raise ValueError("bad")
def leave():
    raise SystemExit(3)
def stop():
    raise KeyboardInterrupt
{how}
print("went on")
"""
# how -> exit status, stdout
HOOKED = {
    "fail()": (1, ["flushed", "abort 1"]),
    "stop()": (130, ["flushed", "abort 130"]),
    "t = threading.Thread(target=fail); t.start(); t.join(); os.read(0, 1)": (1, ["flushed", "abort 1"]),
    "t = threading.Thread(target=leave); t.start(); t.join()": (0, ["went on"]),
}  # fmt: skip


def test_hooks_for_errors(tmp_path: Path) -> None:
    for how, (status, printed) in HOOKED.items():
        done = subprocess.run(
            [sys.executable, "-c", HOOKS.format(how=how), launched.__file__],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={launched.FOLDER: str(tmp_path)},
        )
        assert (done.returncode, done.stdout.split("\n")[:-1]) == (status, printed), how
        assert ("ValueError: bad" in done.stderr) == (status == 1)
        assert ("rank 5 raised an error:" in done.stderr) == (status == 1)
        assert (tmp_path / "5.failed.json").exists() == (status == 1)
        (tmp_path / "5.failed.json").unlink(missing_ok=True)


def test_the_watch(tmp_path: Path) -> None:
    """A rank ends soon after its parent, though it does nothing itself."""
    code = (
        "import os, sys, time\n"
        "sys.path.insert(0, sys.argv[1])\nimport launched\n"
        "if os.fork():\n    os.read(0, 1)\n    os._exit(0)\n"
        "launched.watch()\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(Path(launched.__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        rank = int(parent.stdout.readline())
        gone = threading.Event()
        assert not gone.wait(0.1)
        assert launched.start_time(rank)
        parent.kill()
        parent.wait()
        assert parent.stdout.read() == b""  # the rank held the other end
    deadline = time.monotonic() + 5  # it has closed its files, and is about to be gone
    while launched.start_time(rank):
        assert time.monotonic() < deadline
        time.sleep(0.01)
