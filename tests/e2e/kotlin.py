# SPDX-License-Identifier: Apache-2.0
"""Kotlin compilers of Maven Central, and the coroutines over the Android library compiled by them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.java import Built, call

COROUTINES = "org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.8.0"
STDLIB = "org.jetbrains.kotlin:kotlin-stdlib:2.0.21"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>dev.samara</groupId><artifactId>tests</artifactId>
<version>1</version><dependencies>{}</dependencies></project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
_ALONE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)


def jars(mvn: str, folder: Path, *artifacts: str, alone: bool = False) -> Path:
    """A folder with the jars of artifacts of Maven Central, GROUP:NAME:VERSION, and unless `alone` with
    those that they need. It is filled once.

    subprocess.CalledProcessError if they cannot be downloaded.
    """
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rest = _ALONE if alone else ""
        listed = "".join(_DEPENDENCY.format(*each.split(":"), rest) for each in artifacts)
        (folder / "pom.xml").write_text(_POM.format(listed), encoding="utf-8")
        subprocess.run(
            [mvn, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=600,
        )
        done.touch()
    return folder


@dataclass(frozen=True)
class Compiler:
    """A Kotlin compiler: its jars, and the version that it says."""

    jdk: Path
    folder: Path
    version: str

    def compile(
        self, sources: Sequence[Path], out: Path, classpath: Sequence[Path], *options: str
    ) -> None:
        """Compile to Java 8's class files; warnings are errors."""
        call(*self.command(sources, out, classpath, *options), cwd=out.parent)

    def command(
        self, sources: Sequence[Path], out: Path, classpath: Sequence[Path], *options: str
    ) -> list[str | Path]:
        """The command line of that."""
        return [
            *(self.jdk / "bin" / "java", "-cp", f"{self.folder}{os.sep}*"),
            *("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect"),
            *("-jvm-target", "1.8", "-Werror", *options),
            *("-cp", os.pathsep.join(map(str, classpath)), "-d"),
            *(out, *sources),
        ]


def compiler(mvn: str, jdk: Path, cache: Path, version: str) -> Compiler:
    """The Kotlin compiler of that version. subprocess.CalledProcessError if it cannot be downloaded."""
    name = f"org.jetbrains.kotlin:kotlin-compiler-embeddable:{version}"
    return Compiler(jdk, jars(mvn, cache / f"kotlin-{version}", name), version)


def sources(repo: Path) -> list[Path]:
    """The library's own files."""
    found = sorted((repo / "android" / "samara-kotlin" / "src" / "main").rglob("*.kt"))
    assert found
    return found


def language(repo: Path) -> str:
    """The language version that the library's Gradle file says, as in "2.0"."""
    text = (repo / "android" / "samara-kotlin" / "build.gradle").read_text(encoding="utf-8")
    said = {
        line.partition("KOTLIN_")[2].replace("_", ".") for line in text.split() if "KOTLIN_" in line
    }
    [version] = said
    return version


def run(built: Built, program: str, classpath: Sequence[Path], *arguments: str | Path) -> str:
    """What a program of tests/e2e/kotlin prints, with classes and libraries of Android's names."""
    flags = [f"-Djava.library.path={built.folder}", "-Xcheck:jni"]
    flags += ["--add-opens", "java.base/java.io=ALL-UNNAMED"]
    path = os.pathsep.join(map(str, (*classpath, built.android, built.classes)))
    return call(
        *(built.jdk / "bin" / "java", *flags, "-cp", path, program, *arguments),
        cwd=built.folder,
        LD_LIBRARY_PATH=str(built.android),
    )
