# SPDX-License-Identifier: Apache-2.0
"""The line of a docstring that names the function of PyTorch with the same arguments and meaning."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any


def name_counterparts(holder: Any, names: Iterable[str], prefix: str) -> None:
    """End the docstrings of functions and classes that do not mention PyTorch with such a line.

    holder: the class, or a module's globals(). prefix: where PyTorch has them, as "torch.Tensor".
    """
    for name in names:
        value = holder[name] if isinstance(holder, dict) else getattr(holder, name)
        if not isinstance(value, (FunctionType, type)):
            continue
        said = value.__doc__ or ""
        if "torch" in said.lower():
            continue
        # A docstring of several lines ends in the indentation of its quotes.
        pad = said.rpartition("\n")[2] if "\n" in said else ""
        line = f"PyTorch: `{prefix}.{value.__name__}`."
        value.__doc__ = f"{said.rstrip()}\n\n{pad}{line}\n{pad}" if said else line
