# SPDX-License-Identifier: Apache-2.0
"""Weigh the built libraries and hold them against runtime_c/size_budget.txt."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from struct import unpack_from

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "runtime_c" / "size_budget.txt"


def loaded_bytes(elf: bytes) -> int:
    """Bytes that a 64-bit little-endian ELF file loads: what it weighs when it is stripped."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = unpack_from("<Q", elf, 32)
    entry_bytes, n_entries = unpack_from("<HH", elf, 54)
    total = 0
    for i in range(n_entries):
        (kind,) = unpack_from("<I", elf, table + i * entry_bytes)
        (in_file,) = unpack_from("<Q", elf, table + i * entry_bytes + 32)
        total += in_file if kind == 1 else 0
    return total


def read_budget(text: str) -> dict[str, int]:
    """Rows `<build folder>/<library> <bytes>`; # starts a comment."""
    rows = [line.split("#")[0].split() for line in text.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row}


def training_bytes(sizes: Mapping[str, int]) -> dict[str, int]:
    """By build folder: what the whole library weighs beyond the one that only runs models."""
    shares = {}
    for name, size in sizes.items():
        folder, _, library = name.rpartition("/")
        inference = sizes.get(f"{folder}/{library.replace('.', '_inference.', 1)}")
        if inference is not None:
            shares[folder] = size - inference
    return shares


def main() -> int:
    """Print each library's size and budget; exit 1 when one is over, or was not built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    args = parser.parse_args()
    over = False
    sizes: dict[str, int] = {}
    for name, limit in read_budget(BUDGET.read_text(encoding="utf-8")).items():
        library = args.build / name
        if not library.exists():
            print(f"{name}: not built")
            over = True
            continue
        size = sizes[name] = loaded_bytes(library.read_bytes())
        print(f"{name}: {size} bytes, budget {limit} ({size / limit:.0%})")
        over |= size > limit
    for folder, share in training_bytes(sizes).items():
        print(f"{folder}: of these {share} bytes are operators that only training needs")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
