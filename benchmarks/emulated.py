# SPDX-License-Identifier: Apache-2.0
"""Instructions of an inference on AArch64, by samara and by its peers' own wheels, counted with qemu-user.

Usage: python -m benchmarks.emulated [--models A,B] [--forms float32,int8] [--engines A,B] [--samara-run PROGRAM].
One thread. A peer's runs are counted between two marks in its process; samara's count is the difference that
further runs make. Opening a model does not count; an engine's own Python code does. Files and inputs are those of
`make bench`, and outputs are checked in the same way. A Debian Python for arm64 and the wheels are installed in
build/bench/aarch64 once. qemu-aarch64, gcc and pip are needed, and apt-get and dpkg-deb for the installation.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from benchmarks import reference
from benchmarks.engines import SAMARA, engine
from benchmarks.environments import ROOT, Missing, variables
from benchmarks.files import Files
from benchmarks.run import BOUNDS_DB, FOLDER
from benchmarks.zoo import MODELS
from tools.count import Cpu, build_plugin, counts_of

MODELS_SHOWN = ("ds_cnn", "resnet8", "mobilenet_v2")
ENGINES = ("samara", "onnxruntime", "litert", "ncnn")
CPU = Cpu("neon-dot", "aarch64", "neoverse-n1")
RUNS = 10
_DEBS = (
    "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1", "libstdc++6",
    "zlib1g", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5", "libssl3", "libsqlite3-0", "libuuid1",
)  # fmt: skip
_PLATFORMS = tuple(f"manylinux{tag}_aarch64" for tag in ("_2_28", "_2_27", "_2_17", "2014"))
# Engines read this file to find out the CPU, and qemu shows them the host's. A Neoverse N1:
_CPUINFO = """\
processor\t: {}
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x4
CPU part\t: 0xd0c
CPU revision\t: 1

"""
# argv: engine, model, input, answer, runs. The plugin's mark is a system call without effect.
_GETPRIORITY = 141
_PROGRAM = """\
import os, sys
from pathlib import Path
import numpy as np
from benchmarks.engines import engine
name, model, given, answer, runs = sys.argv[1:]
session = engine(name).Session(Path(model), 1)
session.feed(np.load(given))
session.run()
session.run()
os.getpriority(os.PRIO_PROCESS, 0)
for _ in range(int(runs)):
    session.run()
os.getpriority(os.PRIO_PROCESS, 0)
np.save(answer, session.output())
"""


@dataclass(frozen=True)
class Machine:
    """The emulated machine under `folder`: a Python of its architecture, and wheels by engine."""

    folder: Path

    @cached_property
    def root(self) -> Path:
        """The folder of the Python, installed on first use."""
        root = self.folder / "root"
        if not (root / "usr/bin/python3.11").is_file():
            self._unpack(root)
        (root / "proc").mkdir(exist_ok=True)
        (root / "proc/cpuinfo").write_text(_CPUINFO.format(0) + _CPUINFO.format(1))
        return root

    @cached_property
    def plugin(self) -> Path:
        return build_plugin(self.folder)

    def _unpack(self, root: Path) -> None:
        # A private apt, so that the machine's lists and architectures are unchanged.
        apt = self.folder / "apt"
        for part in ("state/lists/partial", "cache/archives/partial", "debs"):
            (apt / part).mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        (apt / "apt.conf").write_text(
            'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\nAPT::Sandbox::User "";\n'
            f'Dir::State "{apt / "state"}";\nDir::State::status "{apt / "status"}";\n'
            f'Dir::Cache "{apt / "cache"}";\n'
        )
        environment = {**variables(), "APT_CONFIG": str(apt / "apt.conf")}
        for words in (["update"], ["download", *_DEBS]):
            _do(["apt-get", "-qq", *words], cwd=apt / "debs", environment=environment)
        for deb in sorted((apt / "debs").glob("*.deb")):
            _do(["dpkg-deb", "-x", str(deb), str(root)])

    def wheels(self, name: str) -> Path:
        """The folder with the engine's packages for this machine."""
        package = engine(name).ENVIRONMENT.packages[0]
        site = self.folder / package
        if not site.is_dir():
            platforms = [word for p in _PLATFORMS for word in ("--platform", p)]
            words = ["--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp"]
            part = site.with_suffix(".part")
            command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(part)]
            _do([*command, *platforms, *words, package])
            part.rename(site)
        return site

    def counts(
        self, command: Sequence[str], environment: dict[str, str] | None = None
    ) -> list[int]:
        """Counts of instructions at every mark and at the end."""
        given = {"PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", **(environment or {})}
        settings = [word for key, text in given.items() for word in ("-E", f"{key}={text}")]
        return counts_of(
            [*CPU.emulator(str(self.root)), *settings], self.plugin, command, _GETPRIORITY
        )


def _do(
    command: Sequence[str], cwd: Path = ROOT, environment: dict[str, str] | None = None
) -> None:
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{' '.join(command[:6])} …: {done.stderr.strip()[-300:]}")


def instructions(
    machine: Machine, files: Files, model: str, form: str, name: str, samara_run: Path
) -> int:
    """Instructions per run of a model by an engine. Missing if it cannot run or its output is wrong."""
    path = files.converted(model, name, form)
    home = files.model(model)
    if engine(name).ENVIRONMENT == SAMARA:
        once, more = (
            machine.counts([str(samara_run), str(path), "--threads", "1", "--repeat", str(n)])[-1]
            for n in (2, 2 + RUNS)
        )
        return (more - once) // RUNS
    script = machine.folder / "program.py"
    script.write_text(_PROGRAM)
    answer = machine.folder / "answer.npy"
    python = [str(machine.root / "usr/bin/python3.11"), str(script), name, str(path)]
    found = {"PYTHONPATH": f"{machine.wheels(name)}:{ROOT}"}
    words = [*python, str(home / "input.npy"), str(answer), str(RUNS)]
    once, more, _ = machine.counts(words, found)
    db = reference.sqnr_db(np.load(home / "reference.npy"), np.load(answer))
    if db < BOUNDS_DB[form]:
        raise Missing(f"wrong answer: {db:.1f} dB, expected at least {BOUNDS_DB[form]:g}")
    return (more - once) // RUNS


def rows(
    machine: Machine, files: Files, options: argparse.Namespace
) -> Iterator[tuple[str, str, dict[str, int | str]]]:
    """(model, form, instructions or the reason why there are none, by engine)."""
    for form in options.forms:
        for model in options.models:
            cells: dict[str, int | str] = {}
            for name in options.engines:
                try:
                    cells[name] = instructions(
                        machine, files, model, form, name, options.samara_run
                    )
                except (Missing, RuntimeError) as error:
                    cells[name] = str(error)
                print(f"{form} {model} {name}: {cells[name]}", file=sys.stderr)
            yield model, form, cells


def table_row(model: str, form: str, cells: dict[str, int | str]) -> str:
    """A row of the page: millions of instructions, and the best peer's divided by samara's."""
    numbers = {name: n for name, n in cells.items() if isinstance(n, int)}
    texts = [f"{numbers[n] / 1e6:.2f}" if n in numbers else "–" for n in cells]
    peers = [n for name, n in numbers.items() if name != "samara"]
    known = "samara" in numbers and peers
    ratio = f"{min(peers) / numbers['samara']:.2f}" if known else "–"
    return f"| {model} | {form} | {' | '.join(texts)} | {ratio} |"


def main() -> None:
    def listed(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=listed, default=list(MODELS_SHOWN), help=", ".join(MODELS))
    parser.add_argument("--forms", type=listed, default=["float32", "int8"])
    parser.add_argument("--engines", type=listed, default=list(ENGINES))
    parser.add_argument("--samara-run", type=Path, default=ROOT / "build/aarch64/samara-run")
    options = parser.parse_args()
    files = Files(FOLDER)
    machine = Machine(files.folder / "aarch64")
    machine.folder.mkdir(parents=True, exist_ok=True)
    print(f"| model | form | {' | '.join(options.engines)} | best peer : samara |")
    print("|---|---|" + "---:|" * (len(options.engines) + 1))
    for model, form, cells in rows(machine, files, options):
        print(table_row(model, form, cells), flush=True)


if __name__ == "__main__":
    main()
