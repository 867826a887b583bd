# SPDX-License-Identifier: Apache-2.0
"""Write a seed of the fuzzers for every operator that has none: its smallest program of one node.

Usage: make_corpus.py [FOLDER]. Seeds that exist stay as they are: an old one is a good one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / room) for room in ("exporter", "pybridge"))]

from tests.ops.programs import Form, one_node  # noqa: E402

from samara.exporter.ir.file_write import assemble, rows_of  # noqa: E402
from samara.exporter.ops import OpSpec, all_ops  # noqa: E402
from samara.exporter.testing import case_inputs  # noqa: E402
from samara.exporter.types import ShapeError  # noqa: E402

CORPUS = ROOT / "runtime_c" / "fuzz" / "corpus" / "run"
# What holds the most: the fuzzer can change sizes that are symbols.
FORMS: tuple[Form, ...] = ("symbols", "static")


def seed(op: OpSpec) -> bytes | None:
    """The smallest file among the operator's cases whose inputs are not empty, or None."""
    for form in FORMS:
        files = []
        for case in op.cases:
            if any(a is not None and a.size == 0 for a in case_inputs(op, case)):
                continue
            try:
                made = one_node(op, case, form)
            except ShapeError:
                continue  # nothing says that the sizes of this case may be others
            if made is not None:
                files.append(b"".join(assemble(*rows_of(made.program, layout=True))))
        if files:
            return min(files, key=len)
    return None


def missing(folder: Path) -> list[OpSpec]:
    """The operators without a seed; control operators have programs of their own there."""
    return [
        op
        for op in all_ops()
        if "control" not in op.flags and not (folder / f"{op.name}.samara").exists()
    ]


def main() -> int:
    """0: every operator has its seed now; 1: some give none."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS
    bare = []
    for op in missing(folder):
        data = seed(op)
        if data is None:
            bare.append(op.name)
            continue
        (folder / f"{op.name}.samara").write_bytes(data)
        print(f"wrote {op.name}.samara, {len(data)} bytes")
    if bare:
        print(f"no case makes a seed: {', '.join(bare)}", file=sys.stderr)
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
