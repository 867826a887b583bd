# SPDX-License-Identifier: Apache-2.0
"""Virtual environments of the peers under build/bench, each made on first use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engines import BEFORE, EARLIER, SAMARA, Environment

ROOT = Path(__file__).resolve().parent.parent
_SECONDS = 1800


class Missing(Exception):
    """An environment, a conversion or an engine is not available; the text says why."""


def python_of(folder: Path, environment: Environment) -> Path:
    """The environment's interpreter. Missing packages are installed; a failure is remembered until the required
    packages change.
    """
    if environment == SAMARA:
        return Path(sys.executable)
    if environment == BEFORE:
        return home_of(EARLIER) / ".venv" / "bin" / "python"
    home = folder / environment.name
    stamp = home / "installed.json"
    wanted = [*environment.packages, environment.alone]
    if stamp.is_file():
        kept = json.loads(stamp.read_text(encoding="utf-8"))
        if kept["packages"] == wanted:
            if kept["problem"]:
                raise Missing(kept["problem"])
            return home / "bin" / "python"
    base = _interpreter(environment.python)
    if base is None:  # not remembered, because Python may be installed at any time
        raise Missing("needs Python {}.{} or newer on PATH".format(*environment.python))
    print(f"installing {', '.join(environment.packages)} in {home}", file=sys.stderr)
    problem = _install(home, environment, base)
    home.mkdir(parents=True, exist_ok=True)
    stamp.write_text(json.dumps({"packages": wanted, "problem": problem}), encoding="utf-8")
    if problem:
        raise Missing(problem)
    return home / "bin" / "python"


def _install(home: Path, environment: Environment, base: str) -> str:
    """Make the environment with the interpreter `base`; returns the reason of a failure, or ""."""
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    steps: list[Sequence[str]] = [[base, "-m", "venv", "--without-pip", str(home)]]
    # Use this environment's pip, so that none need be downloaded.
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-q"]
    steps.append([*pip, *(["--no-deps"] if environment.alone else []), *environment.packages])
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return f"installing took more than {_SECONDS} s"
        if done.returncode:
            lines = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
            return (lines or ["ERROR: pip failed"])[-1].removeprefix("ERROR: ")[:200]
    return ""


def _interpreter(least: tuple[int, int]) -> str | None:
    """A new enough Python: this one, or one on PATH that starts."""
    if sys.version_info[:2] >= least:
        return sys.executable
    for minor in range(least[1], least[1] + 4):
        found = shutil.which(f"python{least[0]}.{minor}")
        if (
            found
            and subprocess.run([found, "-c", "import venv"], capture_output=True).returncode == 0
        ):
            return found
    return None


def home_of(engine: str) -> Path:
    """The checkout whose code runs for an engine. Missing if SAMARA_BEFORE must name it and does not."""
    if engine != EARLIER:
        return ROOT
    named = os.environ.get("SAMARA_BEFORE")
    if not named:
        raise Missing("SAMARA_BEFORE must name an earlier checkout of samara (engines/before.py)")
    home = Path(named).resolve()
    if not _release(home):
        raise Missing(f"{home} has no library in build/release (engines/before.py)")
    return home


def own_name(engine: str) -> str:
    """The name of an engine in its checkout."""
    return "samara" if engine == EARLIER else engine


def _release(home: Path) -> dict[str, str]:
    libraries = (home / "build" / "release").glob("*samara.*")
    found = [str(p) for p in libraries if p.suffix in (".so", ".dylib", ".dll")]
    return {"SAMARA_LIBRARY": found[0]} if found else {}


def variables(home: Path = ROOT) -> dict[str, str]:
    """The environment variables of an engine's process: it uses the package of its checkout and no packages of
    the user. samara's library is the release build if there is one and, for this checkout, SAMARA_LIBRARY is
    not set.
    """
    own = os.environ if home == ROOT else {**os.environ, **_release(home)}
    return {
        **_release(home),
        **own,
        "PYTHONPATH": str(home),
        "PYTHONNOUSERSITE": "1",
        "PYTHONWARNINGS": "ignore",
    }
