# SPDX-License-Identifier: Apache-2.0
"""What is generated and committed is fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("tool", ["gen_ops.py", "gen_cdef.py", "abi.py", "gen_kernels.py"])
def test_generated_files_are_fresh(repo: Path, tool: str) -> None:
    command = [sys.executable, str(repo / "tools" / tool), "--check"]
    result = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"run `make gen`\n{result.stdout}{result.stderr}"
