# SPDX-License-Identifier: Apache-2.0
"""Scaffold an operator: its row, its export, its C glue and their tests, ready to be filled in."""

from __future__ import annotations

import argparse
import builtins
import keyword
import re
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPS = "exporter/samara/exporter/ops"

# Family -> its range of codes.
FAMILIES = {
    "unary": range(1, 50),
    "binary": range(50, 80),
    "linear": range(80, 90),
    "pool": range(90, 100),
    "norm": range(100, 110),
    "reduce": range(110, 130),
    "movement": range(130, 160),
    "indexing": range(130, 160),
    "resampling": range(130, 160),
    "recurrent": range(160, 170),
    "quantization": range(180, 200),
}
# Where the rows of a family lie below OPS; those that are not named: in FAMILY/rows.
_ROWS = {
    "unary": "pointwise/rows_unary",
    "binary": "pointwise/rows_binary",
    "resampling": "resampling/rows_resize",
}
# Family module -> its folder of runtime_c/src/ops.
C_FOLDERS = {
    "unary": "pointwise",
    "binary": "pointwise",
    "linear": "matmul",
    "pool": "pool",
    "norm": "norm",
    "reduce": "reduce",
    "movement": "move",
    "indexing": "move",
    "resampling": "resample",
    "recurrent": "recurrent",
    "quantization": "quantize",
}
# Codes beyond the ranges, up to what the unions of attribute tables hold (ir/schema.py).
OVERFLOW = range(200, 501)


@dataclass(frozen=True)
class Scaffold:
    """What to write: new files, and texts to add to files that exist."""

    created: dict[str, str]
    changed: dict[str, str]


def module(family: str) -> str:
    """Where the rows of a family lie: a path below OPS, without `.py`."""
    return _ROWS.get(family, f"{family}/rows")


def free_code(family: str, taken: Collection[int]) -> int:
    """The first free code of the family, or of the common reserve."""
    free: list[int] = [c for c in (*FAMILIES[family], *OVERFLOW) if c not in taken]
    if not free:
        raise ValueError(f"family {family} has no free code; widen its range in tools/new_op.py")
    return free[0]


def variable(name: str) -> str:
    """What the row is called in its module."""
    return f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) else name


def row(name: str, code: int, family: str) -> str:
    """The declaration, computing the identity and its gradient until it is told better."""
    var = variable(name)
    if family == "unary":
        return f'''
{var} = unary_row(
    "{name}",
    {code},
    _f(lambda x: x),
    "y = x",
    grad=lambda ctx: (ctx.dy,),
)
'''
    if family == "binary":
        return f'''
{var} = _row(
    "{name}",
    {code},
    lambda a, b: a + 0 * b,
    "y = a",
    dtypes=("f32", "f16"),
    grad=lambda ctx: (rules.add(ctx)[0], None),
)
'''
    return f'''

def _{name}_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (ctx.x,)


def _{name}(x: Array) -> Array:
    return x.copy()


{var} = define(
    OpSpec(
        name="{name}",
        code={code},
        inputs=("x",),
        outputs=("y",),
        infer=_{name}_type,
        reference=_{name},
        doc="y = x",
        kind=Kind.POINTWISE,
        dtypes=("f32",),
        check="same",
        grad=lambda ctx: (ctx.dy,),
        cases=(Case((("f32", (7,)),)), Case((("f32", (2, 3, 17)),))),
    )
)
'''


def export_line(name: str, family: str) -> str:
    """The import that brings the row into the table."""
    var = variable(name)
    dotted = module(family).replace("/", ".")
    return f"from samara.exporter.ops.{dotted} import {var} as {var}"


def with_export(text: str, name: str, family: str) -> str:
    """ops/__init__.py with the new row, imports in order."""
    lines = text.split("\n")
    new = export_line(name, family)
    imports = [i for i, line in enumerate(lines) if line.startswith("from samara.exporter.ops")]
    place = next((i for i in imports if lines[i] > new), imports[-1] + 1)
    lines.insert(place, new)
    var = variable(name)
    if var != name and not keyword.iskeyword(name):
        lines.insert(lines.index("freeze()") - 1, f"{name} = {var}")
    return "\n".join(lines)


def glue(name: str, inputs: int) -> str:
    """C that compiles and says at run time that the kernel is missing."""
    checks = "".join(
        f"  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], {other}));\n"
        for other in [
            *(f'job->inputs[{i}], "inputs"' for i in range(1, inputs)),
            'job->outputs[0], "input and output"',
        ]
    )
    return f"""// SPDX-License-Identifier: Apache-2.0
// {name}.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/table/funcs.h"

static samara_status {name}_check(const struct smr_job *job) {{
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_FLOAT));
{checks}  return SAMARA_OK;
}}

static samara_status {name}_prepare(struct smr_job *job) {{
  job->tiles = 1;
  job->kernel = "{name}";
  return SAMARA_OK;
}}

static samara_status {name}_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {{
  (void)begin;
  (void)end;
  (void)thread_scratch;
  SMR_FAIL(job->error, UNSUPPORTED, "%s: {name} is not implemented", job->name);
}}

const struct smr_op_funcs smr_op_{name}_funcs = {{
    .check = {name}_check, .prepare = {name}_prepare, .run = {name}_run}};
"""  # fmt: skip


def glue_test(name: str, inputs: int) -> str:
    """A C test that fails until the kernel is there."""
    given = "".join("  op_in(&t, SAMARA_FLOAT32, 1, dims, x);\n" for _ in range(inputs))
    return f"""// SPDX-License-Identifier: Apache-2.0
// {name}.
#include "base/fp.h"

#include "ops/op_harness.h"

SMR_TEST(known_answers) {{
  const int64_t dims[] = {{3}};
  const float x[] = {{-1.0f, 0.0f, 2.0f}};
  const float expected[] = {{-1.0f, 0.0f, 2.0f}};
  struct op_test t;
  op_begin(&t, "{name}");
{given}  op_out(&t, SAMARA_FLOAT32, 1, dims);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) CHECK_MEM(t.out[0].data, expected, sizeof expected);
  op_end(&t);
}}

SMR_TEST_MAIN(RUN(known_answers))
"""


def scaffold(root: Path, name: str, family: str, taken: dict[int, str]) -> Scaffold:
    """What a new operator needs under `root`; ValueError for a name that cannot be."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} is not a name in snake_case")
    if name in taken.values():
        raise ValueError(f"operator {name} exists")
    if family not in FAMILIES:
        raise ValueError(f"there is no family {family}; it is one of {', '.join(FAMILIES)}")
    inputs = 2 if family == "binary" else 1
    rows, face = f"{OPS}/{module(family)}.py", f"{OPS}/__init__.py"
    code, folder = free_code(family, taken), C_FOLDERS[family]
    return Scaffold(
        created={
            f"runtime_c/src/ops/{folder}/op_{name}.c": glue(name, inputs),
            f"runtime_c/tests/ops/{folder}/op_{name}_test.c": glue_test(name, inputs),
        },
        changed={
            rows: (root / rows).read_text(encoding="utf-8") + row(name, code, family),
            face: with_export((root / face).read_text(encoding="utf-8"), name, family),
        },
    )


def codes(root: Path) -> dict[int, str]:
    """Code -> name of every operator, from the lock."""
    rows = (root / OPS / "ops.lock").read_text(encoding="utf-8").splitlines()
    found = (re.match(r'\{"code": (\d+), "name": "(\w+)"', line) for line in rows)
    return {int(m[1]): m[2] for m in found if m}


def main(arguments: Sequence[str] | None = None) -> int:
    """0: written; 1: refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="in snake_case")
    parser.add_argument("--family", default="unary", choices=FAMILIES)
    options = parser.parse_args(arguments)
    try:
        plan = scaffold(ROOT, options.name, options.family, codes(ROOT))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    exists = [path for path in plan.created if (ROOT / path).exists()]
    if exists:
        print(f"{exists[0]} exists", file=sys.stderr)
        return 1
    for path, text in {**plan.created, **plan.changed}.items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    # A process of its own: the table of this one, if any, is closed.
    generator = [sys.executable, str(ROOT / "tools" / "gen_ops.py")]
    result = subprocess.run(generator, check=False).returncode
    if result == 0:
        print(f"next: docs/adding-an-op.md, step 2, in {OPS}/{module(options.family)}.py")
    return result


if __name__ == "__main__":
    sys.exit(main())
