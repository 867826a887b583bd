# SPDX-License-Identifier: Apache-2.0
"""Allowed dependencies: imports between Python packages and #includes between C folders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# ---- Python ----

# Source root -> the package part that lies in it.
PYTHON_ROOTS = {
    "exporter/samara/exporter": "samara.exporter",
    "pybridge/samara/pybridge": "samara.pybridge",
    "cli/samara/cli": "samara.cli",
}
ROOM_KNOWS = {
    "samara.exporter": {"samara.exporter", "samara.pybridge"},
    "samara.pybridge": {"samara.pybridge"},
    "samara.cli": {"samara.cli", "samara.exporter", "samara.pybridge", "samara"},
}

# Inside the exporter: a folder (or a module beside them) and what it may know besides itself.
_GROUND = {"types"}
_IR = _GROUND | {"ops", "ir"}
EXPORTER_KNOWS = {
    "types": set(),
    "ops": _GROUND,
    "ir": _GROUND | {"ops"},
    "importers": _IR,
    "passes": _IR,
    "quantize": _IR | {"passes"},
    "frontend": _IR | {"quantize", "launcher"},
    "launcher": set(),
    "package": _IR,
    "text": set(),
    # The references of input records may import only the bridge.
    "reference_image": set(),
    "testing_images": set(),
    "reference_audio": {"reference_audio_tables"},
    "reference_audio_tables": set(),
}
# The exporter's own face and what joins the five rooms may know all of them.
EXPORTER_TOP = {
    *("__init__", "answer_check", "build", "export", "export_text", "onnx_backend"),
    *("reference_answers", "save_pretrained"),
    *("testing", "testing_text"),
}
# So may what looks at models from outside, in this order: each also those before it, none after.
EXPORTER_VIEWS = (
    *("opening", "custom_operators", "measure", "conformance"),
    *("inspect", "explain", "doctor", "demo"),
)

# Third-party modules that only some rooms may know.
ONLY_IN = {
    "cffi": ("samara.pybridge",),
    # The demo also writes its net as an ONNX file.
    "onnx": (
        "samara.exporter.importers",
        "samara.exporter.onnx_backend",
        "samara.exporter.demo.digits_net",
        "samara.exporter.testing",
    ),
    "torch": ("samara.exporter.importers",),
    "mpi4py": ("samara.exporter.frontend.distributed",),
    "typer": ("samara.cli",),
    # The bar of a training loop is drawn by the library that draws those of the command.
    "rich": ("samara.cli", "samara.exporter.frontend.distributed.progress_bar"),
}


def _imports(tree: ast.Module, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Every imported module of a file, as (line, absolute name), however it is spelled."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            # `from samara.exporter import ops` names the module samara.exporter.ops.
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and node.args:
            name = ast.unparse(node.func)
            first = node.args[0]
            if name in ("importlib.import_module", "import_module", "__import__") and (
                isinstance(first, ast.Constant) and isinstance(first.value, str)
            ):
                yield node.lineno, first.value


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _exporter_part(module: str) -> str:
    """`samara.exporter.ops.conv` -> `ops`; the package itself -> `__init__`."""
    rest = module.removeprefix("samara.exporter").removeprefix(".")
    return rest.split(".")[0] if rest else "__init__"


def _python_fault(source: str, room: str, target: str, parts: set[str]) -> str | None:
    """Why module `source` of `room` may not import `target`, or None."""
    for third, rooms in ONLY_IN.items():
        if _within(target, third) and not any(_within(source, r) for r in rooms):
            return f"only {', '.join(rooms)} may know {third}"
    if not _within(target, "samara"):
        return None
    target_room = next((r for r in ROOM_KNOWS if _within(target, r)), "samara")
    if target_room not in ROOM_KNOWS[room]:
        return f"{room} may not know {target_room}"
    if room != "samara.exporter" or target_room != room:
        return None
    part, known = _exporter_part(source), _exporter_part(target)
    if part in EXPORTER_TOP or part == known:
        return None
    if known not in parts:
        known = "__init__"  # a name of the exporter's face, not a module
    if part in EXPORTER_VIEWS:
        later = EXPORTER_VIEWS[EXPORTER_VIEWS.index(part) + 1 :]
        return (
            f"samara.exporter.{part} may not know samara.exporter.{known}"
            if known in later
            else None
        )
    if part not in EXPORTER_KNOWS:
        return f"samara.exporter.{part} is not in the table of rooms (EXPORTER_KNOWS)"
    if known not in EXPORTER_KNOWS[part]:
        return f"samara.exporter.{part} may not know samara.exporter.{known}"
    return None


def python_faults(repo: Path) -> list[str]:
    """Imports against the arrows, as `file:line: why`."""
    faults = []
    for root, room in PYTHON_ROOTS.items():
        folder = repo / root
        parts = {p.stem if p.suffix == ".py" else p.name for p in folder.glob("*")} | {"__init__"}
        for path in sorted(folder.rglob("*.py")):
            names = [room, *path.relative_to(folder).with_suffix("").parts]
            is_package = names[-1] == "__init__"
            module = ".".join(names[:-1] if is_package else names)
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
            for line, target in _imports(tree, module, is_package):
                fault = _python_fault(module, room, target, parts)
                if fault is not None:
                    where = path.relative_to(repo).as_posix()
                    faults.append(f"{where}:{line}: import of {target}: {fault}")
    return sorted(set(faults))


def face_faults(repo: Path) -> list[str]:
    """Faces beside the room samara.pybridge that do more than re-export what they are named after."""
    faults = []
    folder = repo / "pybridge" / "samara"
    for path in sorted(folder.rglob("*.py")):
        names = path.relative_to(folder).with_suffix("").parts
        # The face of the package is lazy: tests/meta/test_startup.py watches it.
        if names[0] == "pybridge" or names == ("__init__",):
            continue
        names = names[:-1] if names[-1] == "__init__" else names
        home = "samara.exporter" if names[0] in EXPORTER_TOP else "samara.exporter.frontend"
        wanted = ".".join((home, *names))
        for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not text and not (isinstance(node, ast.ImportFrom) and node.module == wanted):
                where = path.relative_to(repo).as_posix()
                faults.append(f"{where}:{node.lineno}: a face only imports from {wanted}")
    return faults


# ---- C ----

# Each room may know itself and those before it.
C_ROOMS = (
    *(
        "base",
        "simd",
        "kernels",
        "media",
        "text",
        "ops",
        "model",
        "session",
        "generate",
        "backends",
    ),
)

STANDARD_HEADERS = {
    *("assert.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h", "iso646.h"),
    *("limits.h", "locale.h", "math.h", "setjmp.h", "signal.h", "stdalign.h", "stdarg.h"),
    *("stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h"),
    *("stdnoreturn.h", "string.h", "tgmath.h", "time.h", "uchar.h", "wchar.h", "wctype.h"),
}
# Instruction sets: the vocabulary and the detection of the CPU.
ISA_HEADERS = {"immintrin.h", "arm_neon.h", "arm_acle.h", "cpuid.h", "wasm_simd128.h"}
ISA_HEADERS |= {"riscv_vector.h", "arm_sve.h", "arm_fp16.h"}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def _includes(text: str) -> list[tuple[int, str, bool]]:
    """(line, name, is in angle brackets) of every #include."""
    return [
        (text.count("\n", 0, match.start()) + 1, match[2], match[1] == "<")
        for match in _INCLUDE.finditer(text)
    ]


def _library_fault(room: str, path: Path, name: str, angle: bool, src: Path) -> str | None:
    if angle:
        if name in STANDARD_HEADERS or name.startswith("samara/"):
            return None
        if name in ISA_HEADERS and (room == "simd" or path.stem.startswith(("isa", "simd"))):
            return None
        if room == "base" and path.stem.startswith("os_"):
            return None
        return "neither standard C nor public; system headers belong to base/os_*.c"
    own = (path.parent / name).resolve()
    target = own.relative_to(src).parts[0] if own.is_file() else name.split("/")[0]
    if target not in C_ROOMS:
        return f"{target} is no room of src/"
    if C_ROOMS.index(target) > C_ROOMS.index(room):
        return f"{room} may not know {target}"
    return None


def c_faults(repo: Path) -> list[str]:
    """#includes against the arrows, as `file:line: why`."""
    runtime = (repo / "runtime_c").resolve()
    src = runtime / "src"
    faults = []

    def report(path: Path, line: int, name: str, why: str) -> None:
        faults.append(f"{path.relative_to(repo.resolve()).as_posix()}:{line}: {name}: {why}")

    for path in sorted(p for p in src.rglob("*") if p.suffix in (".c", ".h", ".inc")):
        room = path.relative_to(src).parts[0]
        includes = _includes(path.read_text(encoding="utf-8"))
        if room not in C_ROOMS:
            report(path, 1, room, "is no room of src/")
            continue
        if path.suffix == ".c" and (not includes or includes[0][1:] != ("base/fp.h", False)):
            report(path, 1, path.name, 'the first include is not "base/fp.h"')
        for line, name, angle in includes:
            fault = _library_fault(room, path, name, angle, src)
            if fault is not None:
                report(path, line, name, fault)
    # Tools and examples are users: they see what users see.
    # An example is a program of its system besides: one that keeps a file syncs it.
    # So is a tool that asks for its memory, or writes a file in the place of another.
    kept = {"sys/resource.h", "sys/stat.h", "unistd.h"}
    parts = {"samara/samara.h", "samara/samara_media.h", "samara/samara_text.h"}
    for folder, system in (("tools", kept), ("examples", {"unistd.h"})):
        for path in sorted((runtime / folder).rglob("*.c")):
            # The benchmark tells which algorithms nodes take, which is not settled.
            own = {"samara/samara_experimental.h"} if path.name == "samara-bench.c" else set()
            allowed = STANDARD_HEADERS | parts | system | own
            for line, name, angle in _includes(path.read_text(encoding="utf-8")):
                beside = not angle and (path.parent / name).is_file()
                if not (beside or (angle and name in allowed)):
                    report(path, line, name, "a user of the library sees public headers alone")
    return faults


# ---- the tests ----


def test_python_rooms(repo: Path) -> None:
    assert all((repo / root / "__init__.py").is_file() for root in PYTHON_ROOTS)
    assert python_faults(repo) == []


def test_faces(repo: Path) -> None:
    assert face_faults(repo) == []


@pytest.mark.parametrize(
    "line", ["import numpy", "def f(): ...", "from samara.exporter.frontend.nn import *", "X = 1"]
)
def test_planted_face(tree: Path, line: str) -> None:
    good = "from samara.exporter.frontend.data.readers import *"
    _write(tree, "pybridge/samara/data/readers.py", f'"""What it is."""\n{good}\n')
    assert face_faults(tree) == []
    _write(tree, "pybridge/samara/data/readers.py", f'"""What it is."""\n{good}\n{line}\n')
    assert face_faults(tree) == [
        "pybridge/samara/data/readers.py:3: a face only imports from"
        " samara.exporter.frontend.data.readers"
    ]


def test_c_rooms(repo: Path) -> None:
    assert c_faults(repo) == []


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small house without faults."""
    for root, room in PYTHON_ROOTS.items():
        _write(tmp_path, f"{root}/__init__.py", f'"""{room}"""\n')
    for part in (*EXPORTER_KNOWS, *EXPORTER_VIEWS):
        _write(tmp_path, f"exporter/samara/exporter/{part}/__init__.py", "")
    _write(
        tmp_path,
        "exporter/samara/exporter/ir/program.py",
        "import numpy\nfrom samara.exporter import types\nfrom ..ops import conv\n"
        "from .node import Node\nfrom samara.pybridge import plan\n",
    )
    _write(tmp_path, "exporter/samara/exporter/export.py", "from samara.exporter import package\n")
    for room in C_ROOMS:
        text = f'#include "base/fp.h"\n#include "{room}/{room}.h"\n#include <string.h>\n'
        _write(tmp_path, f"runtime_c/src/{room}/{room}.c", text)
    _write(
        tmp_path, "runtime_c/src/base/os_posix.c", '#include "base/fp.h"\n#include <pthread.h>\n'
    )
    _write(tmp_path, "runtime_c/examples/run.c", "#include <samara/samara.h>\n")
    return tmp_path


def test_clean_tree(tree: Path) -> None:
    assert python_faults(tree) == []
    assert c_faults(tree) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("exporter/samara/exporter/ops/planted.py", "from samara.exporter.ir import Program"),
        ("exporter/samara/exporter/ops/planted.py", "from ..ir.program import Program"),
        ("exporter/samara/exporter/ops/planted.py", "from .. import ir"),
        ("exporter/samara/exporter/ops/planted.py", "from samara.exporter import Program"),
        ("exporter/samara/exporter/ops/planted.py", "import samara.exporter.passes.fold as f"),
        (
            "exporter/samara/exporter/types/planted.py",
            "def f():\n    from samara.exporter import ops",
        ),
        ("exporter/samara/exporter/passes/planted.py", "from samara.exporter import importers"),
        ("exporter/samara/exporter/passes/planted.py", "from samara.exporter.quantize import x"),
        ("exporter/samara/exporter/package/planted.py", "import samara.exporter.export"),
        ("exporter/samara/exporter/ir/planted.py", "import samara.cli.main"),
        ("exporter/samara/exporter/ir/planted.py", "import samara"),
        ("exporter/samara/exporter/ir/planted.py", "import cffi"),
        ("exporter/samara/exporter/ir/planted.py", "from onnx import helper"),
        (
            "exporter/samara/exporter/measure/planted.py",
            "from samara.exporter.inspect import html",
        ),
        (
            "exporter/samara/exporter/inspect/planted.py",
            "from samara.exporter.doctor import examine",
        ),
        ("exporter/samara/exporter/unlisted/planted.py", "from samara.exporter import ops"),
        ("pybridge/samara/pybridge/planted.py", "from samara.exporter.types import dtype"),
        (
            "pybridge/samara/pybridge/planted.py",
            "import importlib\nimportlib.import_module('samara.cli')",
        ),
        ("cli/samara/cli/planted.py", "from cffi import FFI"),
    ],
)
def test_planted_import(tree: Path, file: str, line: str) -> None:
    _write(tree, file, line + "\n")
    faults = python_faults(tree)
    assert len(faults) == 1
    assert faults[0].startswith(file + ":")


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("src/base/planted.c", '#include "ops/op.h"'),
        ("src/kernels/f32/planted.c", '#include "session/arena.h"'),
        ("src/ops/planted.c", '#  include "../model/model.h"'),
        ("src/model/planted.c", '#include "session/session.h"'),
        ("src/session/planted.c", "#include <pthread.h>"),
        ("src/session/planted.c", '#include "elsewhere/x.h"'),
        ("src/ops/planted.c", "#include <immintrin.h>"),
        ("src/ops/planted.h", '#include "session/plan.h"'),
        ("src/kernels/f32/kernels.inc", '#include "ops/op.h"'),
        ("examples/planted.c", '#include "session/session.h"'),
        ("examples/planted.c", "#include <sys/mman.h>"),
        ("tools/planted.c", "#include <samara/samara_experimental.h>"),
        ("tools/planted.c", "#include <sys/mman.h>"),
    ],
)
def test_planted_include(tree: Path, file: str, line: str) -> None:
    first = '#include "base/fp.h"\n' if file.startswith("src") and file.endswith(".c") else ""
    _write(tree, "runtime_c/src/model/model.h", "")
    _write(tree, f"runtime_c/{file}", f"{first}{line}\n")
    faults = c_faults(tree)
    assert len(faults) == 1
    assert faults[0].startswith(f"runtime_c/{file}:")


def test_fp_header_comes_first(tree: Path) -> None:
    _write(tree, "runtime_c/src/base/planted.c", '#include <string.h>\n#include "base/fp.h"\n')
    assert c_faults(tree) == [
        'runtime_c/src/base/planted.c:1: planted.c: the first include is not "base/fp.h"'
    ]
