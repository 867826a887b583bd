# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/e2e/swift_cases.py as lines, which the Java and Kotlin programs read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e import swift_cases


def write(folder: Path, networks: Path | None = None) -> str:
    """Models, tensors and cases.txt in `folder`; what the programs print of them."""
    swift_cases.write(folder, networks)
    lines, printed = [], []
    for case in json.loads((folder / "cases.json").read_text(encoding="utf-8")):
        if not case["runs"]:
            continue
        lines.append(f"case\t{case['name']}\t{case['model']}\t{case['function'] or ''}")
        printed.append(f"{case['name']}={len(case['runs'])}")
        for run in case["runs"]:
            lines.append("run")
            for word, kind in (("in", "inputs"), ("out", "outputs")):
                for name, tensor in run[kind].items():
                    dims = ",".join(map(str, tensor["shape"]))
                    lines.append(f"{word}\t{name}\t{tensor['dtype']}\t{dims}\t{tensor['file']}")
    (folder / "cases.txt").write_text("\n".join(lines), encoding="utf-8")
    return "\n".join([*printed, ""])
