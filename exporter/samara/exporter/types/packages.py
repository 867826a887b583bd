# SPDX-License-Identifier: Apache-2.0
"""Optional Python packages, and the error for missing ones."""

from __future__ import annotations

import importlib.util
from typing import Final

from samara.exporter.types.errors import SamaraError, UnsupportedError

# Packages whose module has another name.
_MODULES: Final = {"pillow": "PIL", "scikit-learn": "sklearn"}


def missing(what: str, *packages: str, kind: type[SamaraError] = UnsupportedError) -> SamaraError:
    """The error for a feature whose Python packages are not installed.

    what: the feature, as the subject of "needs". packages: their names for pip. The message names the
    missing ones, the fix is the command that installs all.
    """
    absent = [p for p in packages if not is_installed(p)] or list(packages)
    names = " and ".join(filter(None, (", ".join(absent[:-1]), absent[-1])))
    return kind(
        f"{what} needs {names}, which {'is' if len(absent) == 1 else 'are'} not installed",
        fix=f"pip install {' '.join(packages)}",
    )


def require(what: str, *packages: str, kind: type[SamaraError] = UnsupportedError) -> None:
    """Raise `missing(what, *packages)` unless all of these packages are installed."""
    if not all(is_installed(p) for p in packages):
        raise missing(what, *packages, kind=kind)


def is_installed(package: str) -> bool:
    """Whether the package of that name on PyPI can be imported; it is not imported here."""
    return importlib.util.find_spec(_MODULES.get(package, package)) is not None
