# SPDX-License-Identifier: Apache-2.0
"""Compare samara's tokenizers with PyPI's `tokenizers` on lines made from what the standard library ships.

Usage: python -m tools.compare_tokenizers [--lines 1000000] [--each 2] TOKENIZER.json ..., in an environment with
`tokenizers`, numpy and cffi. Every line goes to `each` of the files in turn; ids and the text decoded from them
must be equal. Prints the first differences of each file, and exits 1 if there are any.
"""

from __future__ import annotations

import argparse
import html.entities
import importlib
import itertools
import os
import random
import sys
import sysconfig
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / room) for room in ("exporter", "pybridge")]

SEED = 20261129
_SHOWN = 3
_INSERTED = (
    "<s>",
    "</s>",
    "[MASK]",
    "<mask>",
    "<|end|>",
    "under_score",
    "Tom",
    "\u0301",
    "\u200d",
    "'LL",
    "  ",
    "▁",
)
_CODECS = ("latin-1", "cp1252", "cp437", "koi8-r", "shift_jis", "gb18030", "euc-kr", "utf-16-le")


def sources() -> Iterator[str]:
    """Lines of all sources of the standard library, with their comments and strings in many languages."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" not in path.parts:
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()


def random_line(rng: random.Random) -> str:
    """Code points from all of Unicode, from a few blocks, or from one."""
    kind = rng.randrange(3)
    length = rng.randrange(1, 40)
    if kind == 0:
        points = [rng.randrange(0x110000) for _ in range(length)]
    elif kind == 1:
        points = [
            rng.choice((rng.randrange(0x3000), rng.randrange(0x80), 0x20)) for _ in range(length)
        ]
    else:
        start = rng.randrange(0x1100) << 8
        points = [start + rng.randrange(256) for _ in range(length)]
    return "".join(chr(p) for p in points if not 0xD800 <= p < 0xE000)


def named_line(rng: random.Random) -> str:
    """A character and its name, an entity of HTML, or a normal form."""
    point = rng.randrange(0x20000)
    if 0xD800 <= point < 0xE000:
        point = 0x41
    name = unicodedata.name(chr(point), "no name")
    entity, text = rng.choice(list(html.entities.html5.items()))
    form = unicodedata.normalize(rng.choice(("NFC", "NFD", "NFKC", "NFKD")), chr(point))
    return rng.choice(
        (f"{chr(point)} {name.title()}", f"&{entity} {text}{name}", f"x{form}{text} {form}")
    )


def lines(count: int) -> Iterator[str]:
    """The lines: half of them sources, some of them changed, the others random, named, or in a wrong encoding."""
    rng = random.Random(SEED)
    source = itertools.cycle(list(sources()))
    for i in range(count):
        kind = i % 8
        line = next(source)
        if kind < 4:
            yield line
        elif kind == 4:
            at = rng.randrange(len(line) + 1)
            yield line[:at] + rng.choice(_INSERTED) + line[at:] + rng.choice(_INSERTED)
        elif kind == 5:
            yield random_line(rng)
        elif kind == 6:
            yield named_line(rng)
        else:
            data = line.encode() + rng.randbytes(rng.randrange(20))
            yield data.decode(rng.choice(_CODECS), errors="replace").translate(
                dict.fromkeys(range(55296, 57344))
            )


def differences(own: Any, other: Any, line: str) -> list[str]:
    """What differs for a line, as texts."""
    found = []
    wanted = other.encode(line).ids
    got = own.encode(line)
    if got != wanted:
        found.append(f"ids of {line!r}: {got}, and {wanted} by tokenizers")
    if own.decode(wanted) != other.decode(wanted):
        found.append(
            f"text of {wanted}: {own.decode(wanted)!r}, and {other.decode(wanted)!r} by tokenizers"
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=2)
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tk = importlib.import_module("tokenizers")  # not a dependency of this project

    from samara.exporter.text.tokenizer import Tokenizer

    pairs = []
    for path in options.files:
        other = tk.Tokenizer.from_file(str(path))
        other.no_truncation()
        other.no_padding()
        pairs.append((path.stem, Tokenizer.from_file(path), other))
    counts = {name: [0, 0] for name, _, _ in pairs}
    turn = itertools.cycle(pairs)
    started = time.perf_counter()
    for line in lines(options.lines):
        for name, own, other in itertools.islice(turn, min(options.each, len(pairs))):
            counts[name][0] += 1
            found = differences(own, other, line)
            if found:
                counts[name][1] += 1
                if counts[name][1] <= _SHOWN:
                    print(f"{name}: {found[0][:600]}", flush=True)
    for name, (count, bad) in counts.items():
        print(f"{name}: {count} lines, {bad} differ")
    print(f"{options.lines} lines in {time.perf_counter() - started:.0f} s")
    return int(any(bad for _, bad in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
