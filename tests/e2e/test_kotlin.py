# SPDX-License-Identifier: Apache-2.0
"""Coroutines over the Android library: compiled by Kotlin compilers far apart, and run on the JVM."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e import golden_cases, java, java_models, java_texts, kotlin
from tests.e2e.commands import ran
from tests.e2e.pages import write_files

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="NOT RUN: java (Linux alone)"),
]

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

# The compilers that the page promises: what compiles the library, and what reads its classes.
_NEWEST, _OLDER, _OLDEST_READER = "2.4.21", "2.2.0", "1.9.25"


@dataclass(frozen=True)
class Home:
    """The Java side, its models, and where jars of Maven Central are."""

    built: java.Built
    models: Path
    mvn: str
    cache: Path

    def compiler(self, version: str) -> kotlin.Compiler:
        return kotlin.compiler(self.mvn, self.built.jdk, self.cache, version)

    def needed(self, app: str | None = None) -> list[Path]:
        """What an app has beside the library: coroutines, and the standard library that the library asks
        for, or that of the compiler `app` where its programs need a newer one."""
        stdlib = kotlin.jars(self.mvn, self.cache / "stdlib", kotlin.STDLIB, alone=True)
        if app == _OLDER:
            stdlib = self.compiler(app).folder
        coroutines = kotlin.jars(self.mvn, self.cache / "coroutines", kotlin.COROUTINES, alone=True)
        found = [*stdlib.glob("kotlin-stdlib-*.jar"), *coroutines.glob("*.jar")]
        assert len(found) == 2
        return found


@pytest.fixture(scope="module")
def home(
    repo: Path, need_tool: Tool, missing: Missing, tmp_path_factory: pytest.TempPathFactory
) -> Home:
    jdk = Path(need_tool("java", "javac")).resolve().parent.parent
    mvn = need_tool("maven", "mvn")
    folder = tmp_path_factory.mktemp("kotlin")
    cache = repo / "build" / "maven"
    try:
        for version in (_NEWEST, _OLDER, _OLDEST_READER):
            kotlin.compiler(mvn, jdk, cache, version)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        missing("maven", f"Maven Central cannot be reached: {failure}")
    built = java.build(repo, jdk, need_tool("cc", "cc"), folder)
    models = folder / "models"
    models.mkdir()
    java_models.write(models)
    java_texts.write(models)
    return Home(built, models, mvn, cache)


def _library(repo: Path, home: Home, version: str, out: Path) -> Path:
    """The library's classes, compiled as its Gradle file says."""
    language = kotlin.language(repo)
    stubs = home.built.folder / "stubs"
    home.compiler(version).compile(
        kotlin.sources(repo),
        out,
        [*home.needed(), stubs, home.built.classes],
        *("-Xexplicit-api=strict", "-Xsuppress-version-warnings"),
        *("-language-version", language, "-api-version", language),
    )
    return out


@pytest.fixture(scope="module", params=[(_NEWEST, _OLDEST_READER), (_OLDER, _OLDER)], ids="-".join)
def compiled(
    repo: Path, home: Home, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """A class path: the library by one compiler, the tests' programs by another one that reads it."""
    library, reader = request.param
    folder = tmp_path_factory.mktemp("compiled")
    path = [_library(repo, home, library, folder / "library"), *home.needed(reader)]
    tests = home.built.folder / "tests"
    programs = sorted((repo / "tests" / "e2e" / "kotlin").glob("*.kt"))
    assert len(programs) == 5
    home.compiler(reader).compile(
        programs, folder / "tests", [*path, home.built.android, home.built.classes, tests]
    )
    return [folder / "tests", tests, *path]


def test_suspend_functions(home: Home, compiled: list[Path]) -> None:
    assert kotlin.run(home.built, "kotlintests.Runs", compiled, home.models) == ""


def test_flows(home: Home, compiled: list[Path]) -> None:
    """Frames are closed, the newest are read, a collector that leaves stops the run; sound."""
    labels = java_models.heard(home.models).splitlines()[1]
    assert labels.startswith("each=")
    assert kotlin.run(home.built, "kotlintests.Flows", compiled, home.models) == f"{labels}\n"


def test_texts(home: Home, compiled: list[Path]) -> None:
    """Flows give Python's parts; a collector that leaves or is cancelled stops the text."""
    parts = java_texts.parts(home.models)
    assert kotlin.run(home.built, "kotlintests.Texts", compiled, home.models) == f"{parts}\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Recorded runs of small models, and of the networks where they are; what Golden prints of them."""
    folder = tmp_path_factory.mktemp("recorded")
    networks = os.environ.get("SAMARA_MODELS")
    return folder, golden_cases.write(folder, Path(networks) if networks else None)


def test_golden_bytes(home: Home, compiled: list[Path], recorded: tuple[Path, str]) -> None:
    folder, printed = recorded
    assert kotlin.run(home.built, "kotlintests.Golden", compiled, folder) == printed


def test_what_old_compilers_read(repo: Path, home: Home, tmp_path: Path) -> None:
    """The promise needs the language version: without it the oldest reader refuses the classes."""
    called, caller = tmp_path / "Called.kt", tmp_path / "Caller.kt"
    called.write_text("package called\n\nfun called() = 1\n")
    caller.write_text("fun caller() = called.called()\n")
    language = kotlin.language(repo)
    for name, options in (
        ("promised", ("-language-version", language, "-api-version", language)),
        ("own", ()),
    ):
        quiet = "-Xsuppress-version-warnings"
        home.compiler(_NEWEST).compile([called], tmp_path / name, home.needed(), quiet, *options)
        path = [tmp_path / name, *home.needed()]
        compiler = home.compiler(_OLDEST_READER)
        done = ran(*compiler.command([caller], tmp_path / f"{name}_caller", path))
        assert (done.returncode == 0) == (name == "promised"), done.stderr
        if name == "own":
            assert "incompatible version of Kotlin" in done.stderr


def test_the_program_of_the_page(repo: Path, home: Home, tmp_path: Path) -> None:
    written = write_files(repo / "docs" / "guides" / "android.md", tmp_path)
    programs = [path for path in written if path.suffix == ".kt"]
    assert [path.name for path in programs] == ["Scores.kt", "Faces.kt"]
    library = _library(repo, home, _NEWEST, tmp_path / "library")
    path = [library, *home.needed(), home.built.android, home.built.classes]
    home.compiler(_NEWEST).compile(programs, tmp_path / "page", path)
