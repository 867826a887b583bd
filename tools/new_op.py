# SPDX-License-Identifier: Apache-2.0
"""Scaffold an operator that computes the identity, with tests, ready to be changed into the real one.

Usage: new_op.py NAME                  elementwise: a row with a formula
       new_op.py NAME --operands 2     the same with two operands that broadcast
       new_op.py NAME --family FAMILY  a row, its C glue and a folder of kernels
       new_op.py NAME --of OPERATOR    the int8 form of an operator: a row and its C
"""

from __future__ import annotations

import argparse
import ast
import builtins
import keyword
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPS = "exporter/samara/exporter/ops"
TEMPLATES = ROOT / "tools" / "templates"


@dataclass(frozen=True)
class Family:
    """A folder below OPS.

    codes: the range of its operators. c: its folder in runtime_c/src/ops. kind: how most of its operators treat
    elements. rows: the file of its rows.
    """

    codes: range
    c: str
    kind: str
    rows: str = "rows"


FAMILIES = {
    "attention": Family(range(150, 160), "attention", "PRODUCT"),
    "columns": Family(range(150, 160), "conv", "WINDOW"),
    "indexing": Family(range(130, 160), "move", "MOVING"),
    "linear": Family(range(80, 90), "matmul", "PRODUCT"),
    "movement": Family(range(130, 160), "move", "MOVING"),
    "norm": Family(range(100, 110), "norm", "NORMALISING"),
    "pointwise": Family(range(1, 80), "pointwise", "POINTWISE", "rows_unary"),
    "pool": Family(range(90, 100), "pool", "WINDOW"),
    "quantization": Family(range(180, 200), "quantize", "CONVERTING"),
    "recurrent": Family(range(160, 170), "recurrent", "RECURRENT"),
    "reduce": Family(range(110, 130), "reduce", "REDUCING"),
    "resampling": Family(range(130, 160), "resample", "RESAMPLING", "rows_resize"),
    "signal": Family(range(150, 160), "signal", "TRANSFORM"),
}
INT8_CODES = range(180, 200)
# Codes beyond the ranges, up to the limit of the unions of attribute tables (ir/schema.py).
OVERFLOW = range(200, 501)

_SPEC = ("Case", "OpSpec", "define")
_ARITHMETIC = (
    "INTEGER_ONLY",
    "OUTPUT",
    "given",
    "output_quant",
    "requantized",
    "require_multiplier",
)
# Imports that a row needs: module -> names.
_ELEMENTWISE_IMPORTS: Mapping[str, tuple[str, ...]] = {"samara.exporter": ("ops",)}
_FAMILY_IMPORTS: Mapping[str, tuple[str, ...]] = {
    "samara.exporter": ("ops",),
    "samara.exporter.ops.facts": ("Kind",),
    "samara.exporter.ops.numeric": ("Array",),
    "samara.exporter.ops.shape_rules": ("same",),
    "samara.exporter.ops.spec": _SPEC,
}
_INT8_IMPORTS: Mapping[str, tuple[str, ...]] = {
    "collections.abc": ("Mapping", "Sequence"),
    "typing": ("Any",),
    "samara.exporter.ops.facts": ("Kind",),
    "samara.exporter.ops.integer": ("Form", "Given"),
    "samara.exporter.ops.numeric": ("Array",),
    "samara.exporter.ops.quantization.arithmetic": (*_ARITHMETIC, "whole"),
    "samara.exporter.ops.spec": (*_SPEC, "InferContext"),
    "samara.exporter.types": ("DType", "Quant", "TensorType"),
}


@dataclass(frozen=True)
class Scaffold:
    """The files to write: new ones, and existing ones with texts added.

    edited: those that the author must complete, the row's file first.
    """

    created: dict[str, str]
    changed: dict[str, str]
    edited: tuple[str, ...]


def free_code(codes: range, taken: Collection[int]) -> int:
    """The first free code of a range, or of the common reserve."""
    free: list[int] = [c for c in (*codes, *OVERFLOW) if c not in taken]
    if not free:
        raise ValueError("no code is free; widen OVERFLOW in tools/new_op.py")
    return free[0]


def variable(name: str) -> str:
    """The variable of the row in its module."""
    return f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) else name


def filled(template: str, fields: Mapping[str, object]) -> str:
    """A file of TEMPLATES with its fields set."""
    text = (TEMPLATES / f"{template}.in").read_text(encoding="utf-8")
    return re.sub("@([a-zA-Z]+)@", lambda m: str(fields[m[1]]), text)


def with_imports(text: str, wanted: Mapping[str, Sequence[str]]) -> str:
    """A module with these names added to its imports."""
    imports = [n for n in ast.parse(text).body if isinstance(n, (ast.Import, ast.ImportFrom))]
    have = {(n.module, a.name) for n in imports if isinstance(n, ast.ImportFrom) for a in n.names}
    lacks = [(m, [n for n in names if (m, n) not in have]) for m, names in wanted.items()]
    lines = [f"from {module} import {', '.join(names)}" for module, names in lacks if names]
    if "numpy" in wanted and not any(a.name == "numpy" for n in imports for a in n.names):
        lines.append("import numpy as np")
    at = imports[-1].end_lineno
    rows = text.split("\n")
    return "\n".join([*rows[:at], *lines, *rows[at:]])


def export_line(name: str, module: str) -> str:
    """The import that adds the row to the table; `module` is a path below OPS."""
    var = variable(name)
    return f"from samara.exporter.ops.{module.replace('/', '.')} import {var} as {var}"


def with_export(text: str, name: str, module: str) -> str:
    """ops/__init__.py with the new row, imports in order."""
    lines = text.split("\n")
    new = export_line(name, module)
    imports = [i for i, line in enumerate(lines) if line.startswith("from samara.exporter.ops")]
    place = next((i for i in imports if lines[i] > new), imports[-1] + 1)
    lines.insert(place, new)
    var = variable(name)
    if var != name and not keyword.iskeyword(name):
        lines.insert(lines.index("freeze()") - 1, f"{name} = {var}")
    return "\n".join(lines)


def module_of(root: Path, name: str) -> str:
    """The module of an operator's row, as a path below OPS without `.py`."""
    face = (root / OPS / "__init__.py").read_text(encoding="utf-8")
    line = rf"^from samara\.exporter\.ops\.(\S+) import {variable(name)} as {variable(name)}$"
    found = re.search(line, face, re.MULTILINE)
    if found is None:
        raise ValueError(f"there is no operator {name}")
    return found[1].replace(".", "/")


def with_integer(text: str, of: str, form: str) -> str:
    """The module of the row `of` with `form` as its integer form."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if getattr(node.targets[0], "id", "") != variable(of):
            continue
        row = node.value
        if row.args and isinstance(row.args[0], ast.Call):  # define(OpSpec(...))
            row = row.args[0]
        if any(k.arg == "integer" for k in row.keywords):
            raise ValueError(f"{of} has an integer form")
        last = max([*row.args, *(k.value for k in row.keywords)], key=lambda e: e.end_lineno or 0)
        lines = text.split("\n")
        at = last.end_lineno or 0
        column = len(lines[at - 1].encode()[: last.end_col_offset].decode())
        rest = lines[at - 1][column:].removeprefix(",")
        field = f', integer=Integer(Role.COMPUTED, "{form}"),'
        lines[at - 1] = lines[at - 1][:column] + field + rest
        wanted = {"samara.exporter.ops.integer": ("Integer", "Role")}
        return with_imports("\n".join(lines), wanted)
    raise ValueError(f"the row of {of} was not found")


def version(root: Path) -> str:
    """The version that introduces the operator."""
    header = (root / "runtime_c/include/samara/samara.h").read_text(encoding="utf-8")
    found = re.search(r'#define SAMARA_VERSION "([0-9.]+)', header)
    assert found is not None
    return found[1]


def scaffold(
    root: Path,
    name: str,
    taken: Mapping[int, str],
    family: str = "",
    of: str = "",
    operands: int = 1,
) -> Scaffold:
    """The files that a new operator needs under `root`. ValueError for an invalid one.

    Without `family` it is elementwise with this number of operands; `of` makes it the int8 form of that
    operator.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} is not a name in snake_case")
    if name in taken.values():
        raise ValueError(f"operator {name} exists")
    if family and family not in FAMILIES:
        raise ValueError(f"there is no family {family}; it is one of {', '.join(FAMILIES)}")
    module = module_of(root, of) if of else ""
    own = FAMILIES[module.split("/")[0] if of else family if family else "pointwise"]
    fields = {
        "name": name,
        "NAME": name.upper(),
        "variable": variable(name),
        "code": free_code(INT8_CODES if of else own.codes, taken),
        "version": version(root),
        "kind": own.kind,
        "of": of,
    }
    source, test = f"runtime_c/src/ops/{own.c}", f"runtime_c/tests/ops/{own.c}"
    kernels = f"runtime_c/src/kernels/f32_{name}"
    imports: Mapping[str, tuple[str, ...]]
    if of:
        created = {
            f"{source}/op_{name}.c": filled("int8.c", fields),
            f"{test}/op_{name}_test.c": filled("int8_test.c", fields),
        }
        int8 = f"{module.split('/')[0]}/rows_int8"
        rows = int8 if (root / OPS / f"{int8}.py").exists() else module
        texts = {module: with_integer(_module(root, module), of, name)}
        row, imports = filled("int8.py", fields), {**_INT8_IMPORTS, "numpy": ()}
    elif family:
        created = {
            f"{source}/op_{name}.c": filled("op.c", fields),
            f"{test}/op_{name}_test.c": filled("op_test.c", fields),
            f"{kernels}/f32_{name}.h": filled("kernel.h", fields),
            f"{kernels}/f32_{name}.c": filled("kernel.c", fields),
            f"{kernels}/body.h": filled("body.h", fields),
            f"runtime_c/tests/kernels/f32_{name}/f32_{name}_test.c": filled(
                "kernel_test.c", fields
            ),
        }
        rows, texts = f"{family}/{own.rows}", {}
        row, imports = filled("family.py", fields), _FAMILY_IMPORTS
    else:
        created, texts = {}, {}
        imports = _ELEMENTWISE_IMPORTS if operands == 1 else {}
        files = {1: ("rows_unary", "elementwise.py"), 2: ("rows_binary", "elementwise_2.py")}
        rows, row = f"pointwise/{files[operands][0]}", filled(files[operands][1], fields)
    text = texts.get(rows, _module(root, rows))
    texts[rows] = with_imports(text, imports) + row
    face = (root / OPS / "__init__.py").read_text(encoding="utf-8")
    changed = {f"{OPS}/{path}.py": text for path, text in texts.items()}
    changed[f"{OPS}/__init__.py"] = with_export(face, name, rows)
    whole = f"{kernels}/f32_{name}.c"  # right for any body
    return Scaffold(created, changed, (f"{OPS}/{rows}.py", *(p for p in created if p != whole)))


def _module(root: Path, path: str) -> str:
    return (root / OPS / f"{path}.py").read_text(encoding="utf-8")


def codes(root: Path) -> dict[int, str]:
    """Code -> name of every operator, from the lock."""
    rows = (root / OPS / "ops.lock").read_text(encoding="utf-8").splitlines()
    found = (re.match(r'\{"code": (\d+), "name": "(\w+)"', line) for line in rows)
    return {int(m[1]): m[2] for m in found if m}


def write(root: Path, plan: Scaffold) -> list[str]:
    """Write the files, formatted; returns their paths."""
    for path, text in {**plan.created, **plan.changed}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    python = [str(root / path) for path in plan.changed]
    c = [str(root / path) for path in plan.created]
    tools = Path(sys.executable).parent
    commands = [
        [str(tools / "ruff"), "check", "-q", "--select", "I", "--fix", *python],
        [str(tools / "ruff"), "format", "-q", *python],
        *([[str(tools / "clang-format"), "-i", *c]] if c else []),
    ]
    for command in commands:
        subprocess.run(command, cwd=root, check=True)
    return [*plan.created, *plan.changed]


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0: written; 1: refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="in snake_case")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--family", default="", help=f"one of {', '.join(FAMILIES)}")
    kind.add_argument("--of", default="", help="the operator whose int8 form it is")
    kind.add_argument("--operands", type=int, default=1, choices=(1, 2), help="where elementwise")
    options = parser.parse_args(arguments)
    given = (options.family, options.of, options.operands)
    try:
        plan = scaffold(ROOT, options.name, codes(ROOT), *given)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    exists = [path for path in plan.created if (ROOT / path).exists()]
    if exists:
        print(f"{exists[0]} exists", file=sys.stderr)
        return 1
    for path in write(ROOT, plan):
        print(f"wrote {path}")
    # A separate process, because this one may already have loaded the table.
    generator = [sys.executable, str(ROOT / "tools" / "gen_ops.py")]
    result = subprocess.run(generator, check=False).returncode
    if result == 0:
        print(f"next: docs/guides/adding-an-op.md, step 2, fills in {options.name} in")
        for path in plan.edited:
            print(f"  {path}")
    return result


if __name__ == "__main__":
    sys.exit(main())
