# SPDX-License-Identifier: Apache-2.0
"""The C sources stay fit for one translation unit."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tools import unity


def repeated_names(runtime: Path) -> list[str]:
    """File names of .c files that occur more than once in src, tests, tools, examples and bench."""
    folders = ("src", "tests", "tools", "examples", "bench", "fuzz")
    names = Counter(path.name for folder in folders for path in (runtime / folder).rglob("*.c"))
    return sorted(name for name, count in names.items() if count > 1)


def _preprocess(runtime: Path, out: Path, compiler: str) -> str:
    unit = out / "unit.c"
    unit.write_text(unity.unity_text(runtime), encoding="utf-8")
    includes = [f"-I{runtime / 'include'}", f"-I{runtime / 'src'}"]
    command = [compiler, *includes, "-E", "-dD", str(unit)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_file_names_are_unique(repo: Path) -> None:
    assert repeated_names(repo / "runtime_c") == []


def test_repeated_name_is_seen(tmp_path: Path) -> None:
    for name in ("src/base/x.c", "src/ops/x.c", "src/ops/y.c", "tests/base/x_test.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert repeated_names(tmp_path) == ["x.c"]


def test_unit_names_every_source(repo: Path) -> None:
    included = unity.unity_text().count("#include")
    assert included == len(list((repo / "runtime_c" / "src").rglob("*.c"))) > 0


def test_no_macro_stays_defined(
    repo: Path, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    text = _preprocess(repo / "runtime_c", tmp_path, need_tool("cc", "cc"))
    assert unity.leaked_macros(text) == []


def test_leaked_macro_is_seen(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    src = tmp_path / "src"
    src.mkdir()
    (src / "a.h").write_text("#ifndef A_H\n#define A_H\n#define FOR_ALL 1\n#endif\n")
    (src / "a.c").write_text('#include "a.h"\n#define OWN 1\n#undef OWN\nint a;\n')
    (src / "body.h").write_text("#define BODY 1\n#define BODY_LEAKS 1\n")
    (src / "b.c").write_text('int b;\n#define LEAKS(x) \\\n  (x)\n#include "body.h"\n#undef BODY\n')
    text = _preprocess(tmp_path, tmp_path, need_tool("cc", "cc"))
    leaks = [leak.rpartition("/")[2] for leak in unity.leaked_macros(text)]
    assert leaks == ["b.c:2: LEAKS", "body.h:2: BODY_LEAKS"]
