# SPDX-License-Identifier: Apache-2.0
"""The order in which processes end, as the kernel tells it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from samara.exporter.launcher import launched
from samara.exporter.launcher._ends import Ends

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: epoll (Linux alone)")

# A rank with a child that holds its pipe if asked to; each ends when its stdin ends.
RANK = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("launched", sys.argv[1])
launched = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launched)
launched.hold_pipe(int(sys.argv[2]))
if sys.argv[3] == "child" and os.fork() == 0:
    sys.stdout.close()
    os.close(1)
    os.read(int(sys.argv[4]), 1)
    os._exit(0)
print("up", flush=True)
sys.stdin.read()
"""


@contextmanager
def _ranks(folder: Path, kinds: tuple[str, ...]) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, "-S", "-c", RANK, launched.__file__]
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        until = holder.stdout.fileno()  # ends with the block
        ranks = [
            subprocess.Popen(
                [*command, str(rank), kind, str(until)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[until],
                env={launched.FOLDER: str(folder)},
            )
            for rank, kind in enumerate(kinds)
        ]
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == b"up\n"
        yield ranks
        for rank in ranks:
            rank.kill()
            rank.communicate()
        holder.communicate()


def test_first_to_last(tmp_path: Path) -> None:
    ends = Ends()
    with _ranks(tmp_path, ("alone", "child", "alone")) as ranks:
        (tmp_path / "0.started.json").write_text("{}")
        (tmp_path / "x.pipe").write_text("")
        for _ in range(2):
            ends.watch_pipes(tmp_path)
            for number, rank in enumerate(ranks[:2]):
                ends.watch_process(number, rank.pid)
        assert ends.order() == []
        for number in (1, 2, 0):  # 1 is told by its process, 2 by its pipe
            ranks[number].kill()
            ranks[number].wait()
        assert ends.order() == [1, 2, 0]
        assert ends.order() == [1, 2, 0]
    ends.close()
    ends.close()
    assert ends.order() == [1, 2, 0]


def test_what_is_not_there(tmp_path: Path) -> None:
    ends = Ends()
    ends.watch_process(0, 1 << 22)  # above the largest pid
    ends.watch_pipes(tmp_path)
    assert ends.order() == []
    ends.close()
