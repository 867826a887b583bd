# SPDX-License-Identifier: Apache-2.0
"""The part of `samara launch` that runs inside a rank: notes for the launcher, hooks for errors, and whether
the launcher still runs.

It imports neither numpy nor MPI: `run_rank` loads it before the script's own imports.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

# Set by the launcher: the folder of the notes, the launcher's identity, and whether lines get a prefix.
FOLDER: Final = "SAMARA_LAUNCH_DIR"
LAUNCHER: Final = "SAMARA_LAUNCHER"
PREFIX: Final = "SAMARA_LAUNCH_PREFIX"
# A note of a rank that does not see the launcher's folder: one line of stderr after this mark.
MARK: Final = "\x1esamara-launch "
# A rank holds the pipe RANK.pipe in that folder, whose end tells the launcher that the rank has ended.
PIPE: Final = ".pipe"

_LONGEST_MESSAGE: Final = 2000
_POLL_SECONDS: Final = 0.25
_WATCHER: Final = "samara launcher"  # name of a thread
_SEGMENTS: Final = ("mpich_shm_", "sm_segment.", "vader_segment.")  # of MPICH, Open MPI 5 and 4

# Names of the rank, the number of ranks and that of this host's ranks, as process managers set them. Slurm's
# name comes last: a batch job has it too.
_RANK: Final = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PALS_RANKID", "SLURM_PROCID")
_SIZE: Final = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_LOCAL_SIZE: Final = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE")
_LOCAL_RANK: Final = (
    *("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "SLURM_LOCALID"),
)

Abort = Callable[[int], object]


def flush_output() -> None:
    """Flush stdout and stderr."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


class _State:
    """Of this process: its rank, what ends all ranks, whether the hooks are installed, what flushes output."""

    rank = -1
    abort: Abort = staticmethod(os._exit)
    hooked = False
    flush: Callable[[], None] = staticmethod(flush_output)


def rank_from_environment() -> int:
    """The rank that the process manager gave this process; 0 if it says none."""
    return _number(_RANK, 0)


def size_from_environment() -> int:
    """The number of ranks; 1 if the process manager does not say."""
    return _number(_SIZE, 1)


def is_launched() -> bool:
    """Whether a process manager has started this process."""
    return _number(_RANK, -1) >= 0


def local_size_from_environment() -> int:
    """The number of ranks on this host; that of all if the process manager does not say."""
    return _number(_LOCAL_SIZE, size_from_environment())


def names_of_torchrun() -> dict[str, str]:
    """The variables by which scripts for PyTorch's torchrun know their rank."""
    size = local_size_from_environment()
    return {
        "RANK": str(rank_from_environment()),
        "WORLD_SIZE": str(size_from_environment()),
        "LOCAL_RANK": str(_number(_LOCAL_RANK, rank_from_environment() % size)),
        "LOCAL_WORLD_SIZE": str(size),
    }


def _number(names: tuple[str, ...], default: int) -> int:
    return next((int(t) for t in map(os.environ.get, names) if t and t.isdigit()), default)


# ---- Who runs ----


def host() -> str:
    """This host's name."""
    return os.uname().nodename


def place() -> str:
    """Names the host, its boot and the namespace of process ids: equal where a pid means the same process."""
    parts = [host()]
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read(8))
        parts.append("".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid"))))
    return "/".join(parts)


def start_time(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty if it has ended, or where there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def is_running(pid: int, started: str) -> bool:
    """Whether the process `pid` that started at `started` (see start_time) still runs on this host."""
    if started:
        return start_time(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def identity() -> str:
    """place:pid:start of this process, for `SAMARA_LAUNCHER`."""
    return f"{place()}:{os.getpid()}:{start_time(os.getpid())}"


def launcher_is_gone() -> bool:
    """Whether the launcher of this rank has ended. False on another host, and without a launcher.

    It costs one read of /proc, so a watcher may call it several times a second.
    """
    return has_ended(os.environ.get(LAUNCHER, ""))


def has_ended(process: str) -> bool:
    """Whether the process of an `identity` has ended. False if it cannot be seen from here."""
    where, _, rest = process.partition(":")
    pid, _, started = rest.partition(":")
    return where == place() and pid.isdigit() and not is_running(int(pid), started)


def watch() -> None:
    """Start a thread that ends this process soon after its launcher or its parent has ended.

    The parent is a process of mpiexec. Nothing else ends the ranks if mpiexec or the launcher is killed.
    """
    thread = threading.Thread(target=_watch, args=(os.getppid(),), name=_WATCHER, daemon=True)
    thread.start()


def is_watched() -> bool:
    """Whether `watch` was called."""
    return any(thread.name == _WATCHER for thread in threading.enumerate())


def _watch(parent: int) -> None:
    while os.getppid() == parent and not launcher_is_gone():
        time.sleep(_POLL_SECONDS)
    for path in mapped_segments(os.getpid()):
        with contextlib.suppress(OSError):
            os.unlink(path)
    os._exit(1)


def segments() -> list[str]:
    """The files of shared memory of MPI libraries on this host."""
    try:
        names = os.listdir("/dev/shm")
    except OSError:
        return []
    return [f"/dev/shm/{name}" for name in names if name.startswith(_SEGMENTS)]


def mapped_segments(pid: int) -> set[str]:
    """Those of `segments` that a process uses. Empty for a process of another user."""
    found = set()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file:
            path = line[line.find("/") :].strip()
            if path.removeprefix("/dev/shm/").startswith(_SEGMENTS):
                found.add(path)
    return found


# ---- Notes ----


def hold_pipe(rank: int) -> None:
    """Make this rank's pipe and hold it until the process ends. Nothing if the launcher's folder is not here."""
    with contextlib.suppress(OSError, KeyError):
        path = os.path.join(os.environ[FOLDER], f"{rank}{PIPE}")
        os.mkfifo(path)
        os.open(path, os.O_RDWR)  # for writing alone it would wait for a reader


def note_started(rank: int, size: int) -> None:
    """Tell the launcher the process and the host of a rank."""
    _write("started", rank, size=size, place=place(), start=start_time(os.getpid()))


def note_finished(rank: int) -> None:
    """Tell the launcher that the program of a rank has ended well."""
    _write("finished", rank)


def note_failure(rank: int, error: BaseException) -> None:
    """Tell the launcher which error ends a rank, and where it was raised. The first error of a rank counts."""
    file, line = _place_of(error)
    name = type(error).__name__
    module = type(error).__module__
    status = exit_status(error) if isinstance(error, SystemExit) else 1
    message = "" if isinstance(error, SystemExit) else str(error)[:_LONGEST_MESSAGE]
    facts = {"type": name, "module": module, "message": message, "file": file, "line": line}
    _write("failed", rank, status=status, **facts)


def exit_status(stop: SystemExit) -> int:
    """The exit status that Python gives a SystemExit."""
    if stop.code is None:
        return 0
    return stop.code & 0xFF if isinstance(stop.code, int) else 1


def _write(kind: str, rank: int, **facts: Any) -> None:
    """Write a note whole or not at all. A note is a help, so that it cannot be written is no error."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    common = {"kind": kind, "rank": rank, "pid": os.getpid(), "host": host(), "time": time.time()}
    text = json.dumps(common | facts)
    path = os.path.join(folder, f"{rank}.{kind}.json")
    with contextlib.suppress(OSError):
        if not os.path.isdir(folder):
            os.write(2, f"{MARK}{text}\n".encode())
        elif kind != "failed" or not os.path.exists(path):
            made = os.path.join(folder, f".{rank}.{kind}.{os.getpid()}")
            with open(made, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(made, path)


def _place_of(error: BaseException) -> tuple[str, int]:
    """File and line of the user's code that an error passed last; of any code if it passed none of the user's."""
    import sysconfig  # not before an error: it takes milliseconds

    library = sysconfig.get_paths()["stdlib"]
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 0
    found, trace = ("", 0), error.__traceback__
    last = found
    while trace is not None:
        last = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        if not _is_library(last[0], library):
            found = last
        trace = trace.tb_next
    return found if found[0] else last


def _is_library(file: str, library: str) -> bool:
    rooms = (f"{os.sep}samara{os.sep}{room}{os.sep}" for room in ("exporter", "pybridge", "cli"))
    inside = ("site-packages", "<frozen", *rooms)
    return file.startswith(library + os.sep) or any(part in file for part in inside)


# ---- Errors ----


def install(rank: int, abort: Abort) -> None:
    """End all ranks when an error ends this one, in the main thread or another.

    rank: of this process. abort: ends all ranks with the status it is given; MPI's Abort. Each call
    replaces both; the hooks of the interpreter are wrapped once.

    An uncaught error is printed by the hook that was there, with the rank; then the launcher gets a note,
    and `abort(1)` is called. KeyboardInterrupt is quiet and aborts with 130. A hook does not see SystemExit:
    under `samara launch` `run_rank` ends all ranks for `sys.exit(3)`. Under plain mpiexec such a rank waits in
    MPI_Finalize for the others; `python -m mpi4py script.py` aborts there.
    """
    _State.rank, _State.abort = rank, abort
    if _State.hooked:
        return
    _State.hooked = True
    before, before_of_threads = sys.excepthook, threading.excepthook

    def of_main(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        _fail(error, lambda: before(kind, error, trace))

    def of_threads(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is None or isinstance(args.exc_value, SystemExit):
            before_of_threads(args)
        else:
            _fail(args.exc_value, lambda: before_of_threads(args))

    sys.excepthook, threading.excepthook = of_main, of_threads


def _fail(error: BaseException, show: Callable[[], object]) -> None:
    if isinstance(error, KeyboardInterrupt):
        stop_all(130)
    note_failure(_State.rank, error)
    with contextlib.suppress(Exception):
        if PREFIX not in os.environ:
            print(f"rank {_State.rank} raised an error:", file=sys.stderr)
        show()
    stop_all(1)


def flush_with(flush: Callable[[], None]) -> None:
    """Let `stop_all` call `flush` in place of flush_output."""
    _State.flush = flush


def stop_all(status: int) -> None:
    """End this rank and the others at once with an exit status. It does not return."""
    _State.flush()
    try:
        _State.abort(status)
    finally:
        os._exit(status)
