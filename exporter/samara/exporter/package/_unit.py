# SPDX-License-Identifier: Apache-2.0
"""Write C files into one text, with quoted includes replaced by their content.

Preprocessing is left to the compiler, with one exception: macros that record that a file was read before
(include guards, the SMR_SIMD_ ones and the vector width) are evaluated, so that nothing that the
compiler would skip is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from samara.exporter.package._c_text import TOKEN, Line, logical_lines, split_define
from samara.pybridge import SamaraError

_INCLUDE = re.compile(r'"([^"]+)"|<([^>]+)>')
_REGION = re.compile(r"simd/(?:(\w+)_begin|end)\.h\Z")
_GUARD = re.compile(r"\s*#\s*ifndef (\w+)\n\s*#\s*define \1\n")
# Macros that request declarations from the system, defined before its first header.
_FEATURE = re.compile(r"_\w+_SOURCE\Z|__USE_MINGW_ANSI_STDIO\Z")
_STANDARD_NAMES = """
assert ctype errno float inttypes limits math stdarg stdatomic stdbool stddef stdint stdio
stdlib string time
"""
_STANDARD = frozenset(f"{name}.h" for name in _STANDARD_NAMES.split())
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}
_CONDITION = re.compile(r"&&|\|\||[<>=!]=|" + TOKEN.pattern)

Read = Callable[[str], str]  # returns the text of a file, given its path in the sources


def guard_of(text: str) -> str | None:
    """The macro of a header's include guard."""
    match = _GUARD.match(text)
    return match[1] if match else None


@dataclass(slots=True)
class _Group:
    """An #if and its branches, up to its #endif."""

    is_open: bool = False  # left to the compiler
    counts: bool = False  # an open one whose condition matters for definitions inside it
    active: bool = True  # whether lines of the current branch are written
    done: bool = False  # whether a branch was taken


@dataclass(slots=True)
class Unit:
    """A translation unit under construction. `read` returns a file without its comments."""

    read: Read
    system: list[str] = field(default_factory=list)  # standard headers that all need
    features: dict[str, str] = field(default_factory=dict)  # _GNU_SOURCE and the like
    text: list[str] = field(default_factory=list)
    _source: str = ""  # the file that is being written
    _conditions: list[str] = field(default_factory=list)  # open ones, around the current line
    # Macros and the conditions of their definitions: name -> {conditions: value}.
    _defined: dict[str, dict[tuple[str, ...], str]] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=lambda: {"VF", "__cplusplus"})

    def add_source(self, path: str) -> None:
        """Append a compiled file, after a line with its name.

        Regions of instruction sets in it get such lines too, as PATH:ISA.
        """
        self._source = path
        self._mark("")
        self.add(path)

    def _mark(self, isa: str) -> None:
        self.text.append(f"// ---- {self._source}{':' * bool(isa)}{isa} ----")

    def add(self, path: str) -> None:
        """Append a file and what it includes."""
        text = self.read(path)
        guard = guard_of(text)
        if guard is not None:
            self._followed.add(guard)
            if self._lookup(guard) not in (None, False):
                return
        groups: list[_Group] = []
        for line in logical_lines(text):
            if line.directive in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                self._conditional(line, groups, guard, path)
            elif all(group.active for group in groups):
                self._line(line, path)
        if groups:
            raise SamaraError(f"{path}: an #if has no #endif")

    # ---- lines ----

    def _line(self, line: Line, path: str) -> None:
        if line.directive == "include":
            # A name stands for the file that it is defined as (SMR_SIMD_BODY).
            match = _INCLUDE.match(line.rest) or _INCLUDE.match(str(self._lookup(line.rest)))
            if match is None:
                raise SamaraError(f"{path}: cannot follow #include {line.rest}")
            if match[1] or match[2].startswith("samara/"):
                self.add(match[1] or match[2])
                region = _REGION.match(match[1] or "")
                if region:
                    self._mark(region[1] or "")
            else:
                self._system(match[2], line)
            return
        if line.directive == "define":
            name, _, body = split_define(line.rest)
            if self._follows(name):
                self._defined.setdefault(name, {})[tuple(self._conditions)] = body
            if _FEATURE.match(name):
                self.features[name] = body
                return
        elif line.directive == "undef" and self._follows(line.rest):
            self._undefine(line.rest)
        self.text.append(line.text)

    def _system(self, name: str, line: Line) -> None:
        key = f"<{name}>"
        self._followed.add(key)
        if self._lookup(key) not in (None, False):
            return
        self._defined.setdefault(key, {})[tuple(self._conditions)] = "1"
        if not self._conditions and name in _STANDARD:
            self.system.append(name)
        else:
            self.text.append(line.text)

    # ---- macros that are followed ----

    def _follows(self, name: str) -> bool:
        known = name in self._followed or name.startswith("SMR_SIMD_")
        return known or _FEATURE.match(name) is not None

    def _lookup(self, name: str) -> str | bool | None:
        """The value of a macro here; False if it is undefined, None if that depends on open conditions."""
        entries = self._defined.get(name)
        if not entries:
            return False
        here = tuple(self._conditions)
        for conditions, value in entries.items():
            if here[: len(conditions)] == conditions:
                return value
        return None

    def _undefine(self, name: str) -> None:
        here = tuple(self._conditions)
        entries = self._defined.get(name, {})
        kept = {c: v for c, v in entries.items() if c[: len(here)] != here}
        if any(here[: len(c)] == c for c in kept):
            kept = {("unknown",): ""}
        self._defined[name] = kept

    def _evaluate(self, condition: str) -> bool | None:
        """A condition's value, None if the compiler must evaluate it."""
        words: list[str] = []
        asks = 0  # 1 after `defined`, 2 after its parenthesis
        for token in _CONDITION.findall(condition):
            if token == "defined":
                asks = 1
            elif asks and token == "(":
                asks = 2
            elif asks == 2 and token == ")":
                asks = 0
            elif re.match(r"[A-Za-z_]", token):
                value = self._lookup(token) if self._follows(token) else None
                if value is None or (not asks and value is True):
                    return None
                words.append(str(value is not False) if asks else str(value or 0))
                asks = 2 if asks == 2 else 0
            else:
                words.append(_OPERATORS.get(token, token))
        return bool(eval("".join(words), {"__builtins__": {}}))  # only integers and operators

    # ---- conditionals ----

    def _conditional(self, line: Line, groups: list[_Group], guard: str | None, path: str) -> None:
        directive, condition = line.directive, line.rest
        if directive in ("ifdef", "ifndef"):
            condition = f"{'!' * (directive == 'ifndef')}defined({condition})"
        if directive in ("if", "ifdef", "ifndef"):
            if not all(group.active for group in groups):
                groups.append(_Group(active=False, done=True))
                return
            group = _Group()
            groups.append(group)
            is_guard = len(groups) == 1 and condition == f"!defined({guard})"
            self._branch(group, line.text, condition, counts=not is_guard)
            return
        if not groups:
            raise SamaraError(f"{path}: #{directive} without #if")
        group = groups[-1]
        if directive == "endif":
            groups.pop()
            if group.is_open:
                self.text.append("#endif")
                self._leave(group)
        elif group.is_open:
            self.text.append(line.text)
            if group.counts:
                negated = f"!({self._conditions.pop()})"
                self._conditions.append(
                    negated if directive == "else" else f"{negated}&&{condition}"
                )
        elif group.done:
            group.active = False
        elif directive == "else":
            group.active = group.done = True
        else:
            self._branch(group, f"#if {condition}", condition, counts=True)

    def _branch(self, group: _Group, text: str, condition: str, *, counts: bool) -> None:
        """Begin the branch of `condition`; `text` is written if the compiler must decide."""
        value = self._evaluate(condition)
        group.active = value is not False
        group.done = group.active
        if value is None:
            group.is_open, group.counts = True, counts
            self.text.append(text)
            if counts:
                self._conditions.append(condition)

    def _leave(self, group: _Group) -> None:
        if group.counts:
            self._conditions.pop()
