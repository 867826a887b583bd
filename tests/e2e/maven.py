# SPDX-License-Identifier: Apache-2.0
"""Files of Maven Central that only tests use. They are kept in build/maven."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_SECONDS = 600  # that a file of 200 MB may take
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>tests</artifactId><version>1</version>
<dependencies><dependency>
<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
</dependency></dependencies>
</project>
"""


class NoMaven(Exception):
    """Why a file cannot be downloaded."""


def artifact(repo: Path, coordinates: str) -> Path:
    """The jar of GROUP:NAME:VERSION. NoMaven without it."""
    _, name, version = coordinates.split(":")
    with _locked(repo) as folder:
        file = folder / f"{name}-{version}.jar"
        if not file.exists():
            _call(folder, coordinates, "copy", f"-Dartifact={coordinates}")
    return file


def with_dependencies(repo: Path, coordinates: str) -> list[Path]:
    """The files of GROUP:NAME:VERSION and of all that it needs. NoMaven without them."""
    group, name, version = coordinates.split(":")
    with _locked(repo) as folder:
        files = folder / f"{name}-{version}"
        if not files.exists():
            project = folder / f"{files.name}.pom"
            project.write_text(_PROJECT.format(group, name, version), encoding="utf-8")
            coming = files.with_suffix(".coming")
            _call(coming, coordinates, "copy-dependencies", "-f", str(project))
            coming.rename(files)
    return sorted(files.iterdir())


@contextlib.contextmanager
def _locked(repo: Path) -> Iterator[Path]:
    """The folder, for one process at a time."""
    folder = repo / "build" / "maven"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _call(out: Path, coordinates: str, goal: str, *options: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoMaven("mvn is not installed")
    command = [maven, "-B", "-q", f"{_PLUGIN}:{goal}", f"-DoutputDirectory={out}", *options]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise NoMaven(f"{coordinates} did not come within {_SECONDS} s") from late
    if done.returncode != 0:
        raise NoMaven(f"Maven does not give {coordinates}")
