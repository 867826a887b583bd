# SPDX-License-Identifier: Apache-2.0
"""The golden file is written from a program that means the same today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from samara.exporter.ir import open_program, read_file


def test_the_committed_file_holds_this_program(repo: Path, tmp_path: Path) -> None:
    made = tmp_path / "golden.samara"
    subprocess.run(
        [sys.executable, repo / "tools" / "make_golden.py", made], check=True, capture_output=True
    )
    newest = sorted((repo / "tests" / "golden").glob("*.samara"))[-1]
    assert str(open_program(made)) == str(open_program(newest))
    assert read_file(made).golden[0].inputs.keys() == {"image"}
