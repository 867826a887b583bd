# SPDX-License-Identifier: Apache-2.0
"""The facts of a published FlatBuffer schema as compact text: names, types and defaults of fields, enum values.

Usage: gen_tflite.py schema.fbs metadata_schema.fbs

Writes exporter/samara/exporter/importers/tflite/facts.py. The schemas are those of LiteRT
(tflite/converter/schema/schema.fbs) and of TFLite metadata (tensorflow_lite_support/metadata/metadata_schema.fbs);
they are run through this tool when a newer one has operators that samara should know.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Tables of StableHLO's operators, but of those that LiteRT runs.
_UNUSED = r"Stablehlo(?!(Pad|Gather|Scatter|ReduceWindow|ShiftLeft|Case)Options)\w+"
OUTPUT = ROOT / "exporter/samara/exporter/importers/tflite/facts.py"

_HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""What the published schemas of TFLite models and of their metadata say; made by tools/gen_tflite.py.

A line is an enum (`E name value…`, `=` before a value that does not follow the one before), a union (`U name
table…`), or a table (`T name field:type=default…`, `-` for a field that is no longer used).
"""

from typing import Final

'''


def facts(text: str, without: str = "") -> str:
    """The lines of a schema; tables whose names match `without` are left out."""
    text = re.sub(r"//[^\n]*", "", text)
    lines = []
    for kind, name, body in re.findall(
        r"\b(enum|union|table)\s+(\w+)[^{;]*\{([^}]*)\}", text, re.DOTALL
    ):
        if kind == "enum":
            lines.append(f"E {name} {' '.join(_values(body))}")
        elif kind == "union":
            # A member is never left out, because its position is its code.
            members = [m.strip() for m in body.split(",") if m.strip()]
            lines.append(f"U {name} {' '.join(m.split('(')[0].strip() for m in members)}")
        elif not (without and re.fullmatch(without, name)):
            fields = [_field(f) for f in body.split(";") if f.strip()]
            lines.append(" ".join(["T", name, *fields]))
    return "\n".join(lines)


def _values(body: str) -> list[str]:
    found, expected = [], 0
    for part in body.split(","):
        match = re.match(r"\s*(\w+)\s*(?:=\s*(-?\d+))?", part)
        if match is None:
            continue
        value = expected if match[2] is None else int(match[2])
        found.append(match[1] if value == expected else f"{match[1]}={value}")
        expected = value + 1
    return found


def _field(text: str) -> str:
    match = re.match(r"\s*(\w+)\s*:\s*(\[?\w+\]?)\s*(?:=\s*([\w.+-]+))?\s*(\(.*\))?", text)
    assert match is not None, text
    name, kind, default, notes = match.groups()
    if notes and "deprecated" in notes:
        return f"-:{kind}"
    return f"{name}:{kind}" + (f"={default}" if default else "")


def module(model: str, metadata: str) -> str:
    """Text of the generated module."""
    parts = []
    for name, text in (("MODEL", model), ("METADATA", metadata)):
        lines = []
        for line in text.splitlines():
            lines += textwrap.wrap(line, 118, subsequent_indent="  ", break_on_hyphens=False)
        parts.append(f'{name}: Final = """\n' + "\n".join(lines) + '\n"""\n')
    return _HEAD + "\n".join(parts)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    model, metadata = (Path(p).read_text(encoding="utf-8") for p in sys.argv[1:])
    OUTPUT.write_text(module(facts(model, _UNUSED), facts(metadata)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
