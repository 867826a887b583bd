# SPDX-License-Identifier: Apache-2.0
"""Files of Maven Central, which tests alone use."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

_SECONDS = 600  # that a file of 200 MB may take
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


class NoMaven(Exception):
    """Why a file is not to be had."""


def artifact(repo: Path, coordinates: str) -> Path:
    """The file of GROUP:NAME:VERSION, which is kept in build/maven. NoMaven without it."""
    folder = repo / "build" / "maven"
    folder.mkdir(parents=True, exist_ok=True)
    _, name, version = coordinates.split(":")
    file = folder / f"{name}-{version}.jar"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            _download(folder, coordinates)
    return file


def _download(folder: Path, coordinates: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoMaven("mvn is not installed")
    given = (f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}")
    try:
        done = subprocess.run(
            [maven, "-B", "-q", _PLUGIN, *given],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise NoMaven(f"{coordinates} did not come within {_SECONDS} s") from late
    if done.returncode != 0:
        raise NoMaven(f"Maven does not give {coordinates}")
