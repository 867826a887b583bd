# SPDX-License-Identifier: Apache-2.0
"""The files that a page of docs/ shows: fenced blocks whose first line is a comment with a file's name; of
Swift's manifests the second, since the first says their version.
"""

from __future__ import annotations

import re
from pathlib import Path

_BLOCK = re.compile(
    r"^```\w+\n(?P<text>(?:// swift-tools-version:\S+\n)?"
    r"(?:/\*|//|#|<!--) (?P<name>[\w/.]+)(?: \*/| -->)?\n(?:(?!```).*\n)*)```$",
    re.MULTILINE,
)


def write_files(page: Path, folder: Path) -> list[Path]:
    """Write the files of `page` into `folder`, in the page's order; what they are called there."""
    written = []
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        path = folder / block["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        assert path not in written, f"{page.name} shows {block['name']} twice"
        path.write_text(block["text"], encoding="utf-8")
        written.append(path)
    return written
