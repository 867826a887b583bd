# SPDX-License-Identifier: Apache-2.0
"""The rank's side of the launcher: the environment, identities, notes and hooks."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.frontend.distributed import _launched as module


def test_ranks_of_process_managers(monkeypatch: pytest.MonkeyPatch) -> None:
    for environment, wanted in (
        ({}, (0, 1, 1)),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"}, (1, 4, 2)),
        (
            {
                "OMPI_COMM_WORLD_RANK": "3",
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
            },
            (3, 4, 1),
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_PROCID": "0"}, (1, 2, 2)),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6"}, (5, 6, 6)),
        ({"PMI_RANK": "x"}, (0, 1, 1)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", environment)
            found = (
                module.rank_from_environment(),
                module.size_from_environment(),
                module.local_size_from_environment(),
            )
        assert found == wanted, environment


def test_launcher_is_gone_when_its_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.LAUNCHER, raising=False)
    assert not module.launcher_is_gone()
    monkeypatch.setenv(module.LAUNCHER, module.identity())
    assert not module.launcher_is_gone()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = module.start_time(process.pid)
    monkeypatch.setenv(module.LAUNCHER, f"{module.place()}:{process.pid}:{start}")
    assert not module.launcher_is_gone()
    monkeypatch.setenv(module.LAUNCHER, f"{module.place()}:{process.pid}:{int(start) + 1}")
    assert module.launcher_is_gone()  # another process has the number now
    monkeypatch.setenv(module.LAUNCHER, f"{module.place()}:{process.pid}:{start}")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert module.launcher_is_gone()  # though its parent has not asked for its status
    process.communicate()
    assert module.launcher_is_gone()
    assert not module.is_running(process.pid, "")
    monkeypatch.setenv(module.LAUNCHER, f"another-host:{process.pid}:{start}")
    assert not module.launcher_is_gone()


def _fails(text: str, name: str = "train.py") -> BaseException:
    try:
        exec(compile(text, name, "exec"), {})
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError(text)


def _read(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def test_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.FOLDER, raising=False)
    module.note_finished(0)  # nothing to tell it to
    monkeypatch.setenv(module.FOLDER, str(tmp_path))
    module.note_started(1, 2)
    started = _read(tmp_path, "1.started")
    assert started["pid"] == os.getpid()
    assert (started["rank"], started["size"], started["place"]) == (1, 2, module.place())
    assert module.is_running(started["pid"], started["start"])
    module.note_failure(1, _fails("\nimport json\njson.loads('{')"))
    module.note_failure(1, ValueError("a later one does not count"))
    failed = _read(tmp_path, "1.failed")
    assert (failed["type"], failed["file"], failed["line"]) == ("JSONDecodeError", "train.py", 3)
    assert "Expecting" in failed["message"]
    module.note_failure(2, _fails("import sys\nsys.exit(3)"))
    failed = _read(tmp_path, "2.failed")
    assert (failed["type"], failed["status"], failed["line"]) == ("SystemExit", 3, 2)
    module.note_failure(3, _fails("x = ("))
    assert _read(tmp_path, "3.failed")["line"] == 1
    module.note_failure(4, ValueError("never raised"))
    assert _read(tmp_path, "4.failed")["file"] == ""
    module.note_finished(1)
    assert _read(tmp_path, "1.finished")["rank"] == 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_host_without_the_folder_writes_notes_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(module.FOLDER, str(tmp_path / "absent"))
    module.note_finished(1)
    line = capfd.readouterr().err
    assert line.startswith(module.MARK)
    assert json.loads(line.removeprefix(module.MARK))["kind"] == "finished"


def test_exit_statuses() -> None:
    for code, status in ((None, 0), (0, 0), (3, 3), (-1, 255), ("text", 1)):
        assert module.exit_status(SystemExit(code)) == status


class _StoppedError(Exception):
    """In place of the end of the process."""


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Installed hooks whose aborts are in the list."""
    aborts: list[int] = []

    def stop(status: int) -> None:
        raise _StoppedError(status)

    monkeypatch.setenv(module.FOLDER, str(tmp_path))
    monkeypatch.delenv(module.PREFIX, raising=False)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    for name in ("rank", "abort", "hooked", "flush"):
        monkeypatch.setattr(module._State, name, getattr(module._State, name))
    module._State.hooked = False
    monkeypatch.setattr(os, "_exit", stop)
    module.install(0, lambda status: None)
    module.install(1, aborts.append)  # the later one counts
    return aborts


def test_an_error_is_printed_noted_and_ends_all(
    hooks: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = _fails("raise ValueError('bad')")
    with pytest.raises(_StoppedError):
        sys.excepthook(type(error), error, error.__traceback__)
    assert hooks == [1]
    printed = capsys.readouterr().err
    assert printed.startswith("rank 1 raised an error:\nTraceback")
    assert printed.endswith("ValueError: bad\n")
    assert _read(tmp_path, "1.failed")["message"] == "bad"


def test_an_interrupt_is_quiet(
    hooks: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(_StoppedError, match="130"):
        sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert hooks == [130]
    assert capsys.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_errors_of_threads(
    hooks: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def arguments(error: BaseException) -> threading.ExceptHookArgs:
        return threading.ExceptHookArgs((type(error), error, None, threading.current_thread()))

    threading.excepthook(arguments(SystemExit(3)))  # ends its thread alone, as Python has it
    assert hooks == []
    with pytest.raises(_StoppedError):
        threading.excepthook(arguments(OSError("gone")))
    assert hooks == [1]
    assert "OSError: gone" in capsys.readouterr().err
    assert _read(tmp_path, "1.failed")["type"] == "OSError"


def test_it_loads_no_library() -> None:
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1]); "
        "print({'numpy', 'mpi4py', 'samara'} & {n.split('.')[0] for n in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, module.__file__], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_shared_memory_in_use_is_seen(tmp_path: Path) -> None:
    if not os.path.isdir("/dev/shm"):
        assert module.segments() == []
        return
    path = f"/dev/shm/mpich_shm_test_{os.getpid()}"
    try:
        with open(path, "w+b") as file:
            file.truncate(4096)
            assert path in module.segments()
            assert path not in module.mapped_segments(os.getpid())
            with mmap.mmap(file.fileno(), 4096):
                assert path in module.mapped_segments(os.getpid())
    finally:
        os.unlink(path)
    assert path not in module.segments()
