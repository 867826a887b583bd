# SPDX-License-Identifier: Apache-2.0
"""Python's index knows another `samara`: nothing tells anyone to install that one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.meta.test_spdx import tracked_files

# An installer, its words, and the bare name; a name with extras, wherever it stands.
INSTALLERS = r"(?:pip[x3]?|uv|uvx|poetry|pdm|conda|mamba|npm|npx|yarn|pnpm)"
TOKEN = r"(?:[ \t]+[-'\"=<>~!,.\[\]\w/:@${}*]+)"
ADVICE = re.compile(
    rf"\b{INSTALLERS}[ \t]+(?:pip[ \t]+)?(?:install|download|add|i){TOKEN}*?[ \t]+['\"]?samara(?![-\w./])"
    r"|(?<![-\w./])samara\[[a-z][a-z, ]*\]"
)
NAME = "samara-nn"


def strangers(text: str) -> list[str]:
    """What in a text would fetch, or name with extras, the package of somebody else."""
    return [found.group() for found in ADVICE.finditer(text)]


def test_nothing_says_to_install_a_strangers_package(repo: Path) -> None:
    found = []
    for path in tracked_files(repo):
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if "samara" in text:
            found += [f"{path.relative_to(repo)}: {advice}" for advice in strangers(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("pip install samara", True),
        ("python -m pip install 'samara[onnx]'", True),
        ('fix="pip install samara[cross]"', True),
        ("the extra samara[images]", True),
        ("pip install -U samara\n", True),
        ("pip install samara==0.6.0", True),
        ("pip install numpy samara", True),
        ("uv pip install samara", True),
        ("uv add samara", True),
        ("npm install samara", True),
        ("pip install samara-nn", False),
        ("pip install 'samara-nn[onnx]'", False),
        ("pip install dist/samara_nn-0.6.0-py3-none-linux_x86_64.whl", False),
        ("pip install '.[demo]'", False),
        ("pip install onnx ml_dtypes", False),
        ("import samara", False),
        ("find_package(samara)", False),
    ],
)
def test_advice_is_seen(text: str, seen: bool) -> None:
    assert bool(strangers(text)) == seen


def test_the_distribution_and_its_extras(repo: Path) -> None:
    project = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == NAME
    assert project["scripts"] == {"samara": "samara.cli.main:main"}
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    own = [d for group in groups for d in group if d.startswith("samara")]
    assert all(d.startswith(f"{NAME}[") for d in own), own
