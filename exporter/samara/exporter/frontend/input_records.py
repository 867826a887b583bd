# SPDX-License-Identifier: Apache-2.0
"""Carries records of preprocessing from training to export.

A transform marks the tensor that it makes, a batch keeps the mark, a module notes the marks of its
inputs, and a trace asks the modules that its inputs go into. A mark holds only for the unchanged
tensor, not for results computed from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from samara.exporter.ir.trained_records import Mode, joined_seen

Path = tuple[int | str, ...]  # of a tensor among the arguments of a call

_NOTES: Final = "_input_records"  # attribute of a module that has notes


class _State:
    """Whether any tensor of this process has a mark. Until then nothing looks for marks."""

    __slots__ = ("marked",)

    def __init__(self) -> None:
        self.marked = False


STATE: Final = _State()


def mark(tensor: Any, texts: tuple[str, ...]) -> Any:
    """Mark a tensor as made by these records and return it."""
    if texts:
        tensor._mark = (texts, tensor._data, tensor._version[0])
        STATE.marked = True
    return tensor


def marks(tensor: Any) -> tuple[str, ...]:
    """The records that made this tensor; none if it has changed since."""
    found = getattr(tensor, "_mark", None)
    if found is None or found[1] is not tensor._data or found[2] != tensor._version[0]:
        return ()
    texts: tuple[str, ...] = found[0]
    return texts


def joined(tensors: Iterable[Any]) -> tuple[str, ...]:
    """The records that made a batch of these tensors; none if one of them has none."""
    if not STATE.marked:
        return ()
    texts: dict[str, None] = {}
    for tensor in tensors:
        own = marks(tensor)
        if not own:
            return ()
        texts |= dict.fromkeys(own)
    return tuple(sorted(texts))


def note(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Store the records of a module's arguments in the module."""
    mode: Mode = "training" if module.training else "evaluation"
    for path, tensor in _tensors(args, kwargs):
        for text in marks(tensor):
            seen = module.__dict__.setdefault(_NOTES, {}).setdefault(path, {})
            if seen.get(text) != "training":
                seen[text] = mode


def inherit(module: Any, of: Any) -> None:
    """Copy the notes of the module `of` to the module that replaces it."""
    notes = of.__dict__.get(_NOTES)
    if notes is not None:
        module.__dict__[_NOTES] = {path: dict(seen) for path, seen in notes.items()}


def meet(tracer: Any, module: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
    """Tell a tracer the notes of a module about arguments that are unchanged inputs of the program.

    The outermost modules with notes about an input count. Inner modules may come from another model.
    """
    notes = getattr(module, "__dict__", {}).get(_NOTES)
    if notes is None:
        return
    depth = len(tracer.scope)
    by_name = {_named(module, path): seen for path, seen in notes.items()}
    for path, tensor in _tensors(args, kwargs):
        name = tracer.input_name(tensor)
        seen = by_name.get(_named(module, path))
        if name is None or seen is None:
            continue
        known_depth, known = tracer.input_records.get(name, (depth, {}))
        if depth > known_depth:
            continue
        tracer.input_records[name] = (depth, joined_seen(known, seen))


def _tensors(args: Iterable[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for i, value in enumerate(args):
        yield from _leaves(value, (i,))
    for name, value in kwargs.items():
        yield from _leaves(value, (name,))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if hasattr(type(value), "__samara_op__"):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            yield from _leaves(part, (*path, i))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, key))


def _named(module: Any, path: Path) -> Path:
    """The path with the position of an argument replaced by the name of its parameter."""
    first, *rest = path
    if not isinstance(first, int):
        return path
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        return path
    for i, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL:
            return (p.name, first - i, *rest)
        if i == first and p.kind is not p.KEYWORD_ONLY:
            return (p.name, *rest)
    return path
