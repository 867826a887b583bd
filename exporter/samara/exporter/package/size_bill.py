# SPDX-License-Identifier: Apache-2.0
"""The size bill of a library: every byte of its sections, by group, operator, kernel and instruction set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from samara.exporter.package.elf import SHF_EXEC, SHF_WRITE, Elf, Section, Symbol

REST = "strings, constants, alignment"
_TOOLCHAIN = "compiler"  # start-up code and helpers added by the linker

# Compilers split and copy functions, and number statics inside functions.
_SUFFIX = re.compile(
    r"(\.(isra|part|constprop|cold|lto_priv|llvm|localalias|str)\b|\.\d+|\.__uniq).*\Z"
)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|[^\s\w]')
_LINE_MARKER = re.compile(r'#(?:line)? (\d+) "((?:\\.|[^"\\])*)"')
_FILE_MARKER = re.compile(r"// ---- (\S+) ----$", re.MULTILINE)
_ISA_SUFFIX = re.compile(
    r"[:_](scalar|avx2|avx512vnni|avx512bf16|avx512|amxint8|neon_fp16|neon_dot|neon_i8mm|neon_bf16|neon|v128_dot|v128)"
    r"(\.c)?\Z"
)
_SWITCH_TABLE = "CSWTCH."  # gcc does not tell the function
_NO_NAMES = frozenset(
    ("__attribute__", "__declspec", "_Alignas", "alignas", "__asm__", "_Static_assert", "__pragma")
)


@dataclass(frozen=True, slots=True)
class Row:
    """Bytes of one part of the runtime: `group` is an operator, a kernel family or a source file, `isa` the
    instruction set of a kernel ("" for other code)."""

    room: str
    group: str
    isa: str
    code: int
    data: int

    @property
    def size_bytes(self) -> int:
        return self.code + self.data


@dataclass(frozen=True, slots=True)
class SizeBill:
    """The size of a library.

    `sections` are those of code and data; their sizes add up to `counted`, and so do the rows. `overhead` are
    sections that only loader and debuggers read. `bss` takes memory, but no space in the file. `file` is
    the size of the stripped library. If the object format is not supported there are no rows, and `note`
    says so.
    """

    file: int
    sections: Mapping[str, int] = field(default_factory=dict)
    overhead: Mapping[str, int] = field(default_factory=dict)
    bss: int = 0
    rows: tuple[Row, ...] = ()
    note: str = ""

    @property
    def counted(self) -> int:
        """Bytes of code, constants and initialised data."""
        return sum(self.sections.values())

    def to_json(self) -> dict[str, Any]:
        """The bill as plain dicts, lists, strings and numbers."""
        return {
            "file_bytes": self.file,
            "counted_bytes": self.counted,
            "sections": dict(self.sections),
            "overhead": dict(self.overhead),
            "bss_bytes": self.bss,
            "rows": [
                {"room": r.room, "group": r.group, "isa": r.isa, "code": r.code, "data": r.data}
                for r in self.rows
            ],
            "note": self.note,
        }

    def text(self) -> str:
        """The bill for a terminal, the heaviest first."""
        if not self.rows:
            return f"{self.file:,} bytes in the file; {self.note}\n"
        sections = ", ".join(f"{name} {size:,}" for name, size in self.sections.items())
        lines = [f"{self.counted:,} bytes of code and data: {sections}", ""]
        lines.append(f"{'':34} {'code':>9} {'data':>9} {'all':>9}")
        for room, rows in sorted(_by_room(self.rows).items(), key=lambda item: -_total(item[1])):
            code, data = sum(r.code for r in rows), sum(r.data for r in rows)
            lines.append(f"{room:34} {code:9,} {data:9,} {code + data:9,}")
            if len(rows) == 1 and not rows[0].isa and rows[0].group in ("", room):
                continue
            for row in sorted(rows, key=lambda r: (-r.size_bytes, r.group, r.isa)):
                name = f"  {row.group} {row.isa}".rstrip()
                lines.append(f"{name:34} {row.code:9,} {row.data:9,} {row.size_bytes:9,}")
        code, data = sum(r.code for r in self.rows), sum(r.data for r in self.rows)
        lines.append(f"{'sum':34} {code:9,} {data:9,} {code + data:9,}")
        rest = ", ".join(f"{name} {size:,}" for name, size in _overhead(self.overhead).items())
        lines += ["", f"beside them: {rest or 'nothing'}"]
        lines.append(f"zeroed memory: {self.bss:,}; the stripped file: {self.file:,}")
        return "\n".join(lines) + "\n"


def totals_only(file_bytes: int, form: str) -> SizeBill:
    """The bill of a library whose symbols cannot be read."""
    return SizeBill(file_bytes, note=f"no rows: symbols of {form} files are not read")


def size_bill(library: bytes, files: Mapping[str, str], file_bytes: int) -> SizeBill:
    """The bill of an unstripped ELF library; `files` maps each symbol to its source.

    `file_bytes` is the size of the stripped file. The rows add up to the sections: bytes without a symbol have
    their own row.
    """
    elf = Elf(library, "the library")
    counted = {
        i: s for i, s in enumerate(elf.sections) if s.is_loaded and s.in_file and _is_counted(s)
    }
    cells: dict[tuple[str, str, str], list[int]] = {}
    for index, section in counted.items():
        column = 0 if section.flags & SHF_EXEC else 1
        left = section.size
        for name, size in _extents(elf.symbols, index, section):
            if name.startswith(_SWITCH_TABLE):
                continue
            source = files.get(name) or files.get(_SUFFIX.sub("", name), "")
            cells.setdefault(_place(source), [0, 0])[column] += size
            left -= size
        cells.setdefault((REST, "", ""), [0, 0])[column] += left
    sizes: dict[str, int] = {}
    overhead: dict[str, int] = {}
    for section in elf.sections:
        if section.is_loaded and section.in_file and section.size:
            into = sizes if _is_counted(section) else overhead
            name = _plain_name(section)
            into[name] = into.get(name, 0) + section.size
    return SizeBill(
        file=file_bytes,
        sections=sizes,
        overhead=overhead,
        bss=sum(s.size for s in elf.sections if s.is_loaded and not s.in_file),
        rows=tuple(Row(*place, *cell) for place, cell in sorted(cells.items()) if any(cell)),
    )


def symbol_files(preprocessed: str, source: str, source_name: str) -> dict[str, str]:
    """The source of each function and table of an amalgam.

    `preprocessed` is the output of the compiler's -E for `source`, a file called `source_name`, whose parts
    begin with a line `// ---- path ----`. Statics inside functions are included.
    """
    starts = [(source.count("\n", 0, m.start()) + 1, m[1]) for m in _FILE_MARKER.finditer(source)]
    found: dict[str, str] = {}
    at = -1
    scanner = _Scanner()
    for line, text in _own_lines(preprocessed, source_name):
        while at + 1 < len(starts) and starts[at + 1][0] <= line:
            at += 1
        for name in scanner.names(text):
            found.setdefault(name, starts[at][1] if at >= 0 else "")
    return found


class _Scanner:
    """Finds the functions and tables that C text defines, including statics inside functions, line by line.
    Declarations without a body or a value are skipped."""

    def __init__(self) -> None:
        self.depth = 0  # of braces
        self.parens = 0
        self.words: list[str] = []  # of the declaration so far
        self.name = ""
        self.is_function = self.is_static = False

    def names(self, text: str) -> Iterator[str]:
        for token in _TOKEN.findall(text):
            if token == "(":
                self._declare(function=True)
                self.parens += 1
            elif token == ")":
                self.parens -= 1
            elif self.parens:
                continue
            elif token == "[":
                self._declare(function=False)
            elif token == "=":
                self._declare(function=False)
                if self.name and not self.is_function:
                    yield self.name
                self.name, self.words = "", []
            elif token in "{}":
                if token == "{" and self.depth == 0 and self.name and self.is_function:
                    yield self.name
                self.depth += 1 if token == "{" else -1
                self._restart()
            elif token == ";":
                self._restart()
            else:
                self.words.append(token)
                self.is_static |= token == "static"

    def _declare(self, function: bool) -> None:
        """Take the last word as the declared name, unless there is one already."""
        if self.name or not self.words or (self.depth and (function or not self.is_static)):
            return
        word = self.words[-1]
        if (word[0].isalpha() or word[0] == "_") and word not in _NO_NAMES:
            self.name, self.is_function = word, function and self.parens == 0

    def _restart(self) -> None:
        self.words, self.name = [], ""
        self.is_function = self.is_static = False


def _own_lines(preprocessed: str, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a preprocessed text that come from the file `name`, with their numbers there."""
    line, own = 0, False
    for text in preprocessed.splitlines():
        marker = _LINE_MARKER.match(text)
        if marker:
            line, own = int(marker[1]), marker[2].replace("\\\\", "/").rpartition("/")[2] == name
            continue
        if own and text and text[0] != "#":
            yield line, text
        line += 1


def _extents(symbols: list[Symbol], index: int, section: Section) -> Iterator[tuple[str, int]]:
    """Each symbol of a section with the bytes that no earlier symbol has."""
    end = section.address
    own = (s for s in symbols if s.section == index and s.size)
    for symbol in sorted(own, key=lambda s: (s.address, -s.size, s.name)):
        begin = max(symbol.address, end)
        size = symbol.address + symbol.size - begin
        if size > 0:
            yield symbol.name, size
            end = begin + size


def _is_counted(section: Section) -> bool:
    """Whether a section is code, constants or data, not something for the loader."""
    if section.flags & SHF_EXEC:
        return section.name.startswith(".text")
    return section.name.startswith((".rodata", ".data", ".tdata", ".sdata")) or (
        bool(section.flags & SHF_WRITE) and section.name.startswith(".data.rel.ro")
    )


def _plain_name(section: Section) -> str:
    """The main section's name: .data.rel.ro.local counts as .data.rel.ro, .text.unlikely as .text."""
    for name in (".text", ".rodata", ".data.rel.ro", ".data"):
        if section.name.startswith(name):
            return name
    return section.name


def _place(source: str) -> tuple[str, str, str]:
    """Folder, group and instruction set of a source."""
    if not source:
        return _TOOLCHAIN, "", ""
    parts = source.split("/")
    if parts[0] == "kernels" and len(parts) > 2:
        isa = _ISA_SUFFIX.search(source)
        name = re.sub("_|(?<=512)(?=.)", "-", isa[1]) if isa else ""
        return "kernels", parts[1], name
    stem = parts[-1].removesuffix(".c")
    if len(parts) == 1:
        return "custom operators", stem, ""
    return parts[0], stem.removeprefix("op_"), ""


def _overhead(sections: Mapping[str, int]) -> dict[str, int]:
    """Sections that are neither code nor data of the runtime, by their readers."""
    found: dict[str, int] = {}
    for name, size in sections.items():
        if name.startswith((".eh_frame", ".ARM.ex", ".gcc_except")):
            kind = "unwind tables"
        elif name.startswith((".dyn", ".gnu", ".hash", ".rel", ".got", ".plt")):
            kind = "symbols and relocations"
        else:
            kind = "others"
        found[kind] = found.get(kind, 0) + size
    return found


def _by_room(rows: tuple[Row, ...]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.room, []).append(row)
    return found


def _total(rows: list[Row]) -> int:
    return sum(row.size_bytes for row in rows)
