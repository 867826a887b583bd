# SPDX-License-Identifier: Apache-2.0
"""Write a seed of the fuzzers for every operator that has none: its smallest program of one node; and
one program of all dtypes.

Usage: make_corpus.py [FOLDER]. Seeds that exist stay as they are: an old one is a good one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / room) for room in ("exporter", "pybridge"))]

from tests.ops.programs import Form, one_node  # noqa: E402

from samara.exporter.ir import ProgramBuilder  # noqa: E402
from samara.exporter.ir.file_write import assemble, rows_of  # noqa: E402
from samara.exporter.ops import OpSpec, all_ops  # noqa: E402
from samara.exporter.testing import case_inputs  # noqa: E402
from samara.exporter.types import DType, ShapeError  # noqa: E402

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


def every_dtype() -> bytes:
    """A program in which a tensor of symbolic size takes on every dtype, is moved in each that takes
    whole bytes, and meets constants of the dtypes that share bytes.
    """
    pb = ProgramBuilder()
    b = pb.function("main")
    outs = []
    for dtype in DType:
        if dtype is DType.QS8:
            continue
        x = b.input(f"x_{dtype.short}", dtype, ["n", 3])
        if not dtype.is_packed:
            x = b.op("transpose", x, perm=(1, 0))
        for to in (DType.F64, DType.I4, DType.BF16, DType.U64, DType.U4, DType.I16):
            if to is not x.type.dtype:
                x = b.op("cast", x, to=to)
        outs.append(x)
    for dtype in (DType.I4, DType.U4):
        held = b.const(np.arange(7).astype(dtype.numpy), f"c_{dtype.short}", dtype)
        outs.append(b.op("reshape", held, shape=(7, 1)))
    b.finish(outs, [f"y{i}" for i in range(len(outs))])
    return b"".join(assemble(*rows_of(pb.finish(["main"]), layout=True)))


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
    if not (folder / "every_dtype.samara").exists():
        (folder / "every_dtype.samara").write_bytes(every_dtype())
        print("wrote every_dtype.samara")
    if bare:
        print(f"no case makes a seed: {', '.join(bare)}", file=sys.stderr)
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
