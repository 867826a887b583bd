# SPDX-License-Identifier: Apache-2.0
"""Run every libFuzzer target of a build for some time, starting from the committed corpora."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "runtime_c" / "fuzz"


def search(
    build: Path, source: Path, seconds: int, *, runs: int = -1, seed: int = 0
) -> tuple[str, bool, str]:
    """The target's name, whether it found nothing, and the last output of libFuzzer.

    runs: the most executions, -1 for any number. seed: 0 for one of the time.
    """
    subject = source.stem.removesuffix("_fuzz")
    found = build / "found" / subject
    found.mkdir(parents=True, exist_ok=True)
    command = [
        str(build / f"{source.stem}_search"),
        str(found),
        str(FUZZ / "corpus" / subject),
        f"-max_total_time={seconds}",
        f"-runs={runs}",
        f"-seed={seed}",
        f"-artifact_prefix={found.parent}/{subject}-",
        "-rss_limit_mb=4096",
        "-timeout=20",
        "-print_final_stats=1",
    ]
    done = subprocess.run(
        command,
        cwd=build,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return source.stem, done.returncode == 0, done.stdout[-8000:]


def main() -> int:
    """Fuzz all targets in parallel. New inputs stay in the build folder; crashes fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="per target")
    args = parser.parse_args()
    build = args.build.resolve()
    sources = sorted(FUZZ.glob("*_fuzz.c"))
    failed = []
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for name, passed, text in pool.map(lambda s: search(build, s, args.seconds), sources):
            print(f"== {name}\n{text}", flush=True)
            if not passed:
                failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}; inputs are in {build / 'found'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
