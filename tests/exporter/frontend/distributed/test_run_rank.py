# SPDX-License-Identifier: Apache-2.0
"""The program of a rank: output with prefixes, threads, and scripts that end in each way. Without MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from samara.exporter.frontend.distributed import run_rank as module


def _rank(
    folder: Path, script: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "train.py").write_text(script)
    given = {
        "PATH": "",
        "PMI_RANK": "1",
        "PMI_SIZE": "2",
        "SAMARA_LAUNCH_DIR": str(folder / "notes"),
    }
    return subprocess.run(
        [sys.executable, module.__file__, *(arguments or ("train.py",))],
        env=given | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip


def test_a_script_runs_as_python_runs_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 7")
    script = """
import atexit, os, pickle, sys
import beside
class Net: pass
assert pickle.loads(pickle.dumps(Net)) is Net
assert sys.modules["__main__"].__dict__ is globals()
atexit.register(lambda: print("at exit", Net.__name__, end=""))
print(__name__, __file__, sys.argv, beside.value, "numpy" in sys.modules)
print("error", file=sys.stderr)
print("a\\n\\nb", end="")
sys.stdout.buffer.write(b"c\\n")
sys.exit(0)
"""
    done = _rank(tmp_path, script, "train.py", "--x", "1", SAMARA_LAUNCH_PREFIX="1")
    assert done.returncode == 0
    assert done.stdout == (
        "[1] __main__ train.py ['train.py', '--x', '1'] 7 False\n"
        "[1] a\n[1] \n[1] bc\n[1] at exit Net\n"
    )
    assert done.stderr == "[1] error\n"
    notes = sorted(path.name for path in (tmp_path / "notes").iterdir())
    assert notes == ["1.finished.json", "1.started.json"]


def test_a_module_runs_too(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text(
        "import sys\nprint(__name__, __spec__.name, sys.argv[1:], sys.path[0])"
    )
    done = _rank(tmp_path, "", "-m", "package.train", "-m", "x")
    assert done.stdout == f"__main__ package.train ['-m', 'x'] {tmp_path}\n"


@pytest.mark.parametrize(
    ("script", "status", "kind", "line"),
    [
        ("\nraise ValueError('bad')", 1, "ValueError", 2),
        ("import sys\n\nsys.exit(3)", 3, "SystemExit", 3),
        ("raise SystemExit('no data')", 1, "SystemExit", 1),
        ("import samara_that_is_absent", 1, "ModuleNotFoundError", 1),
        ("x = (", 1, "SyntaxError", 1),
        ("import sys\nsys.excepthook = lambda *a: print('own')\n1 / 0", 1, "ZeroDivisionError", 3),
        (
            "import threading, time\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\ntime.sleep(9)",
            1,
            "ZeroDivisionError",
            2,
        ),
    ],
)
def test_failures(tmp_path: Path, script: str, status: int, kind: str, line: int) -> None:
    done = _rank(tmp_path, script)
    assert done.returncode == status
    note = json.loads((tmp_path / "notes" / "1.failed.json").read_text())
    assert (note["type"], note["line"], note["status"]) == (kind, line, status)
    assert "run_rank" not in done.stderr
    assert not (tmp_path / "notes" / "1.finished.json").exists()


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    done = _rank(tmp_path, "raise KeyboardInterrupt")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for given, ranks, wanted in (
        ({}, 2, {"SAMARA": "4", "OMP": "4", "OPENBLAS": "4", "MKL": "4"}),
        ({}, 16, {"SAMARA": "1", "OMP": "1"}),
        ({"SAMARA": "3"}, 2, {"SAMARA": "3", "OMP": "3"}),
        ({"OMP": "6"}, 2, {"SAMARA": "4", "OMP": "6", "OPENBLAS": None}),
        ({"OPENBLAS": "5"}, 2, {"SAMARA": "4", "OMP": "4", "OPENBLAS": "5"}),
    ):
        environment = {f"{name}_NUM_THREADS": count for name, count in given.items()}
        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", environment)
            module.limit_threads(ranks)
        for name, count in wanted.items():
            assert environment.get(f"{name}_NUM_THREADS") == count, (given, ranks, name)


def test_whole_lines_are_written_at_once() -> None:
    reading, writing = os.pipe()
    file = module.PrefixedLines(writing, "[3] ")
    file.write(b"one\ntw")
    assert os.read(reading, 100) == b"[3] one\n"
    file.write(b"o\rthree\r\n")
    assert os.read(reading, 100) == b"[3] two\r[3] three\r\n"
    file.write(b"rest")
    file.end_line()
    file.end_line()
    assert os.read(reading, 100) == b"[3] rest\n"
    assert (file.fileno(), file.isatty(), file.writable()) == (writing, False, True)
    os.close(reading)
    os.close(writing)
