# SPDX-License-Identifier: Apache-2.0
"""Find the sources of the runtime and of its Swift and web packages, in a checkout or an installed package."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from samara.pybridge.errors import BackendError


def sources() -> Path:
    """The folder with the C runtime's src/, include/ and tools/. BackendError if there is none."""
    return _folder("runtime_c", "src", "C")


def swift_sources() -> Path:
    """The folder with the Swift package's Package.swift and Sources/. BackendError if there is none."""
    return _folder("ios", "Sources", "Swift")


def web_sources() -> Path:
    """The folder with the web package's package/ and native/. BackendError if there is none."""
    return _folder("web", "package", "JavaScript")


def _folder(name: str, holds: str, language: str) -> Path:
    here = Path(str(importlib.resources.files("samara.pybridge"))).resolve()
    # A wheel carries a copy beside this package; a checkout has them three folders up.
    for folder in (here / name, here.parents[2] / name):
        if (folder / holds).is_dir():
            return folder
    raise BackendError(
        f"the runtime's {language} sources are not in {here / name}", fix="reinstall samara"
    )
