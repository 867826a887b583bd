# SPDX-License-Identifier: Apache-2.0
"""Measure how much an AAR adds to an app: the library of every ABI for MobileNetV2 in int8, and the full library.

Usage: aar_size.py [--only NAME …] [--write]. Fails if MobileNetV2's library exceeds LIMIT bytes for an ABI;
--write puts the figures into docs/guides/android.md. It needs the tools of `samara build --target android`,
and no model.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import samara
from samara.exporter.build import build_android
from samara.exporter.package.aar import LIBRARY
from samara.exporter.package.aar_tools import ABIS
from samara.exporter.types import BackendError

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "android.md"
LIMIT = 200_000  # bytes of a library for MobileNetV2 in int8, without the model
MOBILENET, FULL = "MobileNetV2 in int8", "`--full`"

_BEGIN, _END = "<!-- Written by tools/aar_size.py --write -->\n", "<!-- End -->\n"
_BLOCK = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes of a library: as mapped on a device, and deflated, as downloaded."""

    plain: int
    deflated: int


Weights = Mapping[str, Mapping[str, Weight]]
"""Sizes by subject and ABI."""


def mobilenet(folder: Path) -> Path:
    """Write MobileNetV2 with random weights in int8 into the folder; only its library is measured."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from benchmarks import zoo

    program = samara.import_onnx(zoo.mobilenet_v2())
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype=np.float32)
    (name,) = (value.name for value in program.main.inputs)
    path = folder / "mobilenet_v2_int8.samara"
    samara.export(samara.quantize(program, [{name: image}], scheme="int8"), path, check=False)
    return path


def weights_of(aar: Path) -> dict[str, Weight]:
    """The size of the library in an AAR, by ABI."""
    with zipfile.ZipFile(aar) as archive:
        entries = {name.filename: name for name in archive.infolist()}
    found = {abi: entries.get(f"jni/{abi}/{LIBRARY}") for abi in ABIS}
    return {abi: Weight(e.file_size, e.compress_size) for abi, e in found.items() if e is not None}


def measure(names: Iterable[str], folder: Path) -> dict[str, dict[str, Weight]]:
    """Build the AARs of the named subjects, and measure them."""
    weighed = {}
    for name in names:
        out = folder / "a.aar"
        if name == FULL:
            build_android(out=out, full=True)
        else:
            build_android([mobilenet(folder)], out=out)
        weighed[name] = weights_of(out)
    return weighed


def table(weights: Weights) -> str:
    """The figures for the page."""
    lines = [
        "| bytes of the library | " + " | ".join(ABIS) + " |",
        "|---|" + "---:|" * len(ABIS),
    ]
    for name, of in weights.items():
        plain, deflated = zip(*((w.plain, w.deflated) for w in of.values()), strict=True)
        for label, sizes in ((name, plain), (f"{name}, deflated", deflated)):
            lines.append(f"| {label} | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    return "\n".join(lines) + "\n"


def written(page: str, weights: Weights) -> str:
    """The page with these figures inserted."""
    text, count = _BLOCK.subn(lambda _match: f"{_BEGIN}{table(weights)}{_END}", page)
    if count != 1:
        raise ValueError(f"the page has {count} blocks for the figures, expected 1")
    return text


def read(page: str) -> dict[str, dict[str, Weight]]:
    """The figures in the page."""
    block = _BLOCK.search(page)
    lines = block[0].splitlines() if block else []
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in lines if line[:2] == "| "]
    rows = {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in cells[1:]}
    names = [name for name in rows if f"{name}, deflated" in rows]
    return {
        name: {
            abi: Weight(*pair)
            for abi, *pair in zip(ABIS, rows[name], rows[f"{name}, deflated"], strict=True)
        }
        for name in names
    }


def over(weights: Weights) -> list[str]:
    """The ABIs for which MobileNetV2's library is too large."""
    return [
        f"{abi}: {weight.plain:,} bytes for {MOBILENET}, over {LIMIT:,}"
        for abi, weight in weights.get(MOBILENET, {}).items()
        if weight.plain > LIMIT
    ]


def main(arguments: Iterable[str] | None = None) -> int:
    """Print each library's size; exit 1 when one is too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=(MOBILENET, FULL))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(None if arguments is None else list(arguments))
    if args.write and args.only:
        parser.error("--write measures everything")
    try:
        with tempfile.TemporaryDirectory(prefix="samara-aar-size-") as folder:
            weights = measure(args.only or (MOBILENET, FULL), Path(folder))
    except BackendError as error:
        print(f"NOT RUN: sizes of AARs ({error.message})")
        return 0 if not args.write else 1
    print(table(weights), end="")
    if args.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), weights), encoding="utf-8")
    grown = over(weights)
    print("\n".join(grown), file=sys.stderr) if grown else None
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
