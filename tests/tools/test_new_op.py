# SPDX-License-Identifier: Apache-2.0
"""Scaffolded operators of each kind: written into a copy of the tree, filled in, generated, built,
and run through the op suite. What is edited by hand is what docs/guides/adding-an-op.md says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tools import gen_formulas, gen_ops, new_op
from tools.unity import unity_text

from samara.exporter.ops import all_ops

ROOMS = ("exporter", "pybridge", "cli", "runtime_c", "tools", "tests", "benchmarks", "docs")
OPS = "exporter/samara/exporter/ops"
# An editable installation finds modules by name, wherever sys.path leads: here the copy counts.
SITE = 'import sys\nsys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]\n'


@dataclass(frozen=True)
class Filled:
    """An operator of some kind: how to scaffold it, and what is then written into which file."""

    name: str
    arguments: tuple[str, ...]
    edits: dict[str, tuple[tuple[str, str], ...]]
    c_tests: tuple[str, ...] = ()


ELEMENTWISE = Filled(
    "soft_parabola",
    (),
    {
        f"{OPS}/pointwise/rows_unary.py": (
            ('"y = x",\n    formula=lambda x: x,', '"y = alpha * x * x + 1/2",\n'
             "    formula=lambda x, alpha: alpha * x * x + 0.5,\n"
             '    attrs=(Attr("alpha", "f32", 0.25),),\n'
             '    cases=few(EVERY_FLOAT, ({}, {"alpha": -1.5})),'),
            ("(ops.mul(ctx.dy, 1.0),),", '(ops.mul(ctx.dy, ops.mul(ctx.x, 2.0 * ctx.alpha)),),\n    saves=("x",),'),
        ),
    },
)  # fmt: skip
OF_TWO = Filled(
    "soft_product",
    ("--operands", "2"),
    {
        f"{OPS}/pointwise/rows_binary.py": (
            # It calls a function of the vocabulary, whose argument is 0: the gradient stays that of a sum.
            ('"y = a + b",', '"y = a + (b + exp(b - b))",'),
            ("a, b: a + b,", "a, b: a + (b + f.exp(b - b)),"),
        ),
    },
    # Its code is below that of `add`, so that all functions of two floats move in their tables.
    ("kernels/f32_vbinary/f32_vbinary_test.c",),
)
FAMILY = Filled(
    "hard_square",
    ("--family", "norm"),
    {
        f"{OPS}/norm/rows.py": (
            ('doc="y = x"', 'doc="y = x * x"'),
            ("return x.copy()", "return x * x"),
            ("(ops.mul(ctx.dy, 1.0),),", '(ops.mul(ctx.dy, ops.mul(ctx.x, 2.0)),),\n        saves=("x",),'),
        ),
        "runtime_c/src/kernels/f32_hard_square/body.h": (("return x;", "return N(mul)(x, x);"),),
        "runtime_c/src/kernels/f32_hard_square/f32_hard_square.h": (("y[i] = x[i]", "y[i] = x[i]^2"),),
        "runtime_c/tests/ops/norm/op_hard_square_test.c": (
            ("expected[] = {-1.0f, 0.0f, 2.0f}", "expected[] = {1.0f, 0.0f, 4.0f}"),
        ),
    },
    ("ops/norm/op_hard_square_test.c", "kernels/f32_hard_square/f32_hard_square_test.c"),
)  # fmt: skip
INT8 = Filled(
    "qhard_square",
    ("--of", "hard_square"),
    {
        f"{OPS}/norm/rows_int8.py": (
            ('doc="y = x in qs8: round(clamp((x - z_x) * (s_x / s_y))) + z_y"',
             'doc="y = x * x in qs8: round(clamp((x - z_x)^2 * (s_x * s_x / s_y))) + z_y"'),
            ("require_multiplier(ctx, np.float32(whole(ctx, 0).scale) / np.float32(ctx.scale))",
             "require_multiplier(ctx, np.float32(whole(ctx, 0).scale) ** 2 / np.float32(ctx.scale))"),
            ("acc = x.astype(np.int32) - quant.zero_point", "acc = (x.astype(np.int32) - quant.zero_point) ** 2"),
            ("m = np.float32(quant.scale) / np.float32(scale)", "m = np.float32(quant.scale) ** 2 / np.float32(scale)"),
        ),
        "runtime_c/src/ops/norm/op_qhard_square.c": (
            ("return job->inputs[0]->quant->scales[0] / SMR",
             "const float s = job->inputs[0]->quant->scales[0];\n  return s * s / SMR"),
            ("acc = x[i] - x_zero", "acc = (x[i] - x_zero) * (x[i] - x_zero)"),
        ),
        "runtime_c/tests/ops/norm/op_qhard_square_test.c": (("{-128, -5, 15}", "{127, -5, 95}"),),
    },
    ("ops/norm/op_qhard_square_test.c",),
)  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """A copy of the tree that Python and C come from."""

    root: Path

    def python(self, *arguments: str) -> None:
        """Run Python in the copy, with its rooms and its library."""
        rooms = [self.root / room for room in (".site", "exporter", "pybridge", "cli")]
        paths = {
            "PYTHONPATH": os.pathsep.join(map(str, rooms)),
            "SAMARA_LIBRARY": str(self.library),
        }
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | paths
        done = subprocess.run([sys.executable, *arguments], cwd=self.root, env=environment,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def library(self) -> Path:
        return self.root / "libsamara.so"

    def compile(self, *arguments: str) -> None:
        """Run the C compiler in the copy."""
        includes = [f"-Iruntime_c/{p}" for p in ("src", "include", "tests")]
        flags = ["-O0", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-Wall", "-Wextra", "-Werror"]
        command = ["cc", *flags, *includes, *arguments, "-lm", "-lpthread"]
        subprocess.run(command, cwd=self.root, check=True)

    def build(self, c_tests: tuple[str, ...]) -> None:
        """The library as one unit, and the C tests of operators, which must pass."""
        (self.root / "unit.c").write_text(unity_text(self.root / "runtime_c"), encoding="utf-8")
        self.compile("-c", "unit.c", "-o", "unit.o")
        self.compile("-shared", "unit.o", "-o", str(self.library))
        for family in ("f32_vunary", "f32_vbinary"):  # alone, they include what their formulas call
            self.compile("-fsyntax-only", f"runtime_c/src/kernels/{family}/{family}.c")
        for test in c_tests:
            self.compile(f"runtime_c/tests/{test}", "unit.o", "-o", "unit_test")
            subprocess.run([str(self.root / "unit_test")], check=True)

    def texts(self) -> dict[str, bytes]:
        """Every file."""
        files = (p for room in ROOMS for p in (self.root / room).rglob("*") if p.is_file())
        known = (p for p in files if "__pycache__" not in p.parts)
        return {p.relative_to(self.root).as_posix(): p.read_bytes() for p in known}


@pytest.fixture
def copy(repo: Path, tmp_path: Path) -> Copy:
    """A copy of the tree without what was built."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.so*", "*.dylib", "build", "node_modules")
    for room in ROOMS:
        shutil.copytree(repo / room, tmp_path / room, ignore=unwanted)
    for name in ("pyproject.toml", ".clang-format"):
        shutil.copy(repo / name, tmp_path / name)
    (tmp_path / ".site").mkdir()
    (tmp_path / ".site" / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    return Copy(tmp_path)


def made(copy: Copy, op: Filled) -> None:
    """Scaffold the operator, fill it in, generate; nothing else may have to change by hand."""
    before = copy.texts()
    taken = new_op.codes(copy.root)
    options = dict(zip(op.arguments[::2], op.arguments[1::2], strict=True))
    family, of = options.get("--family", ""), options.get("--of", "")
    operands = int(options.get("--operands", "1"))
    plan = new_op.scaffold(copy.root, op.name, taken, family, of, operands)
    copy.python("tools/new_op.py", op.name, *op.arguments)
    for path, edits in op.edits.items():
        text = (copy.root / path).read_text(encoding="utf-8")
        at = 0 if path in plan.created else len(before[path].decode()) - 1
        for old, new in edits:
            assert old in text[at:], f"{path}: {old}"
            text = text[:at] + text[at:].replace(old, new, 1)
        (copy.root / path).write_text(text, encoding="utf-8")
    copy.python("tools/gen_ops.py")
    after = copy.texts()
    changed = {path for path, text in after.items() if before.get(path) != text}
    generated = {*gen_ops.generate(all_ops()), *gen_formulas.SECTIONS, gen_ops.LOCK}
    assert changed - generated == {*plan.created, *plan.changed}
    assert op.edits.keys() <= set(plan.edited)
    assert set(plan.edited) <= plan.created.keys() | plan.changed.keys()


def judged(copy: Copy, *ops: Filled) -> None:
    """Build, and run all that holds operators to account."""
    copy.build(tuple(test for op in ops for test in op.c_tests))
    run = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    names = " or ".join(op.name for op in ops)
    # Devices for tests, and the program of test_tiles, would be built again.
    others = [f"--ignore=tests/ops/test_{name}.py" for name in ("backends", "tiles")]
    copy.python(*run, "tests/ops", *others, "-m", "not extended", "-k", names)
    meta = ("test_operator_rows", "test_cases", "test_mirrors")
    rows = ("test_facts", "test_integer")
    copy.python(
        *run,
        *(f"tests/meta/{t}.py" for t in meta),
        *(f"tests/exporter/ops/{t}.py" for t in rows),
        "tests/pybridge/test_needs.py",
    )


def test_an_elementwise_operator(copy: Copy) -> None:
    made(copy, ELEMENTWISE)
    assert len(ELEMENTWISE.edits) == 1


@pytest.mark.slow
def test_an_operator_of_each_kind(copy: Copy, need_tool: Callable[[str, str], str]) -> None:
    need_tool("cc", "cc")
    for op in (ELEMENTWISE, OF_TWO, FAMILY, INT8):
        made(copy, op)
    judged(copy, ELEMENTWISE, OF_TWO, FAMILY, INT8)


@pytest.mark.parametrize("arguments", [{}, {"family": "norm"}, {"of": "lrn"}])
@pytest.mark.parametrize("name", ["Conv", "my-op", "2d", "a__b", "conv"])
def test_bad_names_are_refused(repo: Path, name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"snake_case|exists"):
        new_op.scaffold(repo, name, new_op.codes(repo), **arguments)


def test_what_cannot_be_is_refused(repo: Path) -> None:
    taken = new_op.codes(repo)
    with pytest.raises(ValueError, match="there is no family wood"):
        new_op.scaffold(repo, "maple", taken, family="wood")
    with pytest.raises(ValueError, match="there is no operator maple"):
        new_op.scaffold(repo, "qmaple", taken, of="maple")
    for of in ("add", "conv", "softmax"):
        with pytest.raises(ValueError, match=f"{of} has an integer form"):
            new_op.scaffold(repo, "qmaple", taken, of=of)


def test_codes_stay_in_their_family(repo: Path) -> None:
    taken = new_op.codes(repo)
    assert taken[81] == "conv"
    linear = new_op.FAMILIES["linear"].codes
    assert new_op.free_code(linear, {80: "matmul", 81: "conv"}) == 82
    free = new_op.free_code(linear, taken)
    assert free not in taken
    assert all(code in taken for code in range(80, free))
    assert new_op.free_code(linear, range(1, 200)) == 200
    assert new_op.free_code(linear, range(1, 251)) == 251
    with pytest.raises(ValueError, match="no code is free"):
        new_op.free_code(linear, range(1, 501))


@pytest.mark.parametrize("family", new_op.FAMILIES)
def test_every_family_has_its_folders(repo: Path, family: str) -> None:
    own = new_op.FAMILIES[family]
    assert (repo / OPS / family / f"{own.rows}.py").exists()
    assert (repo / "runtime_c/src/ops" / own.c).is_dir()
    plan = new_op.scaffold(repo, "maple", new_op.codes(repo), family=family)
    text = plan.changed[f"{OPS}/{family}/{own.rows}.py"]
    compile(text, family, "exec")
    assert "\nmaple = define(\n" in text


def test_builtin_names_get_an_underscore(repo: Path) -> None:
    plan = new_op.scaffold(repo, "sorted", new_op.codes(repo))
    assert "\nsorted_ = unary_row(" in plan.changed[f"{OPS}/pointwise/rows_unary.py"]
    face = plan.changed[f"{OPS}/__init__.py"]
    assert "import sorted_ as sorted_\n" in face
    assert "\nsorted = sorted_\n" in face


def test_a_row_takes_its_integer_form() -> None:
    text = 'import os\n\nlrn = define(\n    OpSpec(\n        name="lrn",\n        cases=(1, 2),\n    )\n)\n'
    got = new_op.with_integer(text, "lrn", "qlrn")
    assert 'cases=(1, 2), integer=Integer(Role.COMPUTED, "qlrn"),\n    )' in got
    assert "from samara.exporter.ops.integer import Integer, Role\n" in got
    with pytest.raises(ValueError, match="the row of elu was not found"):
        new_op.with_integer(text, "elu", "qelu")
