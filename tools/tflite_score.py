# SPDX-License-Identifier: Apache-2.0
"""Run the one-operator suite of TFLite through import, passes, file and C runtime, and write the score.

Every case runs in a worker process, so that a crash or a hang (of LiteRT or of samara) does not affect others.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / room) for room in ("exporter", "pybridge", ".")]

from tests.exporter.importers.tflite.suite.collection import suite  # noqa: E402
from tests.exporter.importers.tflite.suite.entries import Entry  # noqa: E402
from tests.exporter.importers.tflite.suite.judge import judged  # noqa: E402
from tools.score_workers import Failure, answers  # noqa: E402
from tools.tflite_page import Result, page, unexplained  # noqa: E402

SERVE = (sys.executable, "-W", "ignore", __file__, "--serve")


def serve() -> None:
    """The worker: reads the names of cases and answers each with a line of JSON."""
    sink = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # prints must not mix with the answers
    for line in sys.stdin:
        with np.errstate(all="ignore"):
            found = judged_safely(suite()[line.rstrip("\n")])
        print(json.dumps(found), file=sink, flush=True)


def judged_safely(entry: Entry) -> dict[str, Any]:
    """The verdict of a case as a row; an exception that nobody raised on purpose is the verdict "crash"."""
    try:
        return asdict(judged(entry, exact=True))
    except Exception as error:  # noqa: BLE001  (any exception is the case's verdict)
        return {"verdict": "crash", "reason": f"{type(error).__name__}: {error}"[:400]}


def result_of(name: str, answer: dict[str, Any] | Failure) -> Result:
    """The result of a case from its worker's answer."""
    e = suite()[name]
    case = (name, e.family, e.op, e.kind, e.group, e.element)
    if isinstance(answer, Failure):
        return Result(*case, answer.verdict, answer.reason)
    more: dict[str, Any] = {n: _steps(answer.get(n)) for n in ("reference", "default", "exact")}
    more |= {n: answer[n] for n in ("is_delegated", "by_real", "refusal") if n in answer}
    return Result(*case, answer["verdict"], answer.get("reason", ""), **more)


def _steps(row: dict[str, int] | None) -> tuple[int, int, int] | None:
    return None if row is None else (row["elements"], row["differ"], row["most"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="a regular expression over case names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per case")
    parser.add_argument("--json", type=Path, help="write every result here")
    parser.add_argument("--page", type=Path, help="write docs/reference/tflite-coverage.md here")
    parser.add_argument("--check", action="store_true", help="fail where --page would change")
    args = parser.parse_args()
    if args.serve:
        serve()
        return 0
    names = [name for name in suite() if re.search(args.only, name)]
    order = {name: i for i, name in enumerate(names)}
    results = []
    for i, (name, answer) in enumerate(answers(names, args.jobs, args.timeout, SERVE), 1):
        results.append(result_of(name, answer))
        if sys.stderr.isatty():
            print(f"\r{i}/{len(names)}", end="", file=sys.stderr)
    results.sort(key=lambda r: order[r.name])
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in results], indent=0))
    counts = Counter(r.verdict for r in results)
    print(", ".join(f"{n} {v}" for v, n in counts.most_common()))
    for r in results:
        if r.verdict != "right":
            print(f"{r.verdict} {r.name}: {r.reason}")
    missing = unexplained(results)
    for line in missing:
        print(f"no reason is registered: {line}")
    if args.page:
        return write_page(results, args.page, args.check) or int(bool(missing))
    return int(bool(missing) or any(v != "right" for v in counts))


def stable(text: str) -> str:
    """The page without the figures about integers, which depend on the kernels that LiteRT takes on a processor."""
    before, _, after = text.partition("## Integers\n")
    return before + after.partition("Some of LiteRT's arithmetic")[2]


def write_page(results: Sequence[Result], path: Path, check: bool) -> int:
    """Write the page, or with --check only report (exit status 1) that it is out of date."""
    version = f"ai-edge-litert {importlib.metadata.version('ai-edge-litert')}"
    text = page(results, version)
    if not check:
        path.write_text(text, encoding="utf-8")
        return 0
    old = path.read_text(encoding="utf-8")
    if version not in old:
        print(f"NOT RUN: {path} is about another version of LiteRT than {version}")
        return 0
    if stable(old) == stable(text):
        return 0
    print(f"{path} is stale: run `make tflite-score`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
