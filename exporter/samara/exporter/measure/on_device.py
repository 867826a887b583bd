# SPDX-License-Identifier: Apache-2.0
"""Benchmarks on another machine: build `samara-bench` for it, push it with the model, and run it there.

`adb[:SERIAL]` is an Android device, `ssh:HOST` a machine with a shell, `qemu:CPU` a CPU emulated here.
"""

from __future__ import annotations

import abc
import contextlib
import json
import os
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.build import build
from samara.exporter.ir import Array, open_program
from samara.exporter.measure.costs import symbol_sizes
from samara.exporter.measure.feeds import Given, choose_feeds, read_feeds
from samara.exporter.measure.inside import Inside, functions_inside
from samara.exporter.measure.machine import Roof
from samara.exporter.measure.node_times import (
    NodeTime,
    named_nodes,
    node_rates,
    nodes_text,
    source_of,
)
from samara.exporter.opening import Note, silent
from samara.exporter.package.processes import run_program, run_text
from samara.exporter.package.targets import find_target
from samara.exporter.package.toolchain import find_toolchain
from samara.exporter.types.text import plain, table
from samara.pybridge import BackendError, Session, UnsupportedError, sources
from samara.pybridge.atomic import put
from samara.pybridge.dtypes import PACKED, pack_nibbles
from samara.pybridge.scratch import scratch_folder

# `uname -m` or Android's ABI -> the target whose static programs run there.
_TARGETS = {
    "aarch64": "aarch64-linux-gnu",
    "arm64": "aarch64-linux-gnu",
    "arm64-v8a": "aarch64-linux-gnu",
    "x86_64": "x86_64-linux-gnu",
    "amd64": "x86_64-linux-gnu",
    "armv7l": "arm-linux-gnueabihf",
    "armeabi-v7a": "arm-linux-gnueabihf",
    "riscv64": "riscv64-linux-gnu",
}
_EMULATED = ("aarch64", "x86_64", "arm", "riscv64")
_INSTALL = {
    "adb": "install Android's platform-tools and put adb on PATH",
    "ssh": "install an ssh client and put ssh on PATH",
}
_FEATURES = ("files", "threads", "profile", "choices")
_TOOL = "samara-bench"
# A device that does not answer for the first time is taken to be lost; a benchmark may take the second.
_ASK_SECONDS, _RUN_SECONDS = 60, 3600


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """The results of samara-bench on `device`, one dict for every number of threads."""

    model: str
    device: str
    target: str
    emulated: bool
    results: tuple[Mapping[str, Any], ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts."""
        return dict(plain(self))

    def text(self) -> str:
        """Tables, and how they were measured."""
        how = "emulated here: times say little" if self.emulated else self.target
        lines = [f"{self.model} on {self.device} ({how})"]
        heads = (
            "threads",
            "isa",
            "median ms",
            "min ms",
            "p90 ms",
            "load ms",
            "first ms",
            "peak MB",
        )
        cells = [
            (
                str(r["threads"]),
                str(r["isa"]),
                *(_ms(r[f"{key}_us"]) for key in ("median", "min", "p90", "load", "first_run")),
                f"{r['peak_bytes'] / 1e6:.1f}",
            )
            for r in self.results
        ]
        lines.append(table(heads, cells, right={0, 2, 3, 4, 5, 6, 7}))
        for r in self.results[:1]:
            if "nodes" in r:
                lines.append(_nodes_text(r))
        return "\n".join(lines)


def _ms(us: float) -> str:
    return f"{us / 1e3:.3f}"


def _nodes_text(result: Mapping[str, Any]) -> str:
    nodes = [
        NodeTime(
            n["node"],
            n["op"],
            n["kernel"],
            n["us"],
            n.get("gflops"),
            algorithm=n.get("algorithm", ""),
            runner_up=n.get("runner_up", ""),
            tuned=bool(n.get("tuned")),
            roof_share=n.get("roof_share"),
            path=n.get("path", ""),
            function=n.get("function", ""),
            executions=n.get("count", 1),
            share=n.get("share"),
            source=n.get("source", ""),
        )
        for n in result["nodes"]
    ]
    roof = Roof.of(result) if "peak_gflops" in result else None
    return nodes_text(nodes, None, roof, result.get("not_reached", ()))


def _with_rates(
    result: Mapping[str, Any], inside: Mapping[str, Inside], wanted: str
) -> dict[str, Any]:
    """A result with only the nodes that `wanted` names, each with its path, its share of the run and its share
    of the device's limits.
    """
    roof = Roof.of(result) if "peak_gflops" in result else None
    named = named_nodes(inside, wanted)
    left = dict(named)
    run_us = result.get("profiled_us") or 0.0
    nodes = []
    for n in result.get("nodes", ()):
        key = next((k for k in left if k[:3] == (n.get("function"), n["node"], n["op"])), None)
        if key is None:
            continue
        node, place = left.pop(key), inside[key[0]]
        found = node_rates(node, n["kernel"], n["us"] / max(n["count"], 1), place.sizes, roof)
        rates = dict(zip(("gflops", "roof_share"), found, strict=True))
        rates["share"] = n["us"] / run_us if run_us > 0 else None
        known: dict[str, Any] = {k: v for k, v in rates.items() if v is not None}
        if source := source_of(node):
            known["source"] = source
        nodes.append({**n, "path": place.place(n["node"]), **known})
    not_reached = [inside[k[0]].place(n.name) for k, n in left.items()]
    return {**result, "nodes": nodes, "not_reached": not_reached}


def bench_on(
    device: str,
    model: Path,
    *,
    name: str,
    arguments: Sequence[str] = (),
    function: str | None = None,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    node: str | None = None,
    tool: str | os.PathLike[str] | None = None,
    progress: Note = silent,
) -> DeviceReport:
    """Measure `model` on `device` with samara-bench and its `arguments`.

    function: to measure; default: the first. inputs, files: as read_feeds takes them; they are copied to the
    device, and other inputs get random data there. shapes: of inputs; symbolic dims get the sizes that
    `samara bench` would choose here. node: keep only the nodes that this names, as in node_times. tool: a
    samara-bench for that machine; default: a static one is built for this model. progress: called with
    every step. UnsupportedError for an unknown kind of device; ShapeError if no node has such a name;
    BackendError if adb, ssh, qemu or a compiler is missing, or the device fails.
    """
    machine = _machine(device)
    session = Session(model, function=function, threads=1)
    given = read_feeds(inputs or {}, files, session.inputs)
    feeds = choose_feeds(session, given=given, shapes=shapes).arrays
    inside = None
    if node is not None:
        program = open_program(model)
        f = program.functions[session.function]
        inside = functions_inside(program, f.name, symbol_sizes(f, feeds))
        named_nodes(inside, node)  # fail before anything is built
    sized = [f"{n}={'x'.join(map(str, a.shape))}" for n, a in feeds.items() if a.ndim]
    words = [*(word for text in sized for word in ("--shape", text)), *arguments]
    if function is not None:
        words += ["--function", function]
    with scratch_folder() as folder:
        if tool is None:
            program_file = _built(model, machine.target(), folder, progress)
        else:
            program_file = Path(tool)
            if not program_file.is_file():
                raise BackendError(
                    f"{program_file}: there is no such tool", fix="name a samara-bench"
                )
        data = _written(session, given, folder)
        progress(f"measuring on {device}")
        text = machine.run(program_file, model, words, data)
    try:
        results = tuple(json.loads(line) for line in text.splitlines() if line.startswith("{"))
    except ValueError:
        results = ()
    if not results:
        raise BackendError(
            f"{device}: samara-bench printed no result: {text.strip()[-200:]!r}",
            fix="run it there by hand",
        )
    if inside is not None and node is not None:
        results = tuple(_with_rates(r, inside, node) for r in results)
    target = "as the tool" if tool is not None else machine.target()
    return DeviceReport(name, device, target, isinstance(machine, _Emulated), results)


def _written(session: Session, given: Mapping[str, Array], folder: Path) -> dict[str, Path]:
    """Files with the bytes of these inputs, as a session reads them."""
    dtypes = {s.name: s.dtype for s in session.inputs}
    written = {}
    for number, (name, array) in enumerate(given.items()):
        written[name] = folder / f"input{number}.bin"
        data = pack_nibbles(array) if dtypes[name] in PACKED else array
        put(written[name], np.ascontiguousarray(data).tobytes())
    return written


def _built(model: Path, target: str, folder: Path, progress: Note) -> Path:
    """A statically linked samara-bench with what the model needs."""
    report = build(
        [model],
        out=folder / "dist",
        target=target,
        features=_FEATURES,
        opt="2",
        programs=False,
        progress=progress,
    )
    tools = replace(find_toolchain(find_target(target)), say=progress)
    program = folder / _TOOL
    tools.link_program(
        [sources() / "tools" / f"{_TOOL}.c", report.out / "lib" / "libsamara.a"],
        program,
        [*tools.compile_flags("2"), f"-I{report.out / 'include'}", "-static"],
        report.libraries,
    )
    return program


# ---- machines ----


class _Machine(abc.ABC):
    """A machine that can run programs."""

    def __init__(self, device: str) -> None:
        self.device = device

    @abc.abstractmethod
    def target(self) -> str:
        """The target whose programs run there."""

    @abc.abstractmethod
    def run(
        self, program: Path, model: Path, arguments: Sequence[str], data: Mapping[str, Path]
    ) -> str:
        """The output of the program for the model there; data: a file for each of these inputs."""

    def _known(self, architecture: str) -> str:
        if architecture not in _TARGETS:
            raise UnsupportedError(
                f"{self.device}: no target is known for its architecture {architecture!r}",
                fix="build samara-bench for it and give it with --tool",
            )
        return _TARGETS[architecture]

    def _call(
        self, command: Sequence[str], *, seconds: int = _ASK_SECONDS, given: Path | None = None
    ) -> str:
        with contextlib.ExitStack() as stack:
            stdin = stack.enter_context(given.open("rb")) if given else subprocess.DEVNULL
            try:
                done = run_program(command, stdin=stdin, timeout=seconds)
            except FileNotFoundError:
                raise BackendError(
                    f"{self.device} needs {command[0]}, which is not here",
                    fix=_INSTALL.get(command[0], f"put {command[0]} on PATH"),
                ) from None
            except (OSError, subprocess.TimeoutExpired) as error:
                raise BackendError(
                    f"{self.device}: {error}", fix="see that the device answers"
                ) from None
        if done.returncode != 0:
            said = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
            raise BackendError(
                f"{self.device}: status {done.returncode}: {' '.join(said[-3:])}",
                fix=f"the command was: {shlex.join(command)}",
            )
        return done.stdout.decode(errors="replace")


class _Emulated(_Machine):
    """A CPU that qemu emulates on this machine."""

    def __init__(self, device: str, cpu: str) -> None:
        super().__init__(device)
        self.cpu = cpu
        self.architecture, self.qemu = self._find()

    def _find(self) -> tuple[str, str]:
        there = {a: p for a in _EMULATED if (p := shutil.which(f"qemu-{a}")) is not None}
        if not there:
            raise BackendError(
                f"{self.device} needs qemu's user-mode emulators, which are not here",
                fix="install qemu-user and put it on PATH",
            )
        for architecture, program in there.items():
            # The exit status is useless: some versions list and fail.
            listed = run_text([program, "-cpu", "help"])
            if self.cpu in (listed.stdout + listed.stderr).split():
                return architecture, program
        raise UnsupportedError(
            f"{self.device}: {', '.join(f'qemu-{a}' for a in there)} know no such CPU",
            fix=f"{next(iter(there.values()))} -cpu help lists them",
        )

    def target(self) -> str:
        return self._known({"arm": "armv7l"}.get(self.architecture, self.architecture))

    def run(
        self, program: Path, model: Path, arguments: Sequence[str], data: Mapping[str, Path]
    ) -> str:
        given = [word for n, file in data.items() for word in ("--input", f"{n}={file}")]
        command = [self.qemu, "-cpu", self.cpu, str(program), str(model), *arguments, *given]
        return self._call(command, seconds=_RUN_SECONDS)


class _Remote(_Machine):
    """A machine with a shell, and a temporary folder there for pushed files."""

    base = "/tmp"

    @abc.abstractmethod
    def shell(self, command: str, seconds: int = _ASK_SECONDS) -> str:
        """The output of a command there."""

    @abc.abstractmethod
    def push(self, file: Path, path: str) -> None:
        """Copy a file there."""

    @contextlib.contextmanager
    def _folder(self) -> Iterator[str]:
        folder = f"{self.base}/samara-{secrets.token_hex(6)}"
        self.shell(f"mkdir -p {folder}")
        try:
            yield folder
        except BaseException:
            with contextlib.suppress(BackendError):
                self.shell(f"test ! -f {folder}/pid || kill $(cat {folder}/pid)")
            raise
        finally:
            with contextlib.suppress(BackendError):
                self.shell(f"rm -r {folder}")

    def run(
        self, program: Path, model: Path, arguments: Sequence[str], data: Mapping[str, Path]
    ) -> str:
        given = [word for n, file in data.items() for word in ("--input", f"{n}={file.name}")]
        with self._folder() as folder:
            self.push(program, f"{folder}/{_TOOL}")
            self.push(model, f"{folder}/model.samara")
            for file in data.values():
                self.push(file, f"{folder}/{file.name}")
            self.shell(f"chmod 755 {folder}/{_TOOL}")
            command = [f"./{_TOOL}", "model.samara", *arguments, *given]
            # Keep the process id, to end it there if this process is stopped.
            begin = f"cd {folder} && echo $$ > pid && exec"
            return self.shell(
                f"sh -c {shlex.quote(f'{begin} {shlex.join(command)}')}", _RUN_SECONDS
            )


class _Ssh(_Remote):
    def __init__(self, device: str, host: str) -> None:
        super().__init__(device)
        if not host or host.startswith("-"):
            raise UnsupportedError(f"{device!r} names no host", fix="write ssh:HOST")
        self.host = host

    def shell(self, command: str, seconds: int = _ASK_SECONDS) -> str:
        return self._call(["ssh", "-o", "BatchMode=yes", self.host, command], seconds=seconds)

    def push(self, file: Path, path: str) -> None:
        command = ["ssh", "-o", "BatchMode=yes", self.host, f"cat > {path}"]
        self._call(command, seconds=_RUN_SECONDS, given=file)

    def target(self) -> str:
        return self._known(self.shell("uname -m").strip())


class _Adb(_Remote):
    base = "/data/local/tmp"

    def __init__(self, device: str, serial: str) -> None:
        super().__init__(device)
        self.command = ["adb", *(["-s", serial] if serial else [])]

    def shell(self, command: str, seconds: int = _ASK_SECONDS) -> str:
        return self._call([*self.command, "shell", command], seconds=seconds)

    def push(self, file: Path, path: str) -> None:
        self._call([*self.command, "push", str(file), path], seconds=_RUN_SECONDS)

    def target(self) -> str:
        return self._known(self.shell("getprop ro.product.cpu.abi").strip())


def _machine(device: str) -> _Machine:
    kind, colon, rest = device.partition(":")
    if kind == "adb":
        return _Adb(device, rest)
    if kind == "ssh" and colon:
        return _Ssh(device, rest)
    if kind == "qemu" and rest:
        return _Emulated(device, rest)
    raise UnsupportedError(
        f"there is no device {device!r}", fix="write adb, adb:SERIAL, ssh:HOST or qemu:CPU"
    )
