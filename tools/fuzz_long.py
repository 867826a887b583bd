# SPDX-License-Identifier: Apache-2.0
"""Fuzz the readers of untrusted files for long, and add what ran to docs/reference/reliability.md.

C readers run under libFuzzer with sanitizers (`make fuzz-long` builds them), readers in Python by
tools/fuzz_readers.py. Each target adds one row when it ends: the count, the command and the seed. The
exit status is 1 if something was found; the inputs stay in the build folder.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / room) for room in ("exporter", "pybridge", ".")]

from tools import fuzz, fuzz_readers  # noqa: E402

import samara  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "reliability.md"
C_TARGETS: Final = ("open", "run", "state")
TARGETS: Final = (*C_TARGETS, *fuzz_readers.READERS)
# What is wanted of targets together.
AIMS: Final[Mapping[tuple[str, ...], int]] = {
    C_TARGETS: 10**8,
    **{(name,): 10**6 for name in fuzz_readers.READERS},
}
_ANY_NUMBER: Final = 10**15

TOTALS: Final = (
    "<!-- Totals of fuzzing, by tools/fuzz_long.py. -->",
    "<!-- End of the totals. -->",
)
RUNS: Final = ("<!-- Runs of fuzzing, by tools/fuzz_long.py. -->", "<!-- End of the runs. -->")
_TOTALS_HEAD: Final = "| target | runs | executions | aim |\n|---|---|---|---|\n"
_RUNS_HEAD: Final = (
    "| date | version | target | command | seed | executions | findings |\n"
    "|---|---|---|---|---|---|---|\n"
)
_STAT: Final = re.compile(r"^stat::number_of_executed_units: *(\d+)$", re.MULTILINE)
_PULSE: Final = re.compile(r"^#(\d+)\t", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One target's run: a row of the table."""

    date: str
    version: str
    target: str
    command: str
    seed: int
    executions: int
    findings: int

    def row(self) -> str:
        cells = (self.date, self.version, self.target, f"`{self.command}`", str(self.seed))
        return f"| {' | '.join(cells)} | {self.executions:,} | {self.findings} |\n"

    @staticmethod
    def of(row: str) -> Run:
        """The run of a row; ValueError if it is none."""
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        date, version, target, command, seed, executions, findings = cells
        numbers = (int(seed), int(executions.replace(",", "")), int(findings))
        return Run(date, version, target, command.strip("`"), *numbers)


# ---- the page


def _between(text: str, marks: tuple[str, str]) -> str:
    return text.partition(marks[0] + "\n")[2].partition(marks[1])[0]


def runs_of(text: str) -> list[Run]:
    """The runs in a page, in its order."""
    return [Run.of(line) for line in _between(text, RUNS).splitlines()[2:]]


def totals(runs: Sequence[Run]) -> str:
    """The table of totals: each target, and targets that have an aim together."""
    made = _TOTALS_HEAD
    for names, aim in AIMS.items():
        for name in names:
            made += _total(
                name, [r for r in runs if r.target == name], aim if len(names) == 1 else 0
            )
        if len(names) > 1:
            made += _total(", ".join(names), [r for r in runs if r.target in names], aim)
    return made


def _total(name: str, runs: Sequence[Run], aim: int) -> str:
    wanted = f"{aim:,}" if aim else ""
    return f"| {name} | {len(runs)} | {sum(r.executions for r in runs):,} | {wanted} |\n"


def with_run(text: str, run: Run | None = None) -> str:
    """The page with one more run and the new totals."""
    runs = [*runs_of(text), *([run] if run else [])]
    rows = _RUNS_HEAD + "".join(r.row() for r in runs)
    for marks, table in ((RUNS, rows), (TOTALS, totals(runs))):
        head, mark, rest = text.partition(marks[0] + "\n")
        text = head + mark + table + marks[1] + rest.partition(marks[1])[2]
    return text


def next_seed(text: str, target: str) -> int:
    """The smallest seed above all that a target ran with."""
    return 1 + max((r.seed for r in runs_of(text) if r.target == target), default=0)


# ---- the targets


def executed(text: str) -> int:
    """How many inputs libFuzzer ran, by its output."""
    stat = _STAT.findall(text)
    pulses = _PULSE.findall(text)  # a crash may leave no statistics
    return int(stat[-1]) if stat else int(pulses[-1]) if pulses else 0


def _run_c(target: str, args: argparse.Namespace, seed: int) -> tuple[int, int]:
    runs = args.executions if args.executions is not None else -1
    source = fuzz.FUZZ / f"{target}_fuzz.c"
    seconds = args.seconds if args.seconds is not None else 0
    _, passed, text = fuzz.search(args.build, source, seconds, runs=runs, seed=seed)
    print(text if not passed else "", end="", flush=True)
    return executed(text), 0 if passed else 1


def _run_python(target: str, args: argparse.Namespace, seed: int) -> tuple[int, int]:
    reader = fuzz_readers.READERS[target]()
    most = args.executions if args.executions is not None else _ANY_NUMBER
    seconds = args.seconds if args.seconds is not None else float("inf")
    outcome = fuzz_readers.search(reader, seed, most, seconds)
    for path in fuzz_readers.save(reader, seed, outcome, args.build / "found" / "readers"):
        print(f"{path}\n{Path(f'{path}.txt').read_text(encoding='utf-8')}", flush=True)
    return outcome.executions, len(outcome.findings)


def version() -> str:
    """The version and the commit of the checkout; a + stands for sources that are not committed."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run(
        [*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True
    )
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", ":!docs"], check=False
    ).returncode
    return f"{samara.__version__} {commit.stdout.strip()}{'+' if changed else ''}"


def _command(target: str, args: argparse.Namespace, seed: int) -> str:
    limits = ((name, getattr(args, name)) for name in ("seconds", "executions"))
    given = "".join(f" --{name} {value}" for name, value in limits if value is not None)
    return f"tools/fuzz_long.py --target {target}{given} --seed {seed}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz targets one after another, and add a row for each. Findings give status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="default: all")
    parser.add_argument("--seconds", type=int, help="per target; default: 600 without --executions")
    parser.add_argument("--executions", type=int, help="at most so many per target")
    parser.add_argument("--seed", type=int, help="default: one that the target has not had")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--page", type=Path, default=PAGE)
    args = parser.parse_args(arguments)
    if args.seconds is None and args.executions is None:
        args.seconds = 600
    args.build = args.build.resolve()
    found = 0
    for target in args.target or TARGETS:
        seed = args.seed or next_seed(args.page.read_text(encoding="utf-8"), target)
        date, what = datetime.datetime.now(datetime.UTC).date().isoformat(), version()
        run_target = _run_c if target in C_TARGETS else _run_python
        executions, findings = run_target(target, args, seed)
        run = Run(date, what, target, _command(target, args, seed), seed, executions, findings)
        text = args.page.read_text(encoding="utf-8")
        args.page.write_text(with_run(text, run), encoding="utf-8")
        print(run.row(), end="", flush=True)
        found += findings
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
