# SPDX-License-Identifier: Apache-2.0
"""The generated texts of the schema: consistent rows for C, and a schema that flatc accepts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from samara.exporter.ir import schema_text


def test_rows_for_c_are_consistent() -> None:
    text = schema_text.generate()[schema_text.INC_PATH]
    tables = [line for line in text.splitlines() if line.startswith("SMR_TABLE(")]
    fields = [line for line in text.splitlines() if line.startswith("SMR_FIELD(")]
    at = 0
    for line in tables:
        name, first, count = line.removeprefix("SMR_TABLE(").removesuffix(")").split(", ")
        assert int(first) == at
        assert all(f.startswith(f"SMR_FIELD({name}, ") for f in fields[at : at + int(count)])
        at += int(count)
    assert at == len(fields)
    assert tables[0].startswith("SMR_TABLE(MODEL, 0, ")
    assert 'SMR_FIELD(FUNCTION, exprs, "exprs", 1, VEC_STRUCT, 24, 0)' in fields
    assert 'SMR_FIELD(NODE, attrs_type, "attrs_type", 3, UNION_TYPE, 0, 0)' in fields
    assert "_ATTRS" not in text  # they follow from opattrs.inc


def test_flatc_takes_the_schema(need_tool: Callable[[str, str], str], tmp_path: Path) -> None:
    flatc = need_tool("flatc", "flatc")
    path = tmp_path / "samara.fbs"
    path.write_text(schema_text.generate()[schema_text.FBS_PATH], encoding="utf-8")
    done = subprocess.run(
        [flatc, "--schema", "--binary", "-o", str(tmp_path), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
