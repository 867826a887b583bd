# SPDX-License-Identifier: Apache-2.0
"""Measure selective builds of known models, the core and the full runtime, and compare them with
runtime_c/size_budget.txt.

Usage: size.py [--target T …] [--opt s|2 …] [--only NAME …] or size.py --write. A build more than 2 % over its budget
fails; --write updates the budget and docs/internals/size.md. Missing models of SAMARA_MODELS and missing compilers are
printed as NOT RUN.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

import samara
from samara.exporter.measure.survey import needs_of
from samara.exporter.package.features import BACKENDS, FEATURES
from samara.exporter.package.runtime_build import build_dist, for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.size_bill import SizeBill
from samara.exporter.package.targets import find_target
from samara.exporter.package.toolchain import Toolchain, find_toolchain
from samara.exporter.types import BackendError

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "runtime_c" / "size_budget.txt"
PAGE = ROOT / "docs" / "internals" / "size.md"
TARGETS = ("x86_64-linux-gnu", "aarch64-linux-gnu")
OPTS = ("s", "2")
GROWTH = 1.02

_CONTROL = frozenset({"control_if", "control_loop", "control_call", "control_trap", "symbolic"})
_DEVICES = frozenset({"backends", "backend_auto", *BACKENDS})
_HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Bytes of .text, .rodata, .data and .data.rel.ro of shared libraries that `samara build` makes with
# gcc: `make size` measures, fails over 2 % more, and `make size SIZE_ARGS=--write` writes this file and
# docs/internals/size.md. A row: target, optimisation, build, bytes.
"""
_PAGE_HEAD = """\
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by `make size SIZE_ARGS=--write`. -->
# Size

For those who count bytes.
Bytes of `.text`, `.rodata`, `.data` and `.data.rel.ro` of the shared library that `samara build`
makes, with gcc, all instruction sets of the target inside (x86-64: AVX2, AVX-512 and VNNI over
portable C; aarch64: NEON, dot products, i8mm). Weights are not in it. CI holds every number: 2 %
more fails. `samara build --size-report` prints the bill of your own models;
[selective-builds.md](../guides/selective-builds.md) says how a build is made.
"""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Subject:
    """A measured build; `features` None stands for the defaults of `samara build`."""

    name: str
    what: str
    selection: Callable[[Path], Selection]
    features: tuple[str, ...] | None = None


# ---- what is weighed ----


def _core(_folder: Path) -> Selection:
    ops = dict.fromkeys(("if", "loop", "call", "trap"))
    return Selection(ops=ops, parts=_CONTROL)


def _all_of(word: str) -> Callable[[Path], Selection]:
    # Everything for the CPU; the size of a backend is measured in a separate build.
    offered = ",".join(name for name in FEATURES if name not in _DEVICES)
    text = f"samara-manifest 1\nfeatures {offered}\nops {word}\nparts all\n"
    return lambda _folder: Selection.parse(text)


def _shared(name: str) -> Callable[[Path], Selection]:
    def selection(folder: Path) -> Selection:
        models = os.environ.get("SAMARA_MODELS")
        if not models:
            raise FileNotFoundError("SAMARA_MODELS is not set")
        (source,) = (Path(models) / name).glob("*.onnx")
        return _exported(samara.import_onnx(source), folder / f"{name}.samara")

    return selection


def _written(
    name: str, scheme: str | None = None, backend: str | None = None
) -> Callable[[Path], Selection]:
    def selection(folder: Path) -> Selection:
        model = getattr(_zoo(), name)()
        program = samara.import_onnx(model)
        if scheme is not None:
            rng = np.random.default_rng(0)
            feeds = {
                v.name: rng.standard_normal([int(str(d)) for d in v.type.shape]).astype(np.float32)
                for v in program.main.inputs
            }
            program = samara.quantize(program, [feeds], scheme=scheme)
        return _exported(program, folder / f"{name}-{scheme}-{backend}.samara", backend)

    return selection


def _exported(program: samara.Program, path: Path, backend: str | None = None) -> Selection:
    samara.export(program, path, check=False)
    return needs_of(path, backend=backend).selection


def _zoo() -> ModuleType:
    """The models of the benchmarks, which are not an installed package."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("benchmarks.zoo")


SUBJECTS = (
    Subject("core", "opens, verifies, plans, runs if, loop and call", _core, ("files",)),
    Subject("micro_kws_int8", "keyword net, convolutions in int8", _shared("micro_kws_m_qdq")),
    Subject("mnist", "two convolutions and a product", _shared("mnist_cntk")),
    Subject("mobilenet_v2_float32", "MobileNetV2 in float32", _written("mobilenet_v2")),
    Subject("mobilenet_v2_int8", "the same in int8", _written("mobilenet_v2", "int8")),
    Subject(
        "mobilenet_v2_opencl",
        "in float32, on devices of OpenCL too",
        _written("mobilenet_v2", backend="opencl"),
        ("files", "threads", "opencl"),
    ),
    Subject("silero", "voice detector: STFT, convolutions, LSTM", _shared("silero_vad_v5")),
    Subject("transformer", "pre-norm encoder, float32", _written("transformer")),
    Subject("inference", "all operators but those of training", _all_of("inference")),
    Subject("everything", "all operators", _all_of("all")),
)


# ---- weighing ----


def weigh(
    subject: Subject, selection: Selection, tools: Toolchain, opt: str, folder: Path
) -> SizeBill:
    """The bill of one build."""
    chosen = for_target(selection, tools.target, wanted=subject.features)
    out = folder / f"{subject.name}-{tools.target.name}-{opt}"
    return build_dist(chosen, out, tools=tools, opt=opt, programs=False).bill


def weigh_all(
    targets: Sequence[str], opts: Sequence[str], names: Sequence[str]
) -> tuple[dict[Key, SizeBill], list[str]]:
    """Bills by (target, optimisation, build), and a list of what could not be measured."""
    missing: list[str] = []
    chains = [tools for target in targets if (tools := _tools(target, missing))]
    with tempfile.TemporaryDirectory(prefix="samara-size-") as scratch:
        folder = Path(scratch)
        jobs: list[tuple[Key, Subject, Selection, Toolchain]] = []
        for subject in SUBJECTS:
            if names and subject.name not in names:
                continue
            try:
                selection = subject.selection(folder)
            except FileNotFoundError as error:
                missing.append(f"the size of {subject.name} ({error})")
                continue
            for tools in chains:
                jobs += [
                    ((tools.target.name, o, subject.name), subject, selection, tools) for o in opts
                ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            bills = pool.map(lambda j: weigh(j[1], j[2], j[3], j[0][1], folder), jobs)
            return dict(zip([job[0] for job in jobs], bills, strict=True)), missing


def _tools(target: str, missing: list[str]) -> Toolchain | None:
    try:
        return find_toolchain(find_target(target))
    except BackendError as error:
        missing.append(f"sizes for {target} ({error.message})")
        return None


# ---- the budget ----


def read_budget(text: str) -> dict[Key, int]:
    """Rows `target optimisation build bytes`; # starts a comment."""
    rows = [line.split("#")[0].split() for line in text.splitlines()]
    return {(row[0], row[1], row[2]): int(row[3]) for row in rows if row}


def budget_text(sizes: Mapping[Key, int]) -> str:
    """The file that read_budget reads."""
    return _HEAD + "".join(f"{' '.join(key)} {size}\n" for key, size in sizes.items())


def over_budget(sizes: Mapping[Key, int], budget: Mapping[Key, int]) -> Iterator[str]:
    """Builds that grew by more than 2 %, and builds without a budget."""
    for key, size in sizes.items():
        name = " ".join(key)
        if key not in budget:
            yield f"{name}: {size:,} bytes, without a budget: make size SIZE_ARGS=--write"
        elif size > budget[key] * GROWTH:
            yield (
                f"{name}: {size:,} bytes, {size / budget[key] - 1:.1%} over its budget of"
                f" {budget[key]:,}"
            )


def page(sizes: Mapping[Key, int], bills: Mapping[Key, SizeBill]) -> str:
    """docs/internals/size.md."""
    columns = [(target, opt) for target in TARGETS for opt in OPTS]
    lines = [
        _PAGE_HEAD,
        "| build | what | " + " | ".join(f"{_short(t)} -O{o}" for t, o in columns) + " |",
        "|---|---|" + "---:|" * len(columns),
    ]
    for subject in SUBJECTS:
        cells = [sizes.get((t, o, subject.name)) for t, o in columns]
        numbers = " | ".join("" if n is None else f"{n:,}" for n in cells)
        lines.append(f"| `{subject.name}` | {subject.what} | {numbers} |")
    lines += ["", "Where they lie, x86-64, `-Os`:", "", *_rooms(bills)]
    return "\n".join(lines) + "\n"


def _short(target: str) -> str:
    return target.partition("-")[0].replace("_", "-")


def _rooms(bills: Mapping[Key, SizeBill]) -> list[str]:
    shown = {key[2]: bill for key, bill in bills.items() if key[:2] == (TARGETS[0], "s")}
    totals = {name: _by_room(bill) for name, bill in shown.items()}
    rooms = sorted({room for rows in totals.values() for room in rows})
    lines = ["| build | " + " | ".join(rooms) + " |", "|---|" + "---:|" * len(rooms)]
    for name, rows in totals.items():
        lines.append(f"| `{name}` | " + " | ".join(f"{rows.get(r, 0):,}" for r in rooms) + " |")
    return lines


def _by_room(bill: SizeBill) -> dict[str, int]:
    rooms: dict[str, int] = {}
    for row in bill.rows:
        rooms[row.room] = rooms.get(row.room, 0) + row.size_bytes
    return rooms


def main(arguments: Iterable[str] | None = None) -> int:
    """Print each build's size; exit 1 when one is over its budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--opt", action="append", choices=OPTS)
    parser.add_argument("--only", action="append", default=[], choices=[s.name for s in SUBJECTS])
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(None if arguments is None else list(arguments))
    if args.write and (args.target or args.opt or args.only):
        parser.error("--write measures everything")
    with contextlib.suppress(AttributeError):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    bills, missing = weigh_all(args.target or TARGETS, args.opt or OPTS, args.only)
    sizes = {key: bill.counted for key, bill in bills.items()}
    budget = read_budget(BUDGET.read_text(encoding="utf-8"))
    for key, size in sizes.items():
        print(f"{' '.join(key)}: {size:,} bytes of {budget.get(key, 0):,}")
    for text in missing:
        print(f"NOT RUN: {text}")
    if args.write:
        if missing:
            parser.error("--write needs all compilers and models")
        BUDGET.write_text(budget_text(sizes), encoding="utf-8")
        PAGE.write_text(page(sizes, bills), encoding="utf-8")
        return 0
    grown = list(over_budget(sizes, budget))
    print("\n".join(grown), file=sys.stderr) if grown else None
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
