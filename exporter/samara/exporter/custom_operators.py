# SPDX-License-Identifier: Apache-2.0
"""Run a Python file that registers custom operators, before a command needs them."""

from __future__ import annotations

import os
import runpy

from samara.exporter.types import SamaraError
from samara.pybridge.files import check_readable

__all__ = ["load_operators"]


def load_operators(path: str | os.PathLike[str]) -> None:
    """Run a Python file for its `samara.register_op` calls; its `__name__` is not `__main__`.

    Raises SamaraError if the file is missing or raises.
    """
    check_readable(path)
    try:
        runpy.run_path(os.fspath(path), run_name="operators")
    except SamaraError:
        raise
    except Exception as error:
        raise SamaraError(
            f"{os.fspath(path)} failed: {type(error).__name__}: {error}",
            fix="it should do no more than register operators when it is not the main program",
        ) from error
