# SPDX-License-Identifier: Apache-2.0
"""Remove from the text of a C file the code that SMR_HAS guards for parts that a build leaves out.

The compiler would drop such code anyway, but it may name functions whose files are then not included.
Three forms of guards are handled; others stay unchanged:

    if (… && SMR_HAS(part) && …) statement    with or without else
    = SMR_HAS(part) ? a : b                   also after return, ( and ,
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_GUARD = re.compile(r"\bSMR_HAS\((\w+)\)")
_CONTROL = re.compile(r"(if|for|while|switch)\b\s*")
_ELSE = re.compile(r"\s*else\b\s*")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def without_absent(text: str, absent: Collection[str]) -> str:
    """`text`, which has no comments, without code that is guarded by one of the parts `absent`."""
    at = len(text)
    while True:
        found = [m for m in _GUARD.finditer(text, 0, at) if m[1] in absent]
        if not found:
            return text
        guard = found[-1]
        at = guard.start()
        text = _without(text, guard)


def _without(text: str, guard: re.Match[str]) -> str:
    before, after = text[: guard.start()].rstrip(), text[guard.end() :].lstrip()
    if after.startswith("?") and before.endswith(("=", "(", ",", "return")):
        colon = _colon(text, text.index("?", guard.end()) + 1)
        return text[: guard.start()] + text[colon + 1 :].lstrip()
    opening = _enclosing(text, guard.start())
    head = re.search(r"\bif\s*\Z", text[:opening]) if opening >= 0 else None
    if head is None:
        return text
    closing = _closing(text, opening)
    if not _is_conjunct(text, opening + 1, closing, guard):
        return text
    start, end = head.start(), _statement_end(text, closing + 1)
    other = _ELSE.match(text, end)
    if other:
        return text[:start] + text[other.end() :]
    # Whether it is the body of another statement, so that something must remain.
    lone = text[:start].rstrip().endswith((")", "else"))
    return text[:start] + ("{}" if lone else "") + text[end:]


def _enclosing(text: str, at: int) -> int:
    """The index of the parenthesis that encloses `at`; -1 if the statement has none."""
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth < 0:
            return i
        if text[i] in ";{}" and depth == 0:
            return -1
    return -1


def _closing(text: str, opening: int) -> int:
    """The index at which the bracket at `opening` is closed."""
    close = _PAIRS[text[opening]]
    depth = 0
    for i in _code(text, opening):
        depth += (text[i] == text[opening]) - (text[i] == close)
        if depth == 0:
            return i
    raise ValueError(f"nothing closes {text[opening : opening + 60]!r}")


def _code(text: str, at: int) -> Iterator[int]:
    """Positions from `at` on that are outside of strings and characters."""
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at += 1
            while text[at] != char:
                at += 2 if text[at] == "\\" else 1
        else:
            yield at
        at += 1


def _is_conjunct(text: str, begin: int, end: int, guard: re.Match[str]) -> bool:
    """Whether the condition is false if the guard is: the guard is one of several terms joined by &&."""
    condition = text[begin:end]
    flat, depth = "", 0
    for char in condition:
        depth += char == "("
        flat += char if depth == 0 else " "
        depth -= char == ")"
    here = guard.start() - begin
    joined = "||" not in flat and "?" not in flat
    left, right = flat[:here].rstrip(), condition[guard.end() - begin :].lstrip()
    return joined and (not left or left.endswith("&&")) and (not right or right.startswith("&&"))


def _statement_end(text: str, at: int) -> int:
    """The end of the statement that begins at `at`."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if text[at] == "{":
        return _closing(text, at) + 1
    control = _CONTROL.match(text, at)
    if control is None:
        return _semicolon(text, at) + 1
    end = _statement_end(text, _closing(text, control.end()) + 1)
    other = _ELSE.match(text, end) if control[1] == "if" else None
    return _statement_end(text, other.end()) if other else end


def _semicolon(text: str, at: int) -> int:
    depth = 0
    for i in _code(text, at):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0 and text[i] == ";":
            return i
    raise ValueError(f"no statement at {text[at : at + 60]!r}")


def _colon(text: str, at: int) -> int:
    """The colon that belongs to the question mark before `at`."""
    depth = questions = 0
    for i in _code(text, at):
        char = text[i]
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and char == "?":
            questions += 1
        if depth == 0 and char == ":":
            if questions == 0:
                return i
            questions -= 1
    raise ValueError(f"no colon in {text[at : at + 60]!r}")
