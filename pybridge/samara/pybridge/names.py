# SPDX-License-Identifier: Apache-2.0
"""Errors about unknown names, with suggestions."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable

from samara.pybridge.errors import UnknownNameError

_MOST = 12  # names listed in a fix


def module_of(detail: str) -> str:
    """The path of the submodule in the detail of a node's source, such as `layers.0.conv`: all of it, or
    the end of an importer's `node (operator) in module`; empty if unknown.
    """
    _, between, module = detail.rpartition(") in ")
    if between:
        return module
    return "" if detail.endswith(")") else detail


def is_one_of(name: object, known: Container[str]) -> bool:
    """Whether `name` is a text and one of these."""
    return isinstance(name, str) and name in known


def unknown(
    what: str, name: object, known: Iterable[str], there: str = "there are"
) -> UnknownNameError:
    """The error "`what` 'name'" with a suggestion, for example: unknown("the model has no output",
    "logit", ["logits"], "it gives").
    """
    return UnknownNameError(f"{what} {name!r}", fix=meant(name, known, there))


def meant(name: object, known: Iterable[str], there: str = "there are") -> str:
    """The fix for a wrong name: the most similar known name, and all of them."""
    names = [str(each) for each in known]
    folded = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    listed = ", ".join(names[:_MOST]) + (" …" if len(names) > _MOST else "")
    start = f"did you mean {folded[near[0]]!r}? " if near else ""
    return f"{start}{there} {listed or 'none'}"
