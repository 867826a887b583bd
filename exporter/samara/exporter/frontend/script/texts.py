# SPDX-License-Identifier: Apache-2.0
"""Texts with traced values: the text shows the user's expression in braces.

For a traced x, `f"sum {x.sum():.3f}"` is the text `sum {x.sum()}`. It may become part of other texts,
of `print`, and of the message of an `assert` or an exception. Code cannot branch on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from samara.exporter.frontend.script.values import describe, is_traced, script_tracer, use


class Said(str):
    """A text that contains a traced value."""

    __slots__ = ()

    def _refuse(self, *_: Any) -> NoReturn:
        raise script_tracer().fail(
            f"the text {str(self)!r} depends on a value that is known only when the program runs",
            "use such a text in messages only; compare the tensor itself",
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __len__ = __contains__ = __iter__ = __getitem__ = __bool__ = _refuse
    startswith = endswith = find = index = count = isdigit = _refuse
    split: Any = _refuse
    encode: Any = _refuse

    def __str__(self) -> str:
        return "".join((self,))

    def __repr__(self) -> str:
        return repr(str(self))

    def __format__(self, spec: str) -> str:
        return str(self)

    def __add__(self, other: Any) -> Any:
        return Said(str.__add__(self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Said(str.__add__(other, self)) if isinstance(other, str) else NotImplemented


class _Bare(Said):
    """The text of one expression that is not a string in the user's code, so its repr has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def depends(value: Any) -> bool:
    """Whether the text of the value depends on a traced value."""
    if isinstance(value, (list, tuple, set)):
        return any(map(depends, value))
    if isinstance(value, Mapping):
        return any(depends(v) for v in value.values())
    return isinstance(value, Said) or is_traced(value)


def said(value: Any, source: str | None) -> Any:
    """`{source}` for a traced value; any other value unchanged."""
    value = use(value)
    if isinstance(value, Said) or not depends(value):
        return value
    return _Bare("{" + (describe(value) if source is None else source) + "}")


_CONVERSIONS: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}


def piece(value: Any, source: str, conversion: int, spec: Any = "") -> str:
    """One `{value!conversion:spec}` of an f-string."""
    value = use(value)
    if depends(value) or isinstance(spec, Said):
        text = said(value, source)
        if isinstance(text, Said):
            return Said(repr(text)) if conversion != -1 else text
        return _Bare("{" + source + "}")
    if conversion != -1:
        value = _CONVERSIONS[conversion](value)
    return format(value, spec)


def joined(*pieces: str, between: str = "") -> str:
    """`between.join(pieces)`: a Said if one of the pieces is."""
    text = between.join(pieces)
    return Said(text) if any(isinstance(p, Said) for p in (between, *pieces)) else text


_PERCENT = re.compile(
    r"%(?:\((?P<name>[^)]*)\))?[#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<kind>.)"
)


def percent(text: str, values: Any, sources: Any) -> Any:
    """`text % values`; NotImplemented if no value is traced."""
    if not depends(values) and not isinstance(text, Said):
        return NotImplemented
    if isinstance(values, Mapping):
        known = sources if isinstance(sources, dict) else {}
        values = {k: said(v, known.get(k)) for k, v in values.items()}
    elif isinstance(values, tuple):
        fits = isinstance(sources, tuple) and len(sources) == len(values)
        written: Sequence[str | None] = sources if fits else (None,) * len(values)
        values = tuple(map(said, values, written))
    else:
        values = (said(values, sources if isinstance(sources, str) else None),)
    place = -1

    def plain(match: re.Match[str]) -> str:
        """The conversion, with %s for a traced value."""
        nonlocal place
        if match["kind"] == "%":
            return match[0]
        if isinstance(values, dict):
            value = values.get(match["name"])
            return f"%({match['name']})s" if isinstance(value, Said) else match[0]
        place += 1 + match[0].count("*")
        if place >= len(values) or not isinstance(values[place], Said):
            return match[0]
        return ("%s", "%*s", "%*.*s")[match[0].count("*")]

    return Said(str.__mod__(_PERCENT.sub(plain, str.__str__(text)), values))


_TEXTUAL = (str, repr, ascii, format, print)


def spoken(f: Any, sources: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """`f(*args, **kwargs)` if f makes a text or an exception and an argument is traced, else NotImplemented."""
    owner, name = getattr(f, "__self__", None), getattr(f, "__name__", "")
    method = isinstance(owner, str) and name in ("format", "join")
    error = isinstance(f, type) and issubclass(f, BaseException)
    if not (method or error or any(f is g for g in _TEXTUAL)):
        return NotImplemented
    if not depends([*args, *kwargs.values()]) and not isinstance(owner, Said):
        return NotImplemented
    texts = [said(a, sources[i] if i < len(sources) else None) for i, a in enumerate(args)]
    if f is str or f is format:
        return Said(str(texts[0]))
    if f is repr or f is ascii:
        return Said(repr(texts[0]))
    if name == "join" and method:
        return joined(*(said(v, None) for v in use(args[0])), between=str.__str__(owner))
    named = {k: said(v, None) for k, v in kwargs.items()}
    if method:
        return Said(str.format(str.__str__(owner), *texts, **named))
    return f(*texts, **named)
