# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of tokenizer.json as deterministic automata.

The automaton finds what a backtracking engine finds: of all alternatives the first that matches, not the
longest. A state is therefore the ordered list of the engine's remaining attempts (as in RE2), and a match
drops the attempts behind it. Each step knows the next character, which decides a look-ahead of one character.
"""

from __future__ import annotations

from dataclasses import dataclass

from samara.exporter.text import code_points as cp
from samara.exporter.text.code_points import Ranges
from samara.pybridge import UnsupportedError

MATCH = 1 << 15
"""Flag of a transition: a match ends before the character."""

MAX_STATES = 4096
MAX_ATTEMPTS = 20000
MAX_CLASSES = 256
_FIX = "convert this expression by hand, or split the text before it reaches the tokenizer"
# Pairs of letters that Oniguruma also matches with one character (ß, ﬆ …) where case is ignored.
_FOLDED_PAIRS = ("ss", "st", "ff", "fi", "fl")


@dataclass(frozen=True, slots=True)
class Dfa:
    """`rows[state][class]` is the next state, with MATCH where a match ends before the character; state 0 is
    dead, state 1 the start. The last class is the end of the text. `classes` are sets of code points."""

    rows: tuple[tuple[int, ...], ...]
    classes: tuple[Ranges, ...]


# ---- the syntax tree ----


@dataclass(frozen=True, slots=True)
class _Set:
    points: Ranges


@dataclass(frozen=True, slots=True)
class _Look:
    """The next character is one of these; `end`: or the text ends."""

    points: Ranges
    end: bool


@dataclass(frozen=True, slots=True)
class _All:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Either:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: _Node
    least: int
    most: int | None
    lazy: bool


_Node = _Set | _Look | _All | _Either | _Repeat


class _Parser:
    def __init__(self, pattern: str, where: str) -> None:
        self.text, self.at, self.where = pattern, 0, where
        self.folds = False

    def fail(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.where}: {what} at character {self.at} of the regular expression {self.text!r}",
            fix=_FIX,
        )

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def next(self) -> str:
        if self.at >= len(self.text):
            raise self.fail("unexpected end")
        self.at += 1
        return self.text[self.at - 1]

    def whole(self) -> _Node:
        node = self.alternatives()
        if self.at < len(self.text):
            raise self.fail("an unbalanced parenthesis")
        return node

    def alternatives(self) -> _Node:
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else _Either(tuple(parts))

    def sequence(self) -> _Node:
        parts: list[_Node] = []
        letters = ""
        while self.at < len(self.text) and not self.peek("|") and not self.peek(")"):
            start = self.at
            node = self.atom()
            plain = self.folds and self.at == start + 1 and self.text[start].isalpha()
            letters = letters + self.text[start].lower() if plain else ""
            if letters[-2:] in _FOLDED_PAIRS:
                raise self.fail(f"{letters[-2:]!r} without regard to case")
            parts.append(self.repeated(node))
        return parts[0] if len(parts) == 1 else _All(tuple(parts))

    def repeated(self, node: _Node) -> _Node:
        while self.at < len(self.text):
            start = self.at
            counts = self.counts()
            if counts is None:
                self.at = start
                return node
            least, most, braces = counts
            if isinstance(node, _Look):
                raise self.fail("a repeated look-ahead")
            if self.take("?"):
                node = _Repeat(node, least, most, lazy=True)
            elif not braces and self.take("+"):
                node = self.possessive(node, least, most)
            else:
                node = _Repeat(node, least, most, lazy=False)
        return node

    def counts(self) -> tuple[int, int | None, bool] | None:
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.take(sign):
                return least, most, False
        if not self.take("{"):
            return None
        end = self.text.find("}", self.at)
        inside = self.text[self.at : end]
        low, comma, high = inside.partition(",")
        if (
            end < 0
            or not all(x == "" or (x.isascii() and x.isdigit()) for x in (low, high))
            or not (low or high)
        ):
            raise self.fail("a brace that is no repetition")
        self.at = end + 1
        least = int(low or 0)
        most = (int(high) if high else None) if comma else least
        if least > 1000 or (most is not None and (most > 1000 or most < least)):
            raise self.fail("a repetition of more than 1000, or of a range that runs backwards")
        return least, most, True

    def possessive(self, node: _Node, least: int, most: int | None) -> _Node:
        """Without giving back: for one character, greedy and then no further one of them."""
        if not isinstance(node, _Set):
            raise self.fail("a possessive repetition of more than one character")
        after = _Look(cp.complement(node.points), end=True)
        if most is None:
            return _All((_Repeat(node, least, None, lazy=False), after))
        tail: _Node = _All(())
        for _ in range(most - least):
            tail = _Either((_All((node, tail)), after))
        return _All((*(node for _ in range(least)), tail))

    def atom(self) -> _Node:
        if self.take("("):
            return self.group()
        if self.take("["):
            return _Set(self.bracket())
        if self.take("."):
            return _Set(cp.complement(cp.ranges_of([0x0A])))
        if self.take("$"):
            return _Look(cp.ranges_of([0x0A]), end=True)
        if self.peek("\\"):
            if self.take("\\z"):
                return _Look((), end=True)
            return _Set(self.escape(in_bracket=False))
        c = self.next()
        if c in "^*+?":
            raise self.fail(f"{c!r} here")
        return _Set(self.literal(ord(c)))

    def literal(self, point: int) -> Ranges:
        c = chr(point)
        if not self.folds or not c.isalpha():
            return cp.ranges_of([point])
        if not c.isascii():
            raise self.fail(f"{c!r} without regard to case")
        return cp.named(f"fold_{c.lower()}")

    def group(self) -> _Node:
        folds = self.folds
        if self.take("?"):
            if self.take("!") or self.take("="):
                return self.look(negative=self.text[self.at - 1] == "!")
            if self.take("i:"):
                self.folds = True
            elif self.take("-i:"):
                self.folds = False
            elif self.take("i)"):
                # For the rest of the enclosing group.
                self.folds = True
                node = self.alternatives()
                self.folds = folds
                return node
            elif not self.take(":"):
                raise self.fail(f"the group (?{self.text[self.at : self.at + 1]}")
        node = self.alternatives()
        if not self.take(")"):
            raise self.fail("a parenthesis that does not end")
        self.folds = folds
        return node

    def look(self, negative: bool) -> _Node:
        node = self.alternatives()
        if not self.take(")"):
            raise self.fail("a parenthesis that does not end")
        points, end = self.looked_at(node)
        if negative:
            return _Look(cp.complement(points), end=not end)
        return _Look(points, end)

    def looked_at(self, node: _Node) -> tuple[Ranges, bool]:
        match node:
            case _Set(points):
                return points, False
            case _Look(points, end):
                return points, end
            case _Either(parts):
                found = [self.looked_at(part) for part in parts]
                return cp.union(*(p for p, _ in found)), any(e for _, e in found)
        raise self.fail("a look-ahead of more than one character")

    def bracket(self) -> Ranges:
        """A set in brackets, behind the opening one."""
        negative = self.take("^")
        sets: list[Ranges] = []
        left: Ranges | None = None  # of &&
        first = True
        while first or not self.take("]"):
            if self.take("&&"):
                so_far = cp.union(*sets)
                left, sets = so_far if left is None else cp.intersection(left, so_far), []
            elif self.peek("[:"):
                raise self.fail("a POSIX class")
            elif self.take("["):
                sets.append(self.bracket())
            else:
                sets.append(self.item())
            first = False
        points = cp.union(*sets)
        points = points if left is None else cp.intersection(left, points)
        return cp.complement(points) if negative else points

    def item(self) -> Ranges:
        """A character, an escape, or a range."""
        folds, self.folds = self.folds, False
        escaped = self.peek("\\")
        if folds and self.text[self.at : self.at + 2] in ("\\p", "\\P"):
            raise self.fail("a property without regard to case")
        one = self.single()
        self.folds = folds
        if not self.peek("-") or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return one if escaped else self.literal(one[0][0])
        self.take("-")
        other = self.single()
        if any(len(x) != 1 or x[0][1] - x[0][0] != 1 for x in (one, other)):
            raise self.fail("a range between sets")
        low, high = one[0][0], other[0][0]
        if high < low:
            raise self.fail("a range that runs backwards")
        if folds and high >= 0x41:
            if high > 0x7A:
                raise self.fail("a range without regard to case")
            return cp.union(*(self.literal(point) for point in range(low, high + 1)))
        return ((low, high + 1),)

    def single(self) -> Ranges:
        return self.escape(in_bracket=True) if self.peek("\\") else cp.ranges_of([ord(self.next())])

    def escape(self, in_bracket: bool) -> Ranges:
        self.take("\\")
        c = self.next()
        classes = {"s": "onig_s", "w": "onig_w", "d": "onig_d", "h": "onig_h"}
        if c.lower() in classes:
            if c.lower() == "h":
                return self.negated(((0x30, 0x3A), (0x41, 0x47), (0x61, 0x67)), c == "H")
            return self.negated(cp.named(classes[c.lower()]), c.isupper())
        if c in "pP":
            return self.property(negative=c == "P")
        plain = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27}
        if c in plain:
            return cp.ranges_of([plain[c]])
        if c == "x" and self.take("{"):
            end = self.text.find("}", self.at)
            return self.hexadecimal(end - self.at, end + 1)
        if c in "xu":
            digits = 2 if c == "x" else 4
            return self.hexadecimal(digits, self.at + digits)
        if c.isalnum() or (in_bracket and c == "b"):
            raise self.fail(f"the escape \\{c}")
        return self.literal(ord(c))

    def hexadecimal(self, digits: int, end: int) -> Ranges:
        try:
            point = int(self.text[self.at : self.at + digits], 16)
        except ValueError:
            point = -1
        if not 0 <= point < cp.END or end > len(self.text) or (end == self.at + 2 and point > 0x7F):
            raise self.fail("a hexadecimal escape that is no code point")
        self.at = end
        return cp.ranges_of([point])

    def negated(self, points: Ranges, negative: bool) -> Ranges:
        return cp.complement(points) if negative else points

    def property(self, negative: bool) -> Ranges:
        end = self.text.find("}", self.at)
        if not self.take("{") or end < 0:
            raise self.fail("a property without braces")
        name = self.text[self.at : end]
        if name.startswith("^"):
            name, negative = name[1:], not negative
        if self.folds:
            raise self.fail(f"the property {name} without regard to case")
        points = property_of(name)
        if points is None:
            raise self.fail(f"the unknown property {name}")
        self.at = end + 1
        return self.negated(points, negative)


_GROUPS = {
    "L": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    "M": ("Mn", "Mc", "Me"),
    "N": ("Nd", "Nl", "No"),
    "P": ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    "S": ("Sm", "Sc", "Sk", "So"),
    "Z": ("Zs", "Zl", "Zp"),
}
_LONG = {
    "letter": "L",
    "mark": "M",
    "number": "N",
    "punctuation": "P",
    "symbol": "S",
    "separator": "Z",
}


def property_of(name: str) -> Ranges | None:
    """The set of \\p{name}; None if it is not known."""
    name = _LONG.get(name.lower(), name)
    if name in _GROUPS:
        return cp.union(*(cp.named(each) for each in _GROUPS[name]))
    spelled = name.title() if len(name) > 2 else name
    known = cp.is_known(spelled) and (spelled.istitle() or len(spelled) == 2)
    return cp.named(spelled) if known else None


# ---- the automaton ----


class _Program:
    """The engine's instructions: ("set", index, next), ("split", first, second), ("look", index, next), match."""

    def __init__(self, node: _Node, fail: UnsupportedError) -> None:
        self.fail = fail
        self.sets: dict[tuple[Ranges, bool], int] = {}
        self.code: list[tuple[str, int, int]] = [("match", 0, 0)]
        self.start = self.emit(node, 0)

    def add(self, kind: str, a: int, b: int) -> int:
        if len(self.code) > MAX_ATTEMPTS:
            raise self.fail
        self.code.append((kind, a, b))
        return len(self.code) - 1

    def set_index(self, points: Ranges, end: bool) -> int:
        return self.sets.setdefault((points, end), len(self.sets))

    def emit(self, node: _Node, then: int) -> int:
        """Instructions for the node, before `then`; returns the first."""
        match node:
            case _Set(points):
                return self.add("set", self.set_index(points, False), then)
            case _Look(points, end):
                return self.add("look", self.set_index(points, end), then)
            case _All(parts):
                for part in reversed(parts):
                    then = self.emit(part, then)
                return then
            case _Either(parts):
                starts = [self.emit(part, then) for part in parts]
                at = starts[-1]
                for start in reversed(starts[:-1]):
                    at = self.add("split", start, at)
                return at
            case _Repeat(part, least, most, lazy):
                return self.repeat(part, least, most, lazy, then)

    def repeat(self, part: _Node, least: int, most: int | None, lazy: bool, then: int) -> int:
        at = then
        if most is None:
            loop = self.add("split", 0, 0)
            inner = self.emit(part, loop)
            self.code[loop] = ("split", then, inner) if lazy else ("split", inner, then)
            at = loop
        else:
            for _ in range(most - least):
                inner = self.emit(part, at)
                at = self.add("split", then, inner) if lazy else self.add("split", inner, then)
        for _ in range(least):
            at = self.emit(part, at)
        return at


def _partition(sets: list[Ranges]) -> list[tuple[Ranges, frozenset[int]]]:
    """Classes of code points that no set tells apart, and the sets that have them."""
    edges = sorted({0, cp.END, *(edge for points in sets for r in points for edge in r)})
    place = {edge: i for i, edge in enumerate(edges)}
    inside: list[set[int]] = [set() for _ in edges]
    for k, points in enumerate(sets):
        for low, high in points:
            for i in range(place[low], place[high]):
                inside[i].add(k)
    found: dict[frozenset[int], list[tuple[int, int]]] = {}
    for i in range(len(edges) - 1):
        found.setdefault(frozenset(inside[i]), []).append((edges[i], edges[i + 1]))
    return [(cp.union(tuple(ranges)), key) for key, ranges in found.items()]


def compile_regex(pattern: str, where: str) -> Dfa:
    """The automaton of a pattern in the syntax of Oniguruma. UnsupportedError for what no automaton can find, and
    for patterns that match nothing at all (an empty text); `where` is its place in tokenizer.json."""
    parser = _Parser(pattern, where)
    return _build(parser.whole(), parser)


def compile_literal(text: str, where: str) -> Dfa:
    """The automaton of a text as it stands."""
    parts = tuple(_Set(cp.ranges_of([ord(c)])) for c in text)
    return _build(_All(parts), _Parser(text, where))


def compile_set(points: Ranges, where: str, *, runs: bool = False) -> Dfa:
    """The automaton of one character of a set, or of runs of them."""
    node: _Node = _Set(points)
    if runs:
        node = _Repeat(node, 1, None, lazy=False)
    return _build(node, _Parser("", where))


def compile_words(words: Ranges, spaces: Ranges, where: str) -> Dfa:
    """The automaton of \\w+|[^\\w\\s]+ with these sets."""
    rest = cp.complement(cp.union(words, spaces))
    runs = tuple(_Repeat(_Set(points), 1, None, lazy=False) for points in (words, rest))
    return _build(_Either(runs), _Parser("", where))


def compile_graphemes(where: str) -> Dfa:
    """The automaton of grapheme clusters (UAX 29), as far as the charsmaps of sentencepiece can tell."""
    attached, before = cp.named("attached"), cp.named("before")
    control = cp.without(cp.named("control"), attached)
    pictures = cp.without(cp.named("pictures"), attached)
    joiner = cp.ranges_of([0x200D])
    flags: Ranges = ((0x1F1E6, 0x1F200),)
    leading: Ranges = ((0x1100, 0x1160), (0xA960, 0xA97D))
    vowels: Ranges = ((0x1160, 0x11A8), (0xD7B0, 0xD7C7))
    trailing: Ranges = ((0x11A8, 0x1200), (0xD7CB, 0xD7FC))
    syllables: Ranges = ((0xAC00, 0xD7A4),)

    def some(points: Ranges, least: int = 0) -> _Node:
        return _Repeat(_Set(points), least, None, lazy=False)

    hangul = _Either(
        (
            _All((some(leading), _Set(cp.union(syllables, vowels)), some(vowels), some(trailing))),
            some(leading, 1),
            some(trailing, 1),
        )
    )
    picture = _Set(pictures)
    linked = _All((some(attached), _Set(joiner), picture))
    # Backtracking finds the longest chain: the last joiner before a picture ends a run of attached characters.
    chain = _All((picture, _Repeat(linked, 0, None, lazy=False)))
    other = _Set(cp.complement(control))
    core = _Either((_All((_Set(flags), _Set(flags))), hangul, chain, other))
    cluster = _All((some(cp.without(before, attached)), core, some(attached)))
    alone = _All((some(cp.without(before, attached), 1), some(attached)))
    newline = _All((_Set(cp.ranges_of([13])), _Set(cp.ranges_of([10]))))
    return _build(_Either((newline, _Set(control), cluster, alone)), _Parser("", where))


def _build(node: _Node, parser: _Parser) -> Dfa:
    program = _Program(node, parser.fail("more alternatives than an automaton can hold"))
    keys = list(program.sets)
    parts = _partition([points for points, _ in keys])
    end = len(parts)
    if end > MAX_CLASSES:
        raise parser.fail("more sets of characters than an automaton can tell apart")
    passes = [frozenset(key) for _, key in parts]
    passes.append(frozenset(k for k, (_, ends) in enumerate(keys) if ends))
    states: dict[tuple[int, ...], int] = {(): 0, (program.start,): 1}
    order: list[tuple[int, ...]] = [(), (program.start,)]
    rows: list[tuple[int, ...]] = [(0,) * (end + 1)]
    at = 1
    while at < len(order):
        row = []
        for c in range(end + 1):
            after, matched = _step(program, order[at], passes[c], c == end)
            if after not in states:
                if len(states) >= MAX_STATES:
                    raise parser.fail("more states than an automaton can hold")
                states[after] = len(order)
                order.append(after)
            row.append(states[after] | (MATCH if matched else 0))
        rows.append(tuple(row))
        at += 1
    if any(entry & MATCH for entry in rows[1]):
        raise parser.fail("it matches the empty text")
    return Dfa(tuple(rows), tuple(points for points, _ in parts))


def _step(
    program: _Program, attempts: tuple[int, ...], passes: frozenset[int], at_end: bool
) -> tuple[tuple[int, ...], bool]:
    """The attempts behind a character of a class, and whether a match ends before it."""
    seen: set[int] = set()
    after: dict[int, None] = {}
    for attempt in attempts:
        stack = [attempt]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            kind, a, b = program.code[at]
            if kind == "match":
                return tuple(after), True
            if kind == "split":
                stack += (b, a)
            elif a in passes:
                if kind == "look":
                    stack.append(b)
                elif not at_end:
                    after[b] = None
    return tuple(after), False
