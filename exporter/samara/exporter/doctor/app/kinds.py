# SPDX-License-Identifier: Apache-2.0
"""Recognise names of apps and packages for apps."""

from __future__ import annotations

import os
from typing import Final

KINDS: Final = {
    ".apk": "apk",
    ".aar": "aar",
    ".ipa": "ipa",
    ".app": "app",
    ".xcframework": "xcframework",
    ".xcframework.zip": "xcframework",
}
FOLDERS: Final = ("app", "xcframework")
# Containers of apps, and what to give instead.
OTHERS: Final = {
    ".aab": "bundletool build-apks --mode=universal makes an .apk of it",
    ".apks": "unzip it, and name one of its .apk files",
    ".xapk": "unzip it, and name one of its .apk files",
    ".xcarchive": "name the .app in its Products/Applications",
}


def is_app(path: str | os.PathLike[str]) -> bool:
    """Whether a name is that of an app or a package for apps; the file need not exist."""
    return ending_of(path) in (*KINDS, *OTHERS)


def ending_of(path: str | os.PathLike[str]) -> str:
    """The ending of a name, in lower case."""
    name = os.fspath(path).rstrip("/\\").lower()
    if name.endswith(".xcframework.zip"):
        return ".xcframework.zip"
    return os.path.splitext(name)[1]
