# SPDX-License-Identifier: Apache-2.0
"""The program that `samara launch` runs as each rank: it runs the user's script or module as `__main__`.

Called by its path, `python run_rank.py SCRIPT ARGS…` or `python run_rank.py -m MODULE ARGS…`. The package is
not imported here, because BLAS libraries read the number of threads when numpy loads them.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.util
import io
import os
import re
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType, TracebackType
from typing import Any, Final

_FOLDER: Final = os.path.dirname(os.path.abspath(__file__))
_LAUNCHED: Final = "samara.exporter.launcher.launched"
_BLAS: Final = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
)
_TERMINATED: Final = re.compile(rb"\r\n|\n|\r")
_LONGEST_LINE: Final = 1 << 16


def _launched_module() -> Any:
    """The module `launched`, loaded without its packages; a later import by its name finds it."""
    if _LAUNCHED not in sys.modules:
        path = os.path.join(_FOLDER, "launched.py")
        spec = importlib.util.spec_from_file_location(_LAUNCHED, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[_LAUNCHED] = module
        spec.loader.exec_module(module)
    return sys.modules[_LAUNCHED]


launched = _launched_module()


class PrefixedLines(io.RawIOBase):
    """A file that writes whole lines to a descriptor, each behind a prefix and in one call.

    A pipe keeps writes of up to 4,096 bytes whole, so lines of several ranks do not mix.
    """

    def __init__(self, descriptor: int, prefix: str) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._prefix = prefix.encode()
        self._rest = b""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        self._rest += bytes(data)
        at = 0
        for found in _TERMINATED.finditer(self._rest):
            self._send(self._rest[at : found.end()])
            at = found.end()
        self._rest = self._rest[at:]
        if len(self._rest) > _LONGEST_LINE:
            self.end_line()
        return len(data)

    def end_line(self) -> None:
        """Write what has no end of line yet, with one."""
        if self._rest:
            self._send(self._rest + b"\n")
            self._rest = b""

    def _send(self, line: bytes) -> None:
        data = memoryview(self._prefix + line)
        while data:
            data = data[os.write(self._descriptor, data) :]


def prefix_output(prefix: str) -> None:
    """Put `prefix` before every line that Python code writes to stdout and stderr."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        old = getattr(sys, name)
        if old is None:
            continue
        old.flush()
        raw = io.BufferedWriter(PrefixedLines(descriptor, prefix))
        errors = "backslashreplace" if name == "stderr" else old.errors
        new = io.TextIOWrapper(raw, encoding=old.encoding, errors=errors, line_buffering=True)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    atexit.register(_end_lines)
    launched.flush_with(_end_lines)


def _end_lines() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
            if isinstance(raw := getattr(stream.buffer, "raw", None), PrefixedLines):
                raw.end_line()


def limit_threads(ranks_here: int) -> None:
    """Share this host's cores between its ranks: set the numbers of threads that the user has not set."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = os.environ.setdefault("SAMARA_NUM_THREADS", str(max(1, (cores or 1) // ranks_here)))
    if "OMP_NUM_THREADS" not in os.environ:  # the others follow it where they are not set
        for name in _BLAS:
            os.environ.setdefault(name, count)


def _abort(status: int) -> None:
    """End all ranks, if the script has started MPI. The launcher ends them otherwise."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.COMM_WORLD.Abort(status)


def run(words: Sequence[str]) -> None:
    """Run `["script.py", "argument", …]` or `["-m", "module", "argument", …]` as `__main__`."""
    ours = bool(sys.path) and os.path.abspath(sys.path[0]) == _FOLDER
    if words[0] == "-m":
        sys.argv = list(words[1:])
        if ours:
            sys.path[0] = os.getcwd()
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    path = words[0]
    sys.argv = list(words)
    if ours:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    with io.open_code(os.path.abspath(path)) as file:
        code = compile(file.read(), path, "exec")
    # As Python does it: the module stays after the end, for functions that run at exit.
    module = ModuleType("__main__")
    facts = {"__file__": path, "__builtins__": builtins, "__cached__": None}
    module.__dict__.update(facts)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _without_this_file(trace: TracebackType | None) -> TracebackType | None:
    """A traceback that begins in the user's code."""
    own = (os.path.abspath(__file__), "<frozen runpy>", runpy.__file__)
    while trace is not None and trace.tb_frame.f_code.co_filename in own:
        trace = trace.tb_next
    return trace


def main(words: Sequence[str]) -> None:
    """Be the rank that the environment names."""
    rank = launched.rank_from_environment()
    os.environ.update(launched.names_of_torchrun())
    limit_threads(launched.local_size_from_environment())
    if launched.PREFIX in os.environ:
        prefix_output(f"[{rank}] ")
    else:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(line_buffering=True)
    launched.hold_pipe(rank)
    launched.note_started(rank, launched.size_from_environment())
    launched.install(rank, _abort)
    launched.watch()
    try:
        run(words)
    except SystemExit as stop:
        status = launched.exit_status(stop)
        if status:
            if not isinstance(stop.code, int):
                print(stop.code, file=sys.stderr)
            launched.note_failure(rank, stop)
            launched.stop_all(status)
    except BaseException as error:  # noqa: BLE001 (every error of the script ends all ranks)
        error.__traceback__ = _without_this_file(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        launched.note_failure(rank, error)  # for a hook of the script's own
        launched.stop_all(130 if isinstance(error, KeyboardInterrupt) else 1)
    launched.note_finished(rank)


if __name__ == "__main__":
    main(sys.argv[1:])
