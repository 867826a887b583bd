# SPDX-License-Identifier: Apache-2.0
"""ONNX's own backend test suite through import, passes, file, C runtime and interpreter."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcome(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], str]:
    """The results of all cases, and the page made of them, once for all processes."""
    base = tmp_path_factory.getbasetemp()
    # Processes of pytest-xdist have folders side by side.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "onnx_suite"
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "ignore", str(repo / "tools" / "onnx_score.py"), "--jobs", "2"]
    files = {"--json": folder / "score.json", "--page": folder / "page.md"}
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            subprocess.run(
                [*command, *(str(part) for pair in files.items() for part in pair)],
                check=True,
                capture_output=True,
                timeout=900,
            )
            (folder / "done").touch()
    return json.loads(files["--json"].read_text()), files["--page"].read_text(encoding="utf-8")


def named(results: list[Any], *verdicts: str) -> list[str]:
    return [f"{r['name']}: {r['reason'][:300]}" for r in results if r["verdict"] in verdicts]


def test_nothing_is_wrong(outcome: tuple[list[Any], str]) -> None:
    results, _ = outcome
    assert len(results) > 2000
    assert named(results, "wrong", "crash", "hang") == []


def test_the_light_networks_pass(outcome: tuple[list[Any], str]) -> None:
    found = Counter(r["verdict"] for r in outcome[0] if r["kind"] == "real")
    assert found == {"pass": 9}


# What the passes leave of these is a constant, or an input under another name.
NOTHING_LEFT = {
    *("test_clip_default_inbounds_expanded", "test_clip_default_int8_inbounds"),
    *("test_clip_default_int8_inbounds_expanded", "test_einsum_scalar"),
    *("test_eyelike_populate_off_main_diagonal", "test_eyelike_with_dtype"),
    *("test_eyelike_without_dtype", "test_max_one_input", "test_min_one_input"),
    *("test_reduce_sum_empty_axes_input_noop", "test_reduce_sum_empty_axes_input_noop_example"),
    "test_sum_one_input",
}


def test_answers_come_from_kernels(outcome: tuple[list[Any], str]) -> None:
    """Cases that pass without a node to run are those whose outputs are dims, aliases or constants."""
    idle = [r for r in outcome[0] if r["verdict"] == "pass" and not r["runs"]]
    known = {"Cast", "CastLike", "Constant", "ConstantOfShape", "Dropout", "Flatten", "Identity"}
    known |= {"Reshape", "Shape", "Size", "Squeeze", "Unsqueeze"}
    others = {r["name"] for r in idle if not known & {*r["operators"]}}
    assert others <= NOTHING_LEFT, others - NOTHING_LEFT


def test_nothing_is_missing_and_the_page_is_up_to_date(
    repo: Path, outcome: tuple[list[Any], str]
) -> None:
    page = (repo / "docs" / "reference" / "onnx-coverage.md").read_text(encoding="utf-8")
    written = re.search(r"onnx ([\d.]+),", page)
    assert written is not None
    if written[1] != onnx.__version__:
        pytest.skip(f"NOT RUN: the page is about onnx {written[1]}, this is {onnx.__version__}")
    assert named(outcome[0], "unsupported") == []
    assert page == outcome[1], "run `make onnx-score`"
