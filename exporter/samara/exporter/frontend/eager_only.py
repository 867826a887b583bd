# SPDX-License-Identifier: Apache-2.0
"""Refuses traced tensors where a function computes in NumPy and has no operator."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend.operands import is_tensor
from samara.pybridge.errors import UnsupportedError


def refuse_traced(name: str, *values: Any) -> None:
    """Raise UnsupportedError if one of `values` is known only when a Program runs.

    `name` is the public name of the function. trace and script add the user's file and line.
    """
    if any(is_tensor(v) and v._symbolic for v in values):
        raise UnsupportedError(
            f"{name} cannot be part of a Program: no operator computes it",
            fix="call it outside of the exported function, and pass its result as an input or keep "
            "it in a buffer",
        )
