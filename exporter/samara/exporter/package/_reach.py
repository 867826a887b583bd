# SPDX-License-Identifier: Apache-2.0
"""Find the source files that a set of functions needs, as a fixpoint over the names that they use.

Names may be pasted in lists (smr_op_##name##_funcs), so macros are expanded here; all branches of
conditionals are read. The result may be too large, since a branch that is never taken counts as a use; the
compiler drops the excess.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest

from samara.exporter.package._c_text import (
    TOKEN,
    Line,
    declarations,
    logical_lines,
    macro_declarations,
    split_define,
)
from samara.exporter.package._unit import Read, guard_of
from samara.pybridge import SamaraError

_NAME = re.compile(r"(?:smr|samara)_\w+\Z")
_EXTERN = re.compile(
    r"^extern\b(?:\s+const)?(?:\s+(?:struct|enum|union))?\s+\w+([^;#]*);", re.MULTILINE
)
_INCLUDED = re.compile(r'["<]([^">]+)[">]')
# A list of kernels includes the file that this macro names, for every instruction set.
BODY = "SMR_SIMD_BODY"
# Names of vector helpers, which are defined in the same file, are not searched for.
_OPAQUE = frozenset({"N", "SMR_PASTE"})


@dataclass(frozen=True, slots=True)
class _Macro:
    params: tuple[str, ...] | None
    body: tuple[str, ...]


Macros = dict[str, _Macro]


def _included(line: Line) -> str:
    """The file that a line names for inclusion, or ""."""
    rest = line.rest.removeprefix(f"{BODY} ") if line.directive == "define" else line.rest
    match = _INCLUDED.match(rest)
    return match[1] if match and line.directive in ("include", "define") else ""


def _tokens(text: str) -> list[str]:
    return [t for t in TOKEN.findall(text) if t[0] not in "\"'"]


def _macro(rest: str) -> tuple[str, _Macro]:
    name, params, body = split_define(rest)
    return name, _Macro(params, tuple(_tokens(body)))


def expand(
    tokens: Iterable[str], macros: Macros, hidden: frozenset[str] = frozenset()
) -> list[str]:
    """`tokens` with macros expanded as in the C standard, except for calls that span the end of a list."""
    source = list(tokens)
    out: list[str] = []
    at = 0
    while at < len(source):
        token = source[at]
        at += 1
        macro = macros.get(token)
        if macro is None or token in hidden:
            out.append(token)
        elif macro.params is None:
            out += expand(_paste(macro.body), macros, hidden | {token})
        elif at < len(source) and source[at] == "(":
            arguments, at = _arguments(source, at + 1)
            body = _substitute(macro, arguments, macros, hidden)
            out += expand(body, macros, hidden | {token})
        else:
            out.append(token)
    return out


def _arguments(source: list[str], at: int) -> tuple[list[list[str]], int]:
    """The arguments of a call, and the index after it."""
    arguments: list[list[str]] = [[]]
    depth = 1
    while at < len(source):
        token = source[at]
        at += 1
        depth += (token == "(") - (token == ")")
        if depth == 0:
            break
        if token == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return arguments, at


def _substitute(
    macro: _Macro, arguments: list[list[str]], macros: Macros, hidden: frozenset[str]
) -> list[str]:
    params = macro.params or ()
    bound = dict(zip(params, arguments, strict=False))
    if params and params[-1] == "...":
        rest: list[str] = []
        for each in arguments[len(params) - 1 :]:
            rest += [",", *each] if rest else each
        bound["__VA_ARGS__"] = rest
    out: list[str] = []
    body = macro.body
    for i, token in enumerate(body):
        value = bound.get(token)
        if value is None:
            out.append(token)
        elif "##" in (*body[i - 1 : i], *body[i + 1 : i + 2]):
            out += value if value else [""]
        else:
            out += expand(value, macros, hidden)
    return _paste(out)


def _paste(tokens: Iterable[str]) -> list[str]:
    out: list[str] = []
    glue = False
    for token in tokens:
        if token == "##":
            glue = True
        elif glue and out:
            out[-1] += token
            glue = False
        else:
            out.append(token)
            glue = False
    return [token for token in out if token]


class _Source:
    """One compiled file, with the files that it includes for their content."""

    def __init__(self, path: str, library: Library) -> None:
        self.path = path
        self._library = library

    @cached_property
    def headers(self) -> set[str]:
        """The headers with guards that it includes, directly or indirectly."""
        found: set[str] = set()
        self._collect(self.path, found)
        return found

    def _collect(self, path: str, found: set[str]) -> None:
        for each in self._library.includes(path):
            if each in found:
                continue
            if self._library.is_guarded(each):
                found.add(each)
            self._collect(each, found)

    @cached_property
    def exact(self) -> frozenset[str]:
        """Names that it defines literally (without pasting)."""
        return _defined(self._library.read(self.path), self.path)

    @cached_property
    def spelled(self) -> tuple[set[str], re.Pattern[str]]:
        """Names in its text, including content files, and a pattern of the names that it pastes."""
        words: set[str] = set()
        pasted: set[str] = set()
        for path in self._content(self.path):
            more_words, more_pasted = _words(self._library.read(path))
            words |= more_words
            pasted |= more_pasted
        macros: Macros = {}
        for header in self.headers:
            macros.update(self._library.macros(header))
        called = [word for word in words if word in macros]
        while called:
            macro = macros[called.pop()]
            pasted.update(_pasted(macro.body))
            more = {word for word in macro.body if word in macros and word not in words}
            words |= more
            called += more
        names = {word for word in words if _NAME.match(word)}
        pasted.update(f"{name}\\w*" for name in names if name.endswith("_"))  # PASTE(smr_x_, y)
        return names, re.compile("|".join(sorted(pasted)) or r"(?!)")

    def _content(self, path: str) -> Iterable[str]:
        yield path
        for each in self._library.includes(path):
            if self._library.is_content(each):
                yield from self._content(each)

    def may_define(self, name: str) -> bool:
        names, pasted = self.spelled
        return name in names or pasted.fullmatch(name) is not None

    @cached_property
    def names(self) -> tuple[set[str], set[str]]:
        """All names in its expanded text, and those it defines."""
        macros: Macros = {}
        for header in self.headers:
            macros.update(self._library.macros(header))
        tokens: list[str] = []
        self._walk(self.path, macros, tokens)
        defined: set[str] = set()
        depth = 0
        # A file for another architecture has no tokens.
        for token, after in zip_longest(tokens, tokens[1:], fillvalue=""):
            depth += (token == "{") - (token == "}")
            if depth == 0 and after in ("(", "[", "=") and _NAME.match(token):
                defined.add(token)
        return {t for t in tokens if _NAME.match(t)}, defined

    def _walk(self, path: str, macros: Macros, tokens: list[str]) -> None:
        for line in logical_lines(self._library.read(path)):
            if not line.directive:
                tokens += expand(_tokens(line.text), macros)
            elif line.directive == "define":
                name, macro = _macro(line.rest)
                if name == BODY:
                    self._walk(_included(line), macros, tokens)
                elif name not in _OPAQUE:
                    macros[name] = macro
            elif line.directive == "undef":
                macros.pop(line.rest, None)
            elif line.directive == "include":
                each = _included(line)
                if self._library.is_content(each):
                    self._walk(each, macros, tokens)


# Results that depend only on a file's text are cached for further libraries of the same sources.
@cache
def _defined(text: str, path: str) -> frozenset[str]:
    """The smr_ and samara_ names that a text defines literally."""
    found = declarations(text, path)
    return frozenset(each.name for each in found if each.defines and _NAME.match(each.name))


@cache
def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The tokens of a text, and patterns of the names that its macros paste."""
    words: set[str] = set()
    pasted: set[str] = set()
    for line in logical_lines(text):
        words.update(_tokens(line.text))
        if line.directive == "define" and "##" in line.rest:
            pasted.update(_pasted(_macro(line.rest)[1].body))
    return frozenset(words), frozenset(pasted)


def _pattern(pasted: str) -> str:
    """A pattern of the names that smr_a##b##_c may become; parts that begin with an underscore are kept."""
    parts = pasted.split("##")
    fixed = [re.escape(p) if p.startswith(("smr_", "samara_", "_")) else r"\w*" for p in parts]
    return "".join(fixed)


def _pasted(body: Sequence[str]) -> Iterator[str]:
    """Patterns of the smr_ names that a macro's body pastes together."""
    for word in " ".join(body).replace(" ## ", "##").split(" "):
        if "##" in word and word.startswith(("smr_", "samara_")):
            yield _pattern(word)


class Library:
    """The sources as a graph of files and names."""

    def __init__(self, read: Read, compiled: Iterable[str], has: Collection[str]) -> None:
        self.read = read
        self._has = has
        self._includes: dict[str, list[str]] = {}
        self._guarded: dict[str, bool] = {}
        self._macros: dict[str, Macros] = {}
        self._inline: dict[str, set[str]] = {}
        self.sources = [_Source(path, self) for path in compiled]

    def has(self, path: str) -> bool:
        return path in self._has

    def is_guarded(self, path: str) -> bool:
        if path not in self._guarded:
            self._guarded[path] = guard_of(self.read(path)) is not None
        return self._guarded[path]

    def is_content(self, path: str) -> bool:
        """Whether a file is included for its content, which then belongs to the including file. The vector
        helpers do not count, because they define nothing for other files."""
        return self.has(path) and not self.is_guarded(path) and not path.startswith("simd/")

    def includes(self, path: str) -> list[str]:
        """The files of the library that a file includes."""
        if path not in self._includes:
            found = []
            for line in logical_lines(self.read(path)):
                each = _included(line)
                if self.has(each):
                    found.append(each)
            self._includes[path] = found
        return self._includes[path]

    def macros(self, header: str) -> Macros:
        if header not in self._macros:
            lines = logical_lines(self.read(header))
            found = dict(_macro(line.rest) for line in lines if line.directive == "define")
            self._macros[header] = {n: m for n, m in found.items() if n not in _OPAQUE}
        return self._macros[header]

    def inline_names(self, header: str) -> set[str]:
        """Names used in the bodies of a header's functions."""
        if header not in self._inline:
            names: set[str] = set()
            depth = 0
            for line in logical_lines(self.read(header)):
                for token in _tokens(line.text) if not line.directive else ():
                    depth += (token == "{") - (token == "}")
                    if depth and _NAME.match(token):
                        names.add(token)
            self._inline[header] = names
        return self._inline[header]

    @cached_property
    def _external(self) -> tuple[set[str], re.Pattern[str]]:
        """Names that headers declare, and a pattern of the names that they paste."""
        exact: set[str] = set()
        pasted: set[str] = set()
        for header in self._has:
            if not header.endswith(".h") or not self.is_guarded(header):
                continue
            text = self.read(header)
            found = declarations(text, header)
            for line in logical_lines(text):
                if line.directive == "define":
                    found += macro_declarations(line)
                for names in _EXTERN.findall(line.text):  # several in one declaration
                    exact.update(word for word in _tokens(names) if _NAME.match(word))
            for each in found:
                (pasted if "##" in each.name else exact).add(each.name)
        patterns = [_pattern(name) for name in sorted(pasted)]
        return exact, re.compile("|".join(patterns) or r"(?!)")

    def reached(self, roots: Iterable[str]) -> list[str]:
        """The files that the functions `roots` need, in the order of the sources."""
        definers: dict[str, list[_Source]] = {}
        for source in self.sources:
            for name in source.exact:
                definers.setdefault(name, []).append(source)
        exact, pasted = self._external
        seen: set[str] = set()
        files: set[str] = set()
        queue = list(roots)
        while queue:
            name = queue.pop()
            if name in seen:
                continue
            seen.add(name)
            found = definers.get(name, [])
            if not found and (name in exact or pasted.fullmatch(name)):
                found = self._search(name)
                if not found:
                    raise SamaraError(
                        f"nothing among the sources defines {name}",
                        fix="a list names an operator or kernel that the sources do not have",
                    )
            for source in found:
                if source.path in files:
                    continue
                files.add(source.path)
                queue += source.names[0]
                for header in source.headers:
                    queue += self.inline_names(header)
        return [source.path for source in self.sources if source.path in files]

    def _search(self, name: str) -> list[_Source]:
        """The sources that may define a name with macros."""
        found = [source for source in self.sources if source.may_define(name)]
        return [source for source in found if name in source.names[1]]
