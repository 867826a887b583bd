# SPDX-License-Identifier: Apache-2.0
"""List the functions that the public headers export, in runtime_c/abi.txt, and compare the stable header with
the last release's (docs/reference/abi.md).

Usage: abi.py --check, or --write; after a release abi.py --release, which writes the promises of the
release to runtime_c/abi_released.txt.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "runtime_c" / "include" / "samara"
STABLE = ("samara_media.h", "samara_text.h", "samara.h")
ABI = ROOT / "runtime_c" / "abi.txt"
RELEASED = ROOT / "runtime_c" / "abi_released.txt"

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_DECLARATION = re.compile(r"\bSAMARA_API\b([^;{]*)[;{]")
_FUNCTION = re.compile(r"\b(samara_\w+)\s*\(")
_STRUCT = re.compile(r"\bstruct (samara_\w+)\s*\{([^}]*)\}")
_ENUMERATOR = re.compile(r"\b(SAMARA_\w+)\s*=\s*(\d+)")
_STATUS = re.compile(r"\bX\((\w+),\s*(\d+),")


def declared(header_text: str) -> list[str]:
    """Names of the functions declared SAMARA_API in the text of a header."""
    code = _DIRECTIVE.sub("", _COMMENT.sub(" ", header_text))
    names = []
    for declaration in _DECLARATION.finditer(code):
        function = _FUNCTION.search(declaration[1])
        if function is None:
            raise ValueError(
                f"SAMARA_API before a declaration that is not a function: {declaration[0]!r}"
            )
        names.append(function[1])
    return names


def abi_text(headers: Path = HEADERS) -> str:
    """The expected text of abi.txt: one symbol per line, sorted."""
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


def promises(header_text: str) -> dict[str, str]:
    """What programs that were compiled with a header depend on: `function NAME`, `struct NAME` and `constant
    NAME`, each with its declaration on one line.
    """
    bare = _COMMENT.sub(" ", header_text)
    code = _DIRECTIVE.sub("", bare)
    found = {}
    for declaration in _DECLARATION.finditer(code):
        function = _FUNCTION.search(declaration[1])
        assert function is not None
        found[f"function {function[1]}"] = _one_line(declaration[1])
    for name, fields in _STRUCT.findall(code):
        found[f"struct {name}"] = _one_line(fields)
    for name, value in _ENUMERATOR.findall(code):
        found[f"constant {name}"] = value
    for name, value in _STATUS.findall(bare):
        found[f"constant SAMARA_{name}"] = value
    return found


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def broken(released: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The promises of a release that a header breaks, in words."""
    faults = []
    for name, was in released.items():
        declared_now = now.get(name)
        # A struct with a size field may get fields at its end.
        grows = was.startswith("size_t struct_size;")
        if declared_now is None:
            faults.append(f"{name} is gone")
        elif declared_now != was and not (grows and declared_now.startswith(was)):
            faults.append(f"{name} was `{was}` and is `{declared_now}`")
    return faults


def released_promises() -> dict[str, str]:
    """The promises in runtime_c/abi_released.txt."""
    lines = RELEASED.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


def promises_now() -> dict[str, str]:
    """The promises of all public headers. A function may move to the experimental one (docs/reference/abi.md)."""
    return {
        name: text
        for header in ("samara_experimental.h", *STABLE)
        for name, text in promises((HEADERS / header).read_text(encoding="utf-8")).items()
    }


def released_text(header_text: str) -> str:
    """The text of abi_released.txt after a release of these headers; it has the text of all stable ones."""
    version = re.search(r'SAMARA_VERSION "([^"]+)"', header_text)
    assert version is not None
    rows = "".join(f"{name}: {text}\n" for name, text in sorted(promises(header_text).items()))
    return (
        "# SPDX-License-Identifier: Apache-2.0\n"
        f"# What the stable headers of {version[1]} promised, written by tools/abi.py --release"
        f" (docs/reference/abi.md).\n{rows}"
    )


def main() -> int:
    """Compare abi.txt with the headers, or rewrite it."""
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="exit 1 when abi.txt is stale")
    mode.add_argument("--write", action="store_true", help="rewrite abi.txt")
    mode.add_argument("--release", action="store_true", help="rewrite abi_released.txt")
    args = parser.parse_args()
    if args.release:
        texts = [(HEADERS / name).read_text(encoding="utf-8") for name in STABLE]
        RELEASED.write_text(released_text("".join(texts)), encoding="utf-8")
        return 0
    faults = broken(released_promises(), promises_now())
    for fault in faults:
        print(
            f"{fault}: programs built with the last release depend on it (docs/reference/abi.md)",
            file=sys.stderr,
        )
    if faults:
        return 1
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
