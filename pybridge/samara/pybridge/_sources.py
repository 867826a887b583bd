# SPDX-License-Identifier: Apache-2.0
"""Where the runtime's C sources are: in a checkout, or in an installed package."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from samara.pybridge.errors import BackendError

_NAME = "runtime_c"


def sources() -> Path:
    """The folder that holds the C runtime's src/, include/ and tools/. BackendError where there is none."""
    here = Path(str(importlib.resources.files("samara.pybridge"))).resolve()
    # A wheel carries a copy beside this package; a checkout has them three folders up.
    for folder in (here / _NAME, here.parents[2] / _NAME):
        if (folder / "src").is_dir():
            return folder
    raise BackendError(f"the runtime's C sources are not in {here / _NAME}", fix="reinstall samara")
