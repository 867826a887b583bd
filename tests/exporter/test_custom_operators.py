# SPDX-License-Identifier: Apache-2.0
"""Files that register operators."""

from __future__ import annotations

from pathlib import Path

import pytest

import samara
from samara.exporter.custom_operators import load_operators
from samara.exporter.ops import find_custom_op


def test_a_file_registers(tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text(
        "import samara\n"
        "samara.register_op('loaded::twice', reference=lambda x: 2 * x)\n"
        "assert __name__ != '__main__'\n"
    )
    load_operators(file)
    assert find_custom_op("loaded::twice") is not None


def test_files_that_go_wrong(tmp_path: Path) -> None:
    with pytest.raises(samara.SamaraError, match="there is no such file"):
        load_operators(tmp_path / "absent.py")
    file = tmp_path / "bad.py"
    file.write_text("1 / 0\n")
    with pytest.raises(samara.SamaraError, match=r"bad\.py failed: ZeroDivisionError"):
        load_operators(file)
    file.write_text("import samara\nsamara.register_op('plain', reference=abs)\n")
    with pytest.raises(samara.UnsupportedError, match="'plain' is not the name"):
        load_operators(file)
