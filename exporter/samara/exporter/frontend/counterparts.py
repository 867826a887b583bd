# SPDX-License-Identifier: Apache-2.0
"""Adds the name of PyTorch's function with the same arguments and meaning to docstrings."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any


def name_counterparts(holder: Any, names: Iterable[str], prefix: str) -> None:
    """Append "PyTorch: `prefix.name`." to the docstrings that do not mention PyTorch.

    holder: a class, or a module's globals(). prefix: PyTorch's class or module, as "torch.Tensor".
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
