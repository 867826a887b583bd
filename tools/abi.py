# SPDX-License-Identifier: Apache-2.0
"""List the functions that the public headers export, in runtime_c/abi.txt."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "runtime_c" / "include" / "samara"
ABI = ROOT / "runtime_c" / "abi.txt"

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_DECLARATION = re.compile(r"\bSAMARA_API\b([^;{]*)[;{]")
_FUNCTION = re.compile(r"\b(samara_\w+)\s*\(")


def declared(header_text: str) -> list[str]:
    """Names of the functions declared SAMARA_API in the text of a header."""
    code = _DIRECTIVE.sub("", _COMMENT.sub(" ", header_text))
    names = []
    for declaration in _DECLARATION.finditer(code):
        function = _FUNCTION.search(declaration[1])
        if function is None:
            raise ValueError(f"SAMARA_API before something that is no function: {declaration[0]!r}")
        names.append(function[1])
    return names


def abi_text(headers: Path = HEADERS) -> str:
    """What abi.txt says when it is fresh: one symbol a line, sorted."""
    names = {
        name
        for header in sorted(headers.glob("*.h"))
        for name in declared(header.read_text(encoding="utf-8"))
    }
    first = (
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# Exported symbols of libsamara, generated from the public headers by tools/abi.py.\n"
    )
    return first + "".join(f"{name}\n" for name in sorted(names))


def main() -> int:
    """Compare abi.txt with the headers, or rewrite it."""
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="exit 1 when abi.txt is stale")
    mode.add_argument("--write", action="store_true", help="rewrite abi.txt")
    args = parser.parse_args()
    fresh = abi_text()
    if args.write:
        ABI.write_text(fresh, encoding="utf-8")
        return 0
    if not ABI.exists() or ABI.read_text(encoding="utf-8") != fresh:
        print(f"{ABI.relative_to(ROOT)} is stale: run `make gen`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
