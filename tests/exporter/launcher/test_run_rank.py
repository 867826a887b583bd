# SPDX-License-Identifier: Apache-2.0
"""The program of a rank: it runs a script as Python does, with prefixed lines, and shares the cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from samara.exporter.launcher import launched, run_rank
from samara.exporter.launcher.run_rank import PrefixedLines


def test_prefixed_lines() -> None:
    written = ["one\ntwo", "\n", " 5 %\r10 %\r\n", "x" * (70_000), "rest"]
    read, write = os.pipe()
    os.set_blocking(read, False)
    stream, got = PrefixedLines(write, "[3] "), b""
    assert (stream.writable(), stream.fileno(), stream.isatty()) == (True, write, False)
    for text in written[:3]:
        assert stream.write(text.encode()) == len(text)
    got += os.read(read, 1 << 16)
    assert got == b"[3] one\n[3] two\n[3]  5 %\r[3] 10 %\r\n"
    os.set_blocking(read, True)
    with subprocess.Popen(["cat"], stdin=read, stdout=subprocess.PIPE) as reader:
        os.close(read)
        for text in written[3:]:
            stream.write(text.encode())
        stream.end_line()
        stream.end_line()
        os.close(write)
        assert reader.stdout is not None
        assert reader.stdout.read() == b"[3] " + b"x" * (70_000) + b"\n[3] rest\n"


def test_threads_of_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: range(12), raising=False)
    names = ("SAMARA_NUM_THREADS", *run_rank._BLAS)

    def limited(ranks: int, **given: str) -> list[str | None]:
        with monkeypatch.context() as patch:
            for name in names:
                patch.setenv(name, "")  # so that it is taken back
                patch.delenv(name)
            for name, value in given.items():
                patch.setenv(name, value)
            run_rank.limit_threads(ranks)
            found = [os.environ.get(name) for name in names]
            for name in names:
                os.environ.pop(name, None)
            return found

    assert limited(2) == ["6"] * 5
    assert limited(5) == ["2"] * 5
    assert limited(100) == ["1"] * 5
    assert limited(2, SAMARA_NUM_THREADS="3") == ["3"] * 5
    assert limited(2, OPENBLAS_NUM_THREADS="4") == ["6", "6", "4", "6", "6"]
    assert limited(2, OMP_NUM_THREADS="4") == ["6", "4", None, None, None]


SCRIPT = """
import atexit, sys
import beside
print(__name__, sys.argv, beside.__file__ and "beside", __file__)
atexit.register(lambda: print("at exit", end=""))
{end}
"""
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 6, in <module>\n'
# end of the script, words, exit status, what stderr holds, the notes
ENDS: list[tuple[str, list[str], int, str, list[str]]] = [
    ("", ["train.py"], 0, "", ["finished", "started"]),
    ("", ["-m", "train"], 0, "", ["finished", "started"]),
    ("sys.exit(4)", ["train.py"], 4, "", ["failed", "started"]),
    ("sys.exit('no data')", ["train.py"], 1, "no data\n", ["failed", "started"]),
    ("1 / 0", ["train.py"], 1, TRACE, ["failed", "started"]),
    ("raise KeyboardInterrupt", ["train.py"], 130, "", ["started"]),
]


@pytest.mark.parametrize("prefix", ["", "1"])
def test_scripts(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "beside.py").write_text("")
    environment = {launched.FOLDER: str(tmp_path / "notes"), "PMI_RANK": "2", "PMI_SIZE": "3"}
    if prefix:
        environment[launched.PREFIX] = prefix
    for end, words, status, error, kinds in ENDS[3:5] if prefix else ENDS:
        (tmp_path / "notes").mkdir()
        (tmp_path / "train.py").write_text(SCRIPT.format(end=end))
        done = subprocess.run(
            [sys.executable, run_rank.__file__, *words, "--lr", "1"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        before = "[2] " if prefix else ""
        assert done.returncode == status, done.stderr
        first, *rest = done.stdout.splitlines()
        argument = str(tmp_path / "train.py") if words[0] == "-m" else "train.py"
        assert first == f"{before}__main__ {[argument, '--lr', '1']} beside {argument}"
        assert rest == ([] if status else [f"{before}at exit"])
        assert "".join(before + line for line in error.splitlines(True)) in done.stderr
        assert done.stderr.count("Traceback") == (end == "1 / 0")
        notes = [json.loads(path.read_text()) for path in (tmp_path / "notes").glob("*.json")]
        assert sorted(note["kind"] for note in notes) == kinds
        assert {note["rank"] for note in notes} == {2}
        for path in (tmp_path / "notes").iterdir():
            path.unlink()
        (tmp_path / "notes").rmdir()
