# SPDX-License-Identifier: Apache-2.0
"""C source as text: comments, logical lines, tokens, declarations at file scope, prefixes.

It understands enough of C to rewrite the runtime's own sources. Anything else is left unchanged, and the
compiler decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from samara.pybridge import SamaraError

_COMMENT = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//(?:\\\n|[^\n])*|/\*.*?\*/', re.DOTALL
)
TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*'
    r"|##|\.\.\.|[^\s\\]"
)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w+)[ \t]*(.*)", re.DOTALL)
_SPLICE = re.compile(r"[ \t]*\\\n[ \t]*")
_DEFINE_HEAD = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?")
_STATIC_MACRO = re.compile(r"^#define (\w+) (?:static|SMR_INLINE|SMR_APART)\b", re.MULTILINE)
_EXTERN = re.compile(r"\bextern\b[^;]*?\b(smr_\w*(?:\s*##\s*\w+)*)[^;#]*;")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """A directive, or the text lines between two directives."""

    start: int  # where it begins in the text
    text: str  # unchanged, with spliced lines, without the last newline
    directive: str = ""  # "define", "if", ...; "" for text
    rest: str = ""  # the rest of a directive, with spliced lines joined


def strip_comments(text: str) -> str:
    """`text` without comments, blank lines and trailing blanks."""

    def keep(match: re.Match[str]) -> str:
        piece = match[0]
        if piece[0] != "/":
            return piece
        return "\n" if piece.startswith("/*") and "\n" in piece else " "

    bare = _COMMENT.sub(keep, text)
    return "".join(line.rstrip() + "\n" for line in bare.split("\n") if line.strip())


_LINES = re.compile(
    r"(?P<directive>^[ \t]*#(?:[^\n]*\\\n)*[^\n]*)|(?P<text>^(?![ \t]*#).+(?:\n(?![ \t]*#).+)*)",
    re.MULTILINE,
)


def logical_lines(text: str) -> Iterator[Line]:
    """The directives of a text without comments, and the text between them."""
    for match in _LINES.finditer(text):
        written = match[0]
        if match["directive"] is None:
            if written.strip():
                yield Line(match.start(), written)
            continue
        parts = _DIRECTIVE.match(_SPLICE.sub(" ", written))
        if parts:
            yield Line(match.start(), written, parts[1], parts[2].strip())


def split_define(rest: str) -> tuple[str, tuple[str, ...] | None, str]:
    """Name, parameters (None: object-like) and body of a #define."""
    match = re.match(r"(\w+)(?:\(([^)]*)\))?[ \t]*(.*)", rest, re.DOTALL)
    if match is None:
        raise SamaraError(f"cannot read #define {rest[:60]}")
    params = None
    if match[2] is not None:
        params = tuple(word.strip() for word in match[2].split(",") if word.strip())
    return match[1], params, match[3]


# ---- declarations at file scope ----

# Words that show that a declaration already has its linkage, or that a statement is not one.
_SETTLED = frozenset(
    {
        "static",
        "typedef",
        "SMR_INLINE",
        "SMR_APART",
        "SMR_IMPORT",
        "_Static_assert",
        "return",
        "else",
        "case",
        "goto",
    }
)
_TYPE_WORDS = frozenset({"struct", "union", "enum"})


@dataclass(frozen=True, slots=True)
class Declaration:
    """A function or object that a text declares at file scope with external linkage."""

    start: int  # where it begins in the text
    first_end: int  # end of its first word
    first: str
    name: str  # with ## if it is pasted
    defines: bool  # whether it is a definition, as far as is visible before the body


class _Scanner:
    """Reads tokens and collects what they declare at file scope."""

    def __init__(self, settled: Collection[str] = ()) -> None:
        self.found: list[Declaration] = []
        self._settled = _SETTLED.union(settled)
        self.braces = 0
        self._parens = 0
        self._words: list[tuple[str, int, int]] = []  # of the current declaration
        self._named = False  # whether its name was read

    def feed(self, text: str, offset: int) -> None:
        for match in TOKEN.finditer(text):
            self._token(match[0], offset + match.start(), offset + match.end())

    def _token(self, token: str, start: int, end: int) -> None:
        if token == "{":
            if self.braces == 0 and self._parens == 0 and self._named and self.found:
                self._defines()
            self.braces += 1
        elif token == "}":
            self.braces -= 1
            if self.braces == 0 and self._parens == 0 and (self._named or not self._is_type()):
                self._begin()
        elif self.braces == 0:
            self._outside(token, start, end)

    def _outside(self, token: str, start: int, end: int) -> None:
        if self._parens == 0 and token in ("(", "[", "=", ",", ";"):
            self._name(token)
        if token == ";" and self._parens == 0:
            self._begin()
            return
        self._words.append((token, start, end))
        if token == "(":
            self._parens += 1
        elif token == ")":
            self._parens -= 1
            if self._parens == 0 and self._words[1][0] == "(":
                self._begin()  # a macro call or an attribute on its own

    def _begin(self) -> None:
        self._words = []
        self._named = False

    def _is_type(self) -> bool:
        """Whether the words so far begin a type definition with members."""
        qualifiers = ("const", "static", "typedef", "extern")
        kinds = [word for word, _, _ in self._words if word not in qualifiers]
        return bool(kinds) and kinds[0] in _TYPE_WORDS

    def _defines(self) -> None:
        """The last declaration has a body."""
        last = self.found[-1]
        if last.start == self._words[0][1]:
            self.found[-1] = Declaration(last.start, last.first_end, last.first, last.name, True)

    def _name(self, ends: str) -> None:
        """Record the words so far as a type and a name, if they declare something."""
        if self._named or not self._words:
            return
        words = [word for word, _, _ in self._words]
        if not self._settled.isdisjoint(words):
            self._named = ends != ";"
            return
        tail = len(words) - 1
        while tail >= 2 and words[tail - 1] == "##":
            tail -= 2
        kind = words[:tail]
        if not kind or not all(w == "*" or w == "##" or _IDENTIFIER.match(w) for w in words):
            return
        if kind[-1] in _TYPE_WORDS:
            return  # struct x; or struct NAME(x) {
        _, start, first_end = self._words[0]
        name = "".join(words[tail:])
        self.found.append(Declaration(start, first_end, words[0], name, ends == "="))
        self._named = True


def declarations(text: str, where: str) -> list[Declaration]:
    """The declarations of a text without comments at file scope with external linkage."""
    scanner = _Scanner(_STATIC_MACRO.findall(text))
    for line in logical_lines(text):
        if not line.directive:
            scanner.feed(line.text, line.start)
    if scanner.braces:
        raise SamaraError(
            f"{where}: {scanner.braces} braces are not closed",
            fix="a block that opens in one branch of an #if must end in it",
        )
    return scanner.found


def macro_declarations(line: Line) -> list[Declaration]:
    """The smr_ and samara_ names that the body of a #define declares when it is used at file scope."""
    head = _DEFINE_HEAD.match(line.text)
    if head is None:
        return []
    scanner = _Scanner()
    scanner.feed(line.text[head.end() :], line.start + head.end())
    found = [each for each in scanner.found if each.name.startswith(("smr_", "samara_"))]
    starts = {each.start for each in found}
    for match in _EXTERN.finditer(line.text):  # also where it is an argument of another macro
        start = line.start + match.start()
        if start not in starts:
            name = re.sub(r"\s*##\s*", "##", match[1])
            found.append(Declaration(start, start + len("extern"), "extern", name, False))
    return found


def make_static(text: str, where: str, public: Collection[str]) -> str:
    """`text` with internal linkage for all declarations at file scope except the names in `public`."""
    found = declarations(text, where)
    for line in logical_lines(text):
        if line.directive == "define":
            found += macro_declarations(line)
    for each in sorted(found, key=lambda each: each.start, reverse=True):
        if each.name in public:
            continue
        replaced = each.first in ("extern", "SAMARA_API")
        end, word = (each.first_end, "static") if replaced else (each.start, "static ")
        text = text[: each.start] + word + text[end:]
    return text


# ---- prefixes ----


def renamer(prefix: str) -> Callable[[str], str]:
    """Replace the prefix of every public identifier, outside of string literals."""
    if prefix == "samara":
        return lambda text: text
    swap: Mapping[str, str] = {"samara_": f"{prefix}_", "SAMARA_": f"{prefix.upper()}_"}
    pattern = re.compile(
        r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\')|\b(samara_|SAMARA_)(?=\w|\b)'
    )

    def rename(text: str) -> str:
        return pattern.sub(lambda match: match[1] or swap[match[2]], text)

    return rename
