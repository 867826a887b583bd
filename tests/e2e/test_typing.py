# SPDX-License-Identifier: Apache-2.0
"""Users' programs under mypy --strict, against the package laid out as a wheel installs it.

`.ci/run wheel` does the same with the wheel itself, and with pyright.
"""

from __future__ import annotations

import fcntl
import importlib
import inspect
import re
import shutil
import site
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.typed import program

import samara

TYPED = Path(__file__).parent / "typed"
CODE = re.compile(r":(\d+): error: .*\[([\w-]+)\]$", re.M)


class Checker:
    """mypy with an environment of its own, which holds samara as installed."""

    def __init__(self, folder: Path, repo: Path) -> None:
        self.folder = folder
        environment = folder / "environment"
        self.python = environment / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = environment / "lib" / version / "site-packages"
        if not (self.python.exists() and packages.exists()):
            venv.create(environment, symlinks=True)
        lines = "\n".join(site.getsitepackages())
        (packages / "dependencies.pth").write_text(f"{lines}\n", encoding="utf-8")
        _lay_out(repo, packages)

    def run(self, *files: Path) -> str:
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
        command += [
            "--python-executable",
            str(self.python),
            "--cache-dir",
            str(self.folder / "cache"),
        ]
        run = subprocess.run(
            [*command, *map(str, files)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        assert run.returncode in (0, 1), run.stdout + run.stderr
        return run.stdout


def _lay_out(repo: Path, packages: Path) -> None:
    """Bring the tree that a wheel installs up to date; what has not changed keeps its time."""
    settings = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = set()
    for place, source in settings["tool"]["scikit-build"]["wheel"]["packages"].items():
        for path in sorted((repo / source).rglob("*")):
            if path.suffix not in (".py", ".pyi", ".typed") or not path.is_file():
                continue
            target = packages / place / path.relative_to(repo / source)
            wanted.add(target)
            known = target.stat() if target.exists() else None
            now = path.stat()
            if known is None or (known.st_mtime_ns, known.st_size) != (
                now.st_mtime_ns,
                now.st_size,
            ):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
    for path in (packages / "samara").rglob("*.*"):
        if path.is_file() and path not in wanted:
            path.unlink()


@pytest.fixture
def checker(repo: Path) -> Iterator[Checker]:
    """Kept in build/typed, so that mypy reads only changed files; one process at a time."""
    folder = repo / "build" / "typed"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Checker(folder, repo)


def test_a_users_program(checker: Checker) -> None:
    assert checker.run(TYPED / "program.py").startswith("Success")


def test_mistakes_are_found(checker: Checker) -> None:
    source = (TYPED / "mistakes.py").read_text(encoding="utf-8").splitlines()
    marked = {
        i: line.split("# error: ")[1] for i, line in enumerate(source, 1) if "# error: " in line
    }
    found = {int(line): code for line, code in CODE.findall(checker.run(TYPED / "mistakes.py"))}
    assert found == marked


def test_the_program_runs(tmp_path: Path) -> None:
    program.main(tmp_path)


# ---- every public name

MODULES = (
    *("autograd", "data", "data.transforms", "memory", "metrics", "nn", "nn.functional", "nn.init"),
    *("nn.utils", "nn.utils.rnn", "optim", "optim.lr_scheduler"),
)
OPERATORS = ("__add__", "__radd__", "__eq__", "__getitem__", "__iadd__", "__invert__", "__matmul__")

# What can only be Any, and why.
ANY = {
    "samara.load": "whatever was saved",
    "samara.Tensor.tolist": "a number, or lists as deep as there are dimensions",
    "samara.Generator.key": "a tensor or an array, for operators",
    "samara.autograd.Function.apply": "what the subclass's forward gives",
    "samara.autograd.Function.forward": "the subclass's own",
    "samara.autograd.Function.backward": "the subclass's own",
    "samara.data.default_collate": "by the structure of the samples",
    "samara.data.default_convert": "by the structure of the sample",
    "samara.metrics.Metric.compute": "the subclass's own",
    "samara.nn.Module.forward": "the subclass's own",
    "samara.nn.DataParallel.forward": "what the wrapped module gives",
}


def public_names() -> Iterator[str]:
    """Functions and classes of the public modules, and what is called on the classes."""
    for home in ("samara", *(f"samara.{name}" for name in MODULES)):
        module = importlib.import_module(home)
        for name in getattr(module, "__all__", None) or samara._NAMES:
            found = getattr(module, name)
            if inspect.ismodule(found) or not callable(found) or found is samara.dtype:
                continue
            yield f"{home}.{name}"
            if inspect.isclass(found) and not issubclass(found, BaseException):
                bases = [b for b in found.__mro__[1:] if b is not object]
                for method, value in inspect.getmembers(found, callable):
                    public = not method.startswith("_") or (
                        found is samara.Tensor and method in OPERATORS
                    )
                    new = not any(getattr(b, method, None) is value for b in bases)
                    if public and (new or found is samara.Tensor) and not inspect.isclass(value):
                        yield f"{home}.{name}.{method}"


def test_no_public_name_gives_any(checker: Checker, tmp_path: Path) -> None:
    names = list(dict.fromkeys(public_names()))
    assert len(names) > 800
    lines = [f"import samara.{m}" for m in MODULES] + [f"reveal_type({name})" for name in names]
    path = tmp_path / "names.py"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = checker.run(path)
    assert CODE.findall(output) == []
    revealed = re.findall(r'Revealed type is "(.*)"$', output, re.M)
    assert len(revealed) == len(names)
    leaks = {
        name
        for name, kind in zip(names, revealed, strict=True)
        if kind == "Any" or re.search(r"\) -> Any$", kind) or "-> Any, def" in kind
    }
    assert leaks == set(ANY)
