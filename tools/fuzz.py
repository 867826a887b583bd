# SPDX-License-Identifier: Apache-2.0
"""Run every libFuzzer target of a build for a while, starting from the committed corpora."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "runtime_c" / "fuzz"


def main() -> int:
    """Fuzz each target; new inputs stay in the build folder, crashes fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="per target")
    args = parser.parse_args()
    build = args.build.resolve()
    failed = []
    for source in sorted(FUZZ.glob("*_fuzz.c")):
        subject = source.stem.removesuffix("_fuzz")
        found = build / "found" / subject
        found.mkdir(parents=True, exist_ok=True)
        command = [
            str(build / source.stem),
            str(found),
            str(FUZZ / "corpus" / subject),
            f"-max_total_time={args.seconds}",
            f"-artifact_prefix={found.parent}/{subject}-",
            "-rss_limit_mb=4096",
            "-timeout=20",
            "-print_final_stats=1",
        ]
        if subprocess.run(command, cwd=build, check=False).returncode != 0:
            failed.append(source.stem)
    if failed:
        print(f"failed: {', '.join(failed)}; inputs are in {build / 'found'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
